"""GPUs: what they are, what they did, what went wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from store.rows.base import JobRow, col, table


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow(JobRow):
    """A row about one physical GPU (or one MIG instance of it)."""

    gpu: Annotated[int | None, col("index on its node")] = None
    gpu_uuid: Annotated[str | None, col("UUID, GPU-...")] = None
    pci_bus_id: Annotated[str | None, col("PCI address, 00000000:1B:00.0")] = None
    mig: Annotated[str | None, col("MIG instance, 1g.10gb/3; NULL for the whole GPU")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDevice(GpuRow):
    """What a GPU is."""

    TABLE: ClassVar[str] = "gpu_device"

    model: Annotated[str | None, col("product's name")] = None
    serial: Annotated[str | None, col("serial number")] = None
    driver_version: Annotated[str | None, col("driver's version")] = None
    fb_total_bytes: Annotated[int | None, col("framebuffer memory", "B")] = None
    power_limit_w: Annotated[float | None, col("enforced power limit", "W")] = None
    sm_clock_max_mhz: Annotated[float | None, col("highest SM clock", "MHz")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample(GpuRow):
    """One sample of one GPU. Error fields are running counters: only a rise within a window says that something happened."""

    TABLE: ClassVar[str] = "gpu_sample"

    fb_used_bytes: Annotated[int | None, col("framebuffer memory in use", "B")] = None
    fb_total_bytes: Annotated[int | None, col("framebuffer memory", "B")] = None
    engine_active: Annotated[float | None, col("share of time in which any kernel ran (a spin counts)", "ratio")] = None
    sm_active: Annotated[float | None, col("share of SM-time with work", "ratio")] = None
    activity_source: Annotated[str | None, col("what measured the two: gpm, dcgm, nvml, smi")] = None
    tensor_active: Annotated[float | None, col("share of time with tensor cores busy", "ratio")] = None
    dram_active: Annotated[float | None, col("share of time with memory interface busy", "ratio")] = None
    temp_c: Annotated[float | None, col("core temperature", "C")] = None
    memory_temp_c: Annotated[float | None, col("memory temperature", "C")] = None
    power_w: Annotated[float | None, col("board power", "W")] = None
    power_limit_w: Annotated[float | None, col("enforced power limit", "W")] = None
    sm_clock_mhz: Annotated[float | None, col("SM clock", "MHz")] = None
    memory_clock_mhz: Annotated[float | None, col("memory clock", "MHz")] = None
    performance_state: Annotated[int | None, col("P-state, 0 is the fastest")] = None
    throttle_reasons: Annotated[int | None, col("bit mask of clock event reasons as NVML defines it")] = None
    ecc_sbe_total: Annotated[int | None, col("corrected memory errors, running count")] = None
    ecc_dbe_total: Annotated[int | None, col("uncorrected memory errors, running count")] = None
    remapped_correctable: Annotated[int | None, col("rows remapped for corrected errors")] = None
    remapped_uncorrectable: Annotated[int | None, col("rows remapped for uncorrected errors")] = None
    remap_pending: Annotated[bool | None, col("a remap waits for a reset")] = None
    remap_failure: Annotated[bool | None, col("a remap failed")] = None
    retired_pages: Annotated[int | None, col("retired pages (before Ampere)")] = None
    nvlink_errors: Annotated[int | None, col("NVLink CRC, replay and recovery errors, running count")] = None
    nvlink_tx_bytes: Annotated[int | None, col("NVLink bytes sent, running count", "B")] = None
    nvlink_rx_bytes: Annotated[int | None, col("NVLink bytes received, running count", "B")] = None
    pcie_tx_bytes_s: Annotated[float | None, col("PCIe sent", "B/s")] = None
    pcie_rx_bytes_s: Annotated[float | None, col("PCIe received", "B/s")] = None
    pcie_replays: Annotated[int | None, col("PCIe replays, running count")] = None
    last_xid: Annotated[int | None, col("last XID that the exporter saw; 0 for none")] = None
    health: Annotated[str | None, col("roll-up: ok, warning, failure, as the source says it")] = None
    processes: Annotated[int | None, col("processes with a context")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEvent(GpuRow):
    """A discrete event of a GPU, from the kernel log or the driver (never from a job's own output)."""

    TABLE: ClassVar[str] = "gpu_event"

    event: Annotated[
        str | None, col("xid, sxid, fallen_off_bus, driver_reload, nvlink, row_remap, throttle, reset")
    ] = None
    xid: Annotated[int | None, col("XID code")] = None
    pid: Annotated[int | None, col("process that the driver names")] = None
    process_name: Annotated[str | None, col("its name")] = None
    channel: Annotated[str | None, col("channel")] = None
    message: Annotated[str | None, col("text as printed")] = None
