"""The scheduler's own health: threads, queues, cycles, jobs, RPCs; and the pace at which the others may ask.

SOURCE  sdiag, through any `SlurmAccess`, every 60 s.
ROWS    slurm_controller_sample.
OVERHEAD  one request.

    server threads 3, agent queue 0, mean cycle 91 us
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from collector.slurm.source import SlurmSource
from store.rows import Row, SlurmControllerSample


class SlurmController(SlurmSource):
    """Samples the controller and sets the pace."""

    name: ClassVar[str] = "slurm_controller"
    covers: ClassVar[tuple[str, ...]] = ("slurm_controller_sample",)
    base_s = 60.0

    _given_at: datetime | None = None

    def recall(self, kept: dict[str, Any]) -> None:
        """Nothing to remember."""

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """One sample; the one that the pace took a moment ago will do."""
        last = self.pace.last
        fresh = last is not None and last.ts is not None and 0 <= (now - last.ts).total_seconds() < self.base_s / 4
        if not fresh:
            for row in self.access.controller():
                if isinstance(row, SlurmControllerSample):
                    self.pace.saw(row)
        last = self.pace.last
        if last is None or last.ts == self._given_at:
            return [], {}
        self._given_at = last.ts
        return [self.signed(last)], {}
