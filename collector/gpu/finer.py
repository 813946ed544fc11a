"""Samples that the driver itself keeps of a GPU, finer than a look a second: read after something has happened, never before.

SOURCE  nvmlDeviceGetSamples: a buffer for each measure, with the time at which each of its samples was taken. How far apart
        they are and how far back they reach is the driver's affair: tens of milliseconds for power, over some seconds.
ROWS    gpu_detail, with `origin` nvml:samples: one for each time at which the driver took a sample that is kept.
OVERHEAD  none but after a trigger.
CAVEAT  of more samples than there is room for, each stretch's lowest and highest stay: they show how far a measure went, and
        no mean of it. The driver's activity counts a spinning kernel as work.

    gpu_detail gpu=3 ts=10:00:04.317402 power_w=912.4 interval_s=0.02 origin=nvml:samples
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from collector.gpu.binding import DRIVER, LOST, UNSUPPORTED, nvml

ORIGIN = "nvml:samples"
MEASURES: tuple[tuple[int, str, float, float], ...] = (
    (nvml.NVML_TOTAL_POWER_SAMPLES, "power_w", 1000.0, 20_000.0),
    (nvml.NVML_GPU_UTILIZATION_SAMPLES, "engine_active", 100.0, 1.0),
    (nvml.NVML_MEMORY_UTILIZATION_SAMPLES, "dram_active", 100.0, 1.0),
    (nvml.NVML_PROCESSOR_CLK_SAMPLES, "sm_clock_mhz", 1.0, 20_000.0),
    (nvml.NVML_MEMORY_CLK_SAMPLES, "memory_clock_mhz", 1.0, 20_000.0),
)
"""What is asked for, the column that means the same, how many of the driver's units make one of ours, and the highest that can be."""
LEAST = 2 * len(MEASURES)
"""For fewer rows it is not worth asking: of each measure the lowest and the highest."""
SOON_S, LATE_S = 1.0, 5.0
"""Asked again after three quarters of what the shortest buffer held, so that nothing is overwritten in between, but within these."""
FIRST, LATER = 2, 8
"""Of the room the first look takes a half, and each later one an eighth of what is left: it spans seconds, the first more."""
_FIELDS = {
    nvml.NVML_VALUE_TYPE_DOUBLE: "dVal",
    nvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
    nvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
    nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
    nvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal",
    nvml.NVML_VALUE_TYPE_SIGNED_INT: "siVal",
}
_OURS = (LOST | DRIVER) - UNSUPPORTED
"""What the source has to know; any other error means only that this measure has no samples now."""

Sample = tuple[int, float]
"""When, in microseconds since 1970 by the host's clock, and how much."""


class Finer:
    """The driver's samples of one GPU; none comes twice. `seen` outlives it: the newest of each measure."""

    def __init__(self, handle: Any, seen: dict[str, int]) -> None:
        self._handle, self._seen = handle, seen
        self._measures = list(MEASURES)
        self._trigger: int | None = None
        self._pause_s = LATE_S
        self.asked = float("-inf")
        """When it was asked last (steady seconds)."""
        self.missing: dict[str, str] = {}

    def due(self, trigger: int, steady: float) -> bool:
        """At once after another trigger, then again before the driver has overwritten what it holds."""
        return trigger != self._trigger or steady - self.asked >= self._pause_s

    def look(self, trigger: int, steady: float, since: int, until: int, room: int) -> dict[int, dict[str, Any]]:
        """Columns by time, of what was sampled after `since`, until `until`, and is new.

        So many at most as are its share of the `room` that is left for the trigger, which is LEAST or more.
        Raises nvml.NVMLError where the GPU is lost or the driver went away.
        """
        first = trigger != self._trigger
        most = max(LEAST, room // (FIRST if first else LATER))
        self._trigger, self.asked = trigger, steady
        found = {column: samples for column, samples in self._new(since, until) if samples}
        if first:
            spans = [samples[-1][0] - samples[0][0] for samples in found.values()]
            self._pause_s = min(max(0.75e-6 * min(spans, default=0), SOON_S), LATE_S)
        kept: set[int] = set()
        for samples in found.values():
            kept |= {at for at, _ in thinned(samples, most // len(found))}
        rows: dict[int, dict[str, Any]] = {at: {} for at in sorted(kept)}
        for column, samples in found.items():
            times = [at for at, _ in samples]
            for before, after, (at, value) in zip([None, *times], [*times[1:], None], samples, strict=False):
                if at not in rows:
                    continue
                rows[at][column] = value
                if column == "engine_active":
                    rows[at]["activity_source"] = "nvml"
                apart = at - before if before is not None else after - at if after is not None else None
                if apart is not None:
                    rows[at]["interval_s"] = min(apart / 1e6, rows[at].get("interval_s", math.inf))
        return rows

    def _new(self, since: int, until: int) -> list[tuple[str, list[Sample]]]:
        """The samples of each measure that nobody has seen, in order; what has no place in this time is left out."""
        found: list[tuple[str, list[Sample]]] = []
        for measure in list(self._measures):
            kind, column, unit, most = measure
            seen = self._seen.get(column, 0)
            if seen > until:  # the clock was set back
                seen = 0
            try:
                told, samples = nvml.nvmlDeviceGetSamples(self._handle, kind, seen)
            except nvml.NVMLError as error:
                if error.value in _OURS:
                    raise
                if error.value in UNSUPPORTED:
                    self.missing[f"{column} finer than a second"] = f"not kept by this GPU or driver ({error})"
                    self._measures.remove(measure)
                continue  # most often: none is newer (NOT_FOUND; INVALID_ARGUMENT, where pynvml has room for none)
            field = _FIELDS.get(told)
            if field is None:
                continue
            read: dict[int, float] = {}
            for sample in samples:
                at, value = int(sample.timeStamp), getattr(sample.sampleValue, field) / unit
                if max(since, seen) < at <= until and math.isfinite(value) and 0 <= value <= most:
                    read[at] = value
            if read:
                self._seen[column] = max(read)
            found.append((column, sorted(read.items())))
        return found


def thinned(samples: Sequence[Sample], room: int) -> Sequence[Sample]:
    """At most so many of them, two at least: the lowest and the highest of each of as many stretches as there is room for."""
    if len(samples) <= room:
        return samples
    stretches = max(1, room // 2)
    kept: set[Sample] = set()
    for at in range(stretches):
        part = samples[at * len(samples) // stretches : (at + 1) * len(samples) // stretches]
        kept |= {min(part, key=_value), max(part, key=_value)}
    return sorted(kept)


def _value(sample: Sample) -> float:
    return sample[1]
