"""GPUs: what they are, what they did, what went wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
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
    interval_s: Annotated[
        float | None,
        col("samples of so many seconds in this row: means of activity and power, highest memory and temperature", "s"),
    ] = None
    ecc_sbe_dram: Annotated[int | None, col("corrected errors in device memory, running count")] = None
    ecc_sbe_sram: Annotated[int | None, col("corrected errors in caches and registers, running count")] = None
    ecc_dbe_dram: Annotated[int | None, col("uncorrected errors in device memory, running count")] = None
    ecc_dbe_sram: Annotated[int | None, col("uncorrected errors in caches and registers, running count")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDetail(GpuSample):
    """Every sample of a GPU around a trigger. Apart from `gpu_sample`, so that a mean there does not lean to bad minutes.

    With `origin` nvml:samples it is one of those that the driver took within the seconds, `interval_s` apart; of more than there was
    room for, the extremes.
    """

    TABLE: ClassVar[str] = "gpu_detail"


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMinute(GpuRow):
    """A GPU's samples of one minute (`ts` is its start), written by the store beside them; a minute can be in several rows.

    Sums and counts add up over rows: a mean is a sum over its count.
    """

    TABLE: ClassVar[str] = "gpu_minute"

    samples: Annotated[int | None, col("samples in the minute")] = None
    first_ts: Annotated[datetime | None, col("first of them (UTC)")] = None
    last_ts: Annotated[datetime | None, col("last of them (UTC)")] = None
    activity_source: Annotated[str | None, col("what measured activity")] = None
    fb_used_max_bytes: Annotated[int | None, col("most framebuffer memory in use", "B")] = None
    fb_used_last_bytes: Annotated[int | None, col("framebuffer memory in use in the last sample", "B")] = None
    fb_total_bytes: Annotated[int | None, col("framebuffer memory", "B")] = None
    engine_n: Annotated[int | None, col("samples with engine activity")] = None
    engine_sum: Annotated[float | None, col("their engine activity, summed", "ratio")] = None
    engine_max: Annotated[float | None, col("highest engine activity", "ratio")] = None
    idle_n: Annotated[int | None, col("samples with engine activity under two percent")] = None
    sm_n: Annotated[int | None, col("samples with SM activity")] = None
    sm_sum: Annotated[float | None, col("their SM activity, summed", "ratio")] = None
    sm_min: Annotated[float | None, col("lowest SM activity", "ratio")] = None
    sm_max: Annotated[float | None, col("highest SM activity", "ratio")] = None
    tensor_n: Annotated[int | None, col("samples with tensor activity")] = None
    tensor_sum: Annotated[float | None, col("their tensor activity, summed", "ratio")] = None
    dram_n: Annotated[int | None, col("samples with memory-interface activity")] = None
    dram_sum: Annotated[float | None, col("their memory-interface activity, summed", "ratio")] = None
    temp_max_c: Annotated[float | None, col("highest core temperature", "C")] = None
    memory_temp_max_c: Annotated[float | None, col("highest memory temperature", "C")] = None
    power_n: Annotated[int | None, col("samples with power")] = None
    power_sum_w: Annotated[float | None, col("their power, summed", "W")] = None
    power_max_w: Annotated[float | None, col("highest power", "W")] = None
    power_limit_w: Annotated[float | None, col("enforced power limit", "W")] = None
    clock_n: Annotated[int | None, col("samples with SM clock")] = None
    clock_sum_mhz: Annotated[float | None, col("their SM clock, summed", "MHz")] = None
    clock_min_mhz: Annotated[float | None, col("lowest SM clock", "MHz")] = None
    throttle_n: Annotated[int | None, col("samples with clock event reasons")] = None
    throttle_any: Annotated[int | None, col("all their reasons, as NVML's bit mask")] = None
    severe_n: Annotated[int | None, col("samples with hardware slowdown, thermal or power-brake bits")] = None
    severe_clock_n: Annotated[int | None, col("of those, with SM clock")] = None
    severe_clock_sum_mhz: Annotated[float | None, col("their SM clock, summed", "MHz")] = None
    free_clock_n: Annotated[int | None, col("other samples with engine activity above 0.3 and SM clock")] = None
    free_clock_sum_mhz: Annotated[float | None, col("their SM clock, summed", "MHz")] = None
    ecc_sbe_total_min: Annotated[int | None, col("corrected memory errors, lowest running count")] = None
    ecc_dbe_total_min: Annotated[int | None, col("uncorrected memory errors, lowest running count")] = None
    remapped_correctable_min: Annotated[int | None, col("rows remapped for corrected errors, lowest running count")] = (
        None
    )
    remapped_uncorrectable_min: Annotated[
        int | None, col("rows remapped for uncorrected errors, lowest running count")
    ] = None
    remap_pending_min: Annotated[int | None, col("a remap waits for a reset (0 or 1), lowest running count")] = None
    remap_failure_min: Annotated[int | None, col("a remap failed (0 or 1), lowest running count")] = None
    retired_pages_min: Annotated[int | None, col("retired pages, lowest running count")] = None
    nvlink_errors_min: Annotated[int | None, col("NVLink errors, lowest running count")] = None
    pcie_replays_min: Annotated[int | None, col("PCIe replays, lowest running count")] = None
    ecc_sbe_total_max: Annotated[int | None, col("corrected memory errors, highest running count")] = None
    ecc_dbe_total_max: Annotated[int | None, col("uncorrected memory errors, highest running count")] = None
    remapped_correctable_max: Annotated[
        int | None, col("rows remapped for corrected errors, highest running count")
    ] = None
    remapped_uncorrectable_max: Annotated[
        int | None, col("rows remapped for uncorrected errors, highest running count")
    ] = None
    remap_pending_max: Annotated[int | None, col("a remap waits for a reset (0 or 1), highest running count")] = None
    remap_failure_max: Annotated[int | None, col("a remap failed (0 or 1), highest running count")] = None
    retired_pages_max: Annotated[int | None, col("retired pages, highest running count")] = None
    nvlink_errors_max: Annotated[int | None, col("NVLink errors, highest running count")] = None
    pcie_replays_max: Annotated[int | None, col("PCIe replays, highest running count")] = None
    rose_ts: Annotated[
        datetime | None,
        col("when the error counters first stood at the minute's highest, if they rose within it (UTC)"),
    ] = None
    last_xid: Annotated[int | None, col("highest last XID that the exporter saw; 0 for none")] = None
    processes: Annotated[int | None, col("most processes with a context")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEvent(GpuRow):
    """A discrete event of a GPU, from the kernel log or the driver (never from a job's own output)."""

    TABLE: ClassVar[str] = "gpu_event"

    event: Annotated[
        str | None,
        col("xid, sxid, fabric, fallen_off_bus, init_failed, driver_reload, nvlink, row_remap, throttle, reset, ras"),
    ] = None
    xid: Annotated[int | None, col("XID code")] = None
    pid: Annotated[int | None, col("process that the driver names")] = None
    process_name: Annotated[str | None, col("its name")] = None
    channel: Annotated[str | None, col("channel")] = None
    message: Annotated[str | None, col("text as printed")] = None
