"""Two clocks: one that never jumps, for cadence, and one that says what time it is; and a watch over the difference."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where a collector takes the time from."""

    def steady(self) -> float:
        """Seconds that only ever grow, suspended time included."""
        ...

    def now(self) -> datetime:
        """The time of day (UTC), as the host has it."""
        ...


class SystemClock:
    """The host's clocks."""

    def steady(self) -> float:
        """CLOCK_BOOTTIME: unlike CLOCK_MONOTONIC it goes on while the host is suspended, which is then no step."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def now(self) -> datetime:
        """The time of day (UTC)."""
        return datetime.now(UTC)


class StepWatch:
    """Notices that somebody set the time of day, or that it stands. Slewing (at most 0.5 ms a second) is no step."""

    def __init__(self, clock: Clock, threshold_s: float = 0.25, slewing_s: float = 1.0) -> None:
        self._clock, self._threshold, self._slewing = clock, threshold_s, slewing_s
        self._at = clock.steady()
        self._offset = self._difference()

    def _difference(self) -> float:
        return self._clock.now().timestamp() - self._clock.steady()

    def look(self) -> float | None:
        """How far the clock was set since the last look (seconds, negative for back); None when it was not."""
        steady, offset = self._clock.steady(), self._difference()
        jump = offset - self._offset
        stepped = abs(jump) >= self._threshold
        # Less than that is slewing, once a second has passed; from one look to the next, it may be a clock that stands.
        if stepped or steady - self._at >= self._slewing:
            self._at, self._offset = steady, offset
        return jump if stepped else None
