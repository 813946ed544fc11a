"""Clock event reasons from exporters that count them: samples in a sliding window, or a running time.

SOURCE  dcgm-exporter's DCGM_EXP_CLOCK_EVENTS_COUNT (how many of the last minutes' samples had the reason) and DCGM's
        *_VIOLATION counters (how long clocks were held down, in ns since DCGM 3, in us before it).
CAVEAT  A count stands for a whole window after one event: only one that fills half of its window says that it went on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

EVENTS = {
    "gpu_idle": 0x01,
    "clocks_setting": 0x02,
    "power_cap": 0x04,
    "hw_slowdown": 0x08,
    "sync_boost": 0x10,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "hw_power_brake": 0x80,
    "display_clocks": 0x100,
}
WINDOW_MS = 300_000.0
_ALL = 0xFF
_HALF = 0.5
_NANO = 2e6
"""A running time that gains more than so much a second is in nanoseconds: microseconds gain a million at most."""

Points = list[tuple[int, float]]


@dataclass(slots=True)
class Slowdowns:
    """What was counted of each GPU, by its reason's bit; times are milliseconds."""

    counts: dict[tuple[Hashable, int], Points] = field(default_factory=dict[tuple[Hashable, int], Points])
    times: dict[tuple[Hashable, int], Points] = field(default_factory=dict[tuple[Hashable, int], Points])
    window_ms: float = WINDOW_MS

    def count(self, gpu: Hashable, event: str, ts: int, value: float, window_ms: float) -> None:
        """So many samples with this reason were in the window that ended at `ts`."""
        self.window_ms = window_ms or self.window_ms
        self.counts.setdefault((gpu, EVENTS.get(event, 0)), []).append((ts, value))

    def time(self, gpu: Hashable, bit: int, ts: int, value: float) -> None:
        """Clocks had been held down for so long for this reason, since some beginning."""
        self.times.setdefault((gpu, bit), []).append((ts, value))

    def bits(self) -> dict[tuple[Hashable, int], tuple[int, int]]:
        """The reasons that held, and those that are told of, by GPU and time."""
        found: dict[tuple[Hashable, int], tuple[int, int]] = {}
        for gpu, ts, bit, told in (*self._counted(), *self._timed()):
            held, known = found.get((gpu, ts), (0, 0))
            found[gpu, ts] = (held | bit, known | told)
        return found

    def _counted(self) -> Iterator[tuple[Hashable, int, int, int]]:
        """All exporters sample at one pace: a full window holds as many as the fullest one, or as the steepest rise would fill it."""
        full = max((v for points in self.counts.values() for _, v in points), default=0.0)
        for _, _, gained, passed in _steps(self.counts):
            full = max(full, gained / passed * self.window_ms)
        for (gpu, bit), points in self.counts.items():
            for ts, value in points:
                yield gpu, ts, bit if value > 0 and value >= _HALF * full else 0, _ALL

    def _timed(self) -> Iterator[tuple[Hashable, int, int, int]]:
        steps = list(_steps(self.times))
        nano = any(gained / passed * 1000 > _NANO for _, _, gained, passed in steps)
        for (gpu, bit), ts, gained, passed in steps:
            yield gpu, ts, bit if gained / (1e6 if nano else 1e3) >= _HALF * passed else 0, bit


def _steps(series: dict[tuple[Hashable, int], Points]) -> Iterator[tuple[tuple[Hashable, int], int, float, float]]:
    """What each series gained since its sample before, and in how many milliseconds; a counter that began anew says nothing."""
    for key, points in series.items():
        for (before, low), (ts, high) in pairwise(sorted(points)):
            if ts > before and high >= low:
                yield key, ts, high - low, float(ts - before)
