"""`nvidia-smi --query-gpu=timestamp,index,... --format=csv[,nounits] -l N`: samples of a node's GPUs.

SOURCE  nvidia-smi of any driver; any set of fields, with their header.
ROWS    gpu_sample, gpu_device. The node is the `hostname` field's, else the file's name (`metrics/NODE.csv`).
CAVEAT  times are local; utilization.gpu is the share of time in which any kernel ran, a spinning one too.

    timestamp, index, utilization.gpu [%], memory.used [MiB]
    2026/03/01 10:00:00.123, 0, 97 %, 71234 MiB
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from collector.formats import slurm_values as sv
from collector.formats.forms import Form, divided
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import GpuDevice, GpuSample, Row

MIB = float(1 << 20)
_FIELDS: dict[str, tuple[str, float, type]] = {
    "index": ("gpu", 1.0, int), "memory.used": ("fb_used_bytes", MIB, int), "memory.total": ("fb_total_bytes", MIB, int),
    "utilization.gpu": ("engine_active", 0.01, float), "utilization.memory": ("dram_active", 0.01, float),
    "temperature.gpu": ("temp_c", 1.0, float), "temperature.memory": ("memory_temp_c", 1.0, float),
    "power.draw": ("power_w", 1.0, float), "power.draw.instant": ("power_w", 1.0, float),
    "power.limit": ("power_limit_w", 1.0, float), "enforced.power.limit": ("power_limit_w", 1.0, float),
    "clocks.current.sm": ("sm_clock_mhz", 1.0, float), "clocks.sm": ("sm_clock_mhz", 1.0, float),
    "clocks.current.memory": ("memory_clock_mhz", 1.0, float), "clocks.mem": ("memory_clock_mhz", 1.0, float),
    "ecc.errors.corrected.volatile.total": ("ecc_sbe_total", 1.0, int),
    "ecc.errors.uncorrected.volatile.total": ("ecc_dbe_total", 1.0, int),
    "remapped_rows.correctable": ("remapped_correctable", 1.0, int),
    "remapped_rows.uncorrectable": ("remapped_uncorrectable", 1.0, int),
}  # fmt: skip
_WORDS = {"uuid": "gpu_uuid", "gpu_uuid": "gpu_uuid", "pci.bus_id": "pci_bus_id", "gpu_bus_id": "pci_bus_id"}
_FLAGS = {"remapped_rows.pending": "remap_pending", "remapped_rows.failure": "remap_failure"}
_REASONS = frozenset({"clocks_event_reasons.active", "clocks_throttle_reasons.active"})
_REASON_BITS = {
    "gpu_idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80,
}  # fmt: skip
"""NVML's bits of the reasons that nvidia-smi also gives one by one, as `clocks_throttle_reasons.hw_slowdown`."""
_SLOW = ("hw_slowdown", "sw_thermal_slowdown")
"""Reasons without which those that were asked for cannot say that there was none: a hardware slow-down of any kind sets the first."""
_NUMBER = lazy.compile(r"\s*(-?\d+(?:\.\d+)?)(?:\s*(?:%|MiB|W|MHz|C))?\s*\Z")


