"""Links between nodes and between GPUs: InfiniBand, RoCE, EFA, NVLink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from store.rows.base import JobRow, col, table


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow(JobRow):
    """A row about one port or link."""

    fabric: Annotated[str | None, col("infiniband, roce, efa, nvlink, ethernet")] = None
    device: Annotated[str | None, col("mlx5_0, rdmap0s1, eth0, GPU index")] = None
    port: Annotated[str | None, col("port or link number")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSample(LinkRow):
    """One sample of a link; counts are running counters."""

    TABLE: ClassVar[str] = "link_sample"

    state: Annotated[str | None, col("ACTIVE, DOWN, INIT, ARMED, up, down")] = None
    rate_gbps: Annotated[float | None, col("link rate", "Gb/s")] = None
    tx_bytes: Annotated[int | None, col("sent, running count", "B")] = None
    rx_bytes: Annotated[int | None, col("received, running count", "B")] = None
    link_downed: Annotated[int | None, col("times the link went down, running count")] = None
    link_error_recovery: Annotated[int | None, col("successful recoveries, running count")] = None
    symbol_errors: Annotated[int | None, col("symbol errors, running count")] = None
    rcv_errors: Annotated[int | None, col("receive errors, running count")] = None
    xmit_discards: Annotated[int | None, col("discarded on sending, running count")] = None
    xmit_wait: Annotated[int | None, col("ticks waiting to send, running count")] = None
    retransmits: Annotated[int | None, col("retransmitted packets, running count")] = None
    congestion_marks: Annotated[int | None, col("ECN or CNP marks, running count")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDetail(LinkSample):
    """Every sample of a link around a trigger."""

    TABLE: ClassVar[str] = "link_detail"


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEvent(LinkRow):
    """A discrete event of a link."""

    TABLE: ClassVar[str] = "link_event"

    event: Annotated[str | None, col("down, up, flap, error_burst, speed_change")] = None
    count: Annotated[int | None, col("how many within the row's moment")] = None
    message: Annotated[str | None, col("text as printed")] = None
