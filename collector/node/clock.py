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
    """Notices that somebody set the time of day. Slewing (at most 0.5 ms a second) is no step."""

    def __init__(self, clock: Clock, threshold_s: float = 0.25) -> None:
        self._clock, self._threshold = clock, threshold_s
        self._offset = self._difference()

    def _difference(self) -> float:
        return self._clock.now().timestamp() - self._clock.steady()

    def look(self) -> float | None:
        """How far the clock was set since the last look (seconds, negative for back); None when it was not."""
        offset = self._difference()
        jump, self._offset = offset - self._offset, offset
        return jump if abs(jump) >= self._threshold else None