class NvidiaSmi:
    """Reads nvidia-smi's CSV."""

    name: ClassVar[str] = "nvidia_smi"
    covers: ClassVar[tuple[str, ...]] = ("gpu_sample", "gpu_device")

    def claims(self, path: Path, head: bytes) -> int:
        """A header of nvidia-smi's field names."""
        return 92 if len(_names(decode(head[:16_384]).partition("\n")[0])) >= 2 else 0

    def form(self, lines: Sequence[str]) -> Form | None:
        """As many commas as the header."""
        return divided(",", lines[0]) if lines else None

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """A sample per line; each GPU once as a device."""
        names: list[str] = []
        devices: set[str] = set()
        for number, line in lines(path, ctx):
            cells = [c.strip() for c in line.split(",")]
            if not names or _names(line):
                names = _bare(cells)
                if number == 1 and not _names(line):
                    raise ImportFailed("no header of nvidia-smi's fields: --format=csv without noheader is needed")
                continue
            if len(cells) != len(names):
                if line.strip():
                    ctx.problem(f"line {number}: {len(cells)} fields where the header has {len(names)}")
                continue
            record = dict(zip(names, cells, strict=True))
            sample = _sample(record, ctx)
            yield sample
            mark = f"{sample.node} {sample.gpu_uuid or sample.gpu}"
            if mark not in devices and len(devices) < 4096:
                devices.add(mark)
                yield GpuDevice(
                    cluster=ctx.cluster,
                    node=sample.node,
                    ts=sample.ts,
                    origin=ctx.name,
                    gpu=sample.gpu,
                    gpu_uuid=sample.gpu_uuid,
                    pci_bus_id=sample.pci_bus_id,
                    model=_word(record.get("name", record.get("gpu_name"))),
                    serial=_word(record.get("serial")),
                    driver_version=_word(record.get("driver_version")),
                    fb_total_bytes=sample.fb_total_bytes,
                    power_limit_w=sample.power_limit_w,
                    sm_clock_max_mhz=_megahertz(record.get("clocks.max.sm", record.get("clocks.max.graphics"))),
                )

    def of_line(
        self, line: str, names: list[str] | None, ctx: ImportContext
    ) -> tuple[list[str] | None, GpuSample | None]:
        """A line of a file that holds more than CSV: the header that holds from here on, and the sample if it is one."""
        if len(_names(line)) >= 2:
            return _bare(line.split(",")), None
        cells = [c.strip() for c in line.split(",")]
        if names is None or len(cells) != len(names):
            return (None if line.startswith("#") else names), None
        return names, _sample(dict(zip(names, cells, strict=True)), ctx)


def _megahertz(cell: str | None) -> float | None:
    """`1980 MHz`, or the number alone."""
    bare = (cell or "").removesuffix("MHz").strip()
    return float(bare) if bare.isdecimal() and 0 < int(bare) < 100_000 else None


def _bare(cells: list[str]) -> list[str]:
    return [c.partition("[")[0].strip().lower() for c in cells]


def _names(line: str) -> set[str]:
    """The fields of nvidia-smi that a header line names; the telling ones only."""
    return {n for n in _bare(line.split(",")) if "." in n and (n in _FIELDS or n in _REASONS or n in _WORDS)}


def _word(text: str | None) -> str | None:
    value = sv.word(text)
    return None if value is None or value.startswith("[") else value


def _sample(record: dict[str, str], ctx: ImportContext) -> GpuSample:
    values: dict[str, Any] = {}
    for name, cell in record.items():
        known = _FIELDS.get(name)
        if known is not None:
            found = _NUMBER.match(cell)
            if found and known[0] not in values:
                values[known[0]] = known[2](float(found.group(1)) * known[1])
        elif name in _WORDS:
            values[_WORDS[name]] = _word(cell)
        elif name in _FLAGS:
            values[_FLAGS[name]] = {"yes": True, "no": False}.get(cell.strip().lower())
        elif name in _REASONS:
            try:
                values["throttle_reasons"] = int(cell.strip(), 16)
            except ValueError:
                continue
        elif name == "pstate" and re.fullmatch(r"P\d{1,2}", cell.strip()):
            values["performance_state"] = int(cell.strip()[1:])
    if "throttle_reasons" not in values and (bits := _bits(record)) is not None:
        values["throttle_reasons"] = bits
    if "engine_active" in values:
        values["activity_source"] = "smi"
    host = _word(record.get("hostname"))
    return GpuSample(
        cluster=ctx.cluster,
        node=host.partition(".")[0] if host else ctx.node,
        ts=_moment(record.get("timestamp"), ctx),
        origin=ctx.name,
        **values,
    )


def _bits(record: dict[str, str]) -> int | None:
    """The reasons that were asked for one by one, as one number; None where none holds and the telling ones were not asked for."""
    asked: dict[str, bool] = {}
    for name, cell in record.items():
        head, _, reason = name.partition(".")
        if head in ("clocks_event_reasons", "clocks_throttle_reasons") and reason in _REASON_BITS:
            said = {"active": True, "not active": False}.get(cell.strip().lower())
            if said is not None:
                asked[reason] = said
    held = sum(_REASON_BITS[reason] for reason, said in asked.items() if said)
    return held if held or all(reason in asked for reason in _SLOW) else None


def _moment(text: str | None, ctx: ImportContext) -> datetime | None:
    if not text:
        return None
    return sv.time(text.strip().replace("/", "-", 2), ctx.zone)
