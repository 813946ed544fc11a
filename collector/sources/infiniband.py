"""InfiniBand, RoCE and EFA ports: state, rate, traffic, errors, and flaps between two looks.

SOURCE  /sys/class/infiniband/DEVICE/ports/N/{state,rate,link_layer,counters,hw_counters}.
ROWS    link_sample, link_event.
OVERHEAD  about twenty small files a port every five seconds.
CAVEAT  data counters count words of four bytes on InfiniBand and RoCE, bytes on EFA. Reading counters of a bonded RoCE port
        may need the driver's permission; what cannot be read is NULL.

    state: 4: ACTIVE    rate: 400 Gb/sec (4X NDR)    link_downed: 3
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from collector.node.here import Here
from collector.sources import sysfs
from collector.sources.base import SourceUnavailable
from collector.sources.link_changes import LinkChanges, LinkState
from store.rows import LinkEvent, LinkSample, Row

_COUNTERS = {
    "link_downed": "link_downed",
    "link_error_recovery": "link_error_recovery",
    "symbol_error": "symbol_errors",
    "port_rcv_errors": "rcv_errors",
    "port_xmit_discards": "xmit_discards",
    "port_xmit_wait": "xmit_wait",
}
_HARDWARE = {
    "retransmits": ("roce_adp_retrans", "local_ack_timeout_err", "retrans_pkts"),
    "congestion_marks": ("np_ecn_marked_roce_packets", "rp_cnp_handled"),
    "xmit_discards": ("rx_drops",),
}
"""Columns from hw_counters; the counters of a column that there are, are added up."""


class Infiniband:
    """All ports."""

    name: ClassVar[str] = "infiniband"
    covers: ClassVar[tuple[str, ...]] = ("link_sample", "link_event")

    def __init__(self, here: Here) -> None:
        self._here = here
        self._root = f"{here.sys}/class/infiniband"
        self._changes = LinkChanges()

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 5.0

    def open(self) -> None:
        """Find devices."""
        if not sysfs.names(self._root):
            raise SourceUnavailable("no InfiniBand, RoCE or EFA device", None)

    def rows(self) -> Iterator[Row]:
        """A sample of each port, and what happened to it."""
        present: set[tuple[str, str]] = set()
        for device in sysfs.names(self._root):
            ports = f"{self._root}/{device}/ports"
            for port in sysfs.names(ports):
                present.add((device, port))
                yield from self._port(device, port, f"{ports}/{port}")
        for device, port in self._changes.gone(present):
            about = self._about(device, port)
            yield LinkEvent(**about, event="down", message="the device is no longer there")
        if not present:
            raise SourceUnavailable("all InfiniBand devices are gone")

    def close(self) -> None:
        """Nothing is held."""

    def _port(self, device: str, port: str, folder: str) -> Iterator[Row]:
        state = (sysfs.text(folder, "state") or "").rpartition(": ")[2] or None
        rate = (sysfs.text(folder, "rate") or "").split(" ")[0]
        efa = (sysfs.number(f"{folder}/hw_counters", "tx_bytes")) is not None
        fabric = "efa" if efa else "roce" if sysfs.text(folder, "link_layer") == "Ethernet" else "infiniband"
        values: dict[str, Any] = {"state": state, "rate_gbps": _rate(rate), **self._traffic(folder, efa)}
        for name, column in _COUNTERS.items():
            values[column] = sysfs.number(f"{folder}/counters", name)
        for column, names in _HARDWARE.items():
            found = [n for name in names if (n := sysfs.number(f"{folder}/hw_counters", name)) is not None]
            if found:
                values[column] = sum(found)
        about: dict[str, Any] = {**self._about(device, port), "fabric": fabric}
        yield LinkSample(**about, **values)
        errors = [values[c] for c in ("symbol_errors", "rcv_errors") if values[c] is not None]
        now = LinkState(
            state,
            values["rate_gbps"],
            values["link_downed"],
            values["link_error_recovery"],
            sum(errors) if errors else None,
        )
        for event, count, text in self._changes.look(device, port, now):
            yield LinkEvent(**about, event=event, count=count, message=text)

    def _traffic(self, folder: str, efa: bool) -> dict[str, int | None]:
        if efa:
            hardware = f"{folder}/hw_counters"
            return {"tx_bytes": sysfs.number(hardware, "tx_bytes"), "rx_bytes": sysfs.number(hardware, "rx_bytes")}
        words = {
            c: sysfs.number(f"{folder}/counters", n)
            for c, n in (("tx_bytes", "port_xmit_data"), ("rx_bytes", "port_rcv_data"))
        }
        return {column: None if n is None else n * 4 for column, n in words.items()}

    def _about(self, device: str, port: str) -> dict[str, Any]:
        here = self._here
        common: dict[str, Any] = {
            "cluster": here.cluster,
            "node": here.node,
            "ts": here.clock.now(),
            "origin": self.name,
        }
        return {**common, "fabric": "infiniband", "device": device, "port": port}


def _rate(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
