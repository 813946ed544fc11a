"""The jobs that the controller knows: submitted, eligible, blocked and why, started, suspended, resumed, requeued, ended.

SOURCE  slurmctld, through any `SlurmAccess`, every 15 s.
ROWS    slurm_job when something of it changed, slurm_job_event for each change.
OVERHEAD  one request for all jobs; a second or two of processor time for 10,000 jobs (`make bench`).
CAVEAT  a state that came and went between two looks is told by accounting; a job that the controller forgot before it was
        seen to end is handed over to slurm_accounting (`owed`); a task that is cancelled out of the record that its array's waiting
        tasks share leaves one nowhere: it is told as cancelled between two looks.

    4812 PENDING (Priority) -> 4812 RUNNING since 10:00:03
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from collector.formats.slurm_values import ENDED
from collector.node.clock import Clock
from collector.slurm.access import SlurmAccess
from collector.slurm.arrays import Parts, tasks
from collector.slurm.lifecycle import Seen, cancelled, step
from collector.slurm.memory import moment, seconds
from collector.slurm.pace import Pace
from collector.slurm.source import SlurmSource, digest
from store.rows import Row, SlurmJob

_REMEMBERED = timedelta(seconds=120)
"""The controller holds an ended job for MinJobAge, 300 s unless slurm.conf says less."""
_PASSING = frozenset({"COMPLETING", "CONFIGURING", "SIGNALING", "STAGE_OUT", "POWER_UP_NODE"})
"""State words that a later look would not take back."""


class SlurmQueue(SlurmSource):
    """Follows every job in the controller's memory. `owed` are those that it forgot unended, for accounting to tell of."""

    name: ClassVar[str] = "slurm_queue"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_job_event")
    base_s = 15.0

    def __init__(
        self,
        access: SlurmAccess,
        state: Path | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
        owed: set[str] | None = None,
    ) -> None:
        super().__init__(access, state, pace, clock)
        self.owed: set[str] = owed if owed is not None else set()
        self._seen: dict[str, Seen] = {}
        self._last_look: datetime | None = None
        self._looked_at: datetime | None = None
        self.taken_out: Callable[[Sequence[SlurmJob]], None] = lambda _: None
        """Told of tasks that were cancelled out of their array's record before the look counts: of those nothing else tells."""
        self.asked: Callable[[], Mapping[str, float]] = dict
        """Tasks of arrays that somebody asked to cancel, and when (seconds since 1970): no look need have seen them wait."""
        self._told: dict[str, float] = {}

    @property
    def origin(self) -> str:
        """With the second of the look: of two rows of a job that waits, which have one time, the later look is right."""
        return self.name if self._looked_at is None else f"{self.name}:{int(self._looked_at.timestamp()):010d}"

    def recall(self, kept: dict[str, Any]) -> None:
        """The jobs as they were seen last."""
        try:
            self._seen = {str(job): Seen.of(seen) for job, seen in kept.get("jobs", {}).items()}
        except (TypeError, ValueError, AttributeError):
            self._seen = {}
        self._last_look = moment(kept.get("looked")) if self._seen else None

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """The changes since the last look."""
        self._looked_at = now
        found: list[Row] = []
        seen: dict[str, Seen] = {}
        parts = Parts()
        for record in self.access.queue():
            if not isinstance(record, SlurmJob):
                continue
            parts.see(record)
            for job in tasks(_settled(record)):
                name = job.job_id or ""
                before = self._seen.get(name)
                mark = digest(job)
                if before is not None and before.digest == mark and not self._comes_due(job, now):
                    seen[name] = before
                    continue
                events, known = step(before, job, now, self._last_look)
                if before is None or before.attempt != known.attempt or before.digest != mark:
                    found.append(self.signed(job))
                if job.state != "REVOKED":  # what happened to it happened on another cluster, whose records tell of it
                    found.extend(map(self.signed, events))
                seen[name] = replace(known, digest=mark)
        gone = {j: s for j, s in self._seen.items() if j not in seen and s.state not in ENDED}
        last = self._last_look if self._last_look is not None and now - self._last_look < _REMEMBERED else None
        taken: list[SlurmJob] = []
        for name, before in gone.items():
            job = parts.taken_out(name, last, now) if last is not None and before.state == "PENDING" else None
            if job is None:
                self.owed.add(name)
            else:
                taken.append(self.signed(job))
                found += [taken[-1], self.signed(cancelled(job, now, self._last_look))]
        for job in self._unseen(parts, seen, now):
            taken.append(self.signed(job))
            found += [taken[-1], self.signed(cancelled(job, now, self._last_look))]
        if taken:
            self.taken_out(taken)
        self._seen, self._last_look = seen, now
        return found, {"looked": seconds(now), "jobs": {job: s.kept() for job, s in seen.items()}}

    def _unseen(self, parts: Parts, seen: Collection[str], now: datetime) -> Iterator[SlurmJob]:
        """Tasks that were asked to be cancelled, that no look saw, and that this one does not show either: each once."""
        asked = self.asked()
        self._told = {name: at for name, at in self._told.items() if name in asked}
        for name, at in asked.items():
            if name in seen or name in self._seen or self._told.get(name) == at:
                continue
            if (job := parts.taken_out(name, datetime.fromtimestamp(at, UTC), now)) is not None:
                self._told[name] = at
                yield job

    def _comes_due(self, job: SlurmJob, now: datetime) -> bool:
        """A job becomes eligible although nothing of it changes."""
        return job.eligible_ts is not None and self._last_look is not None and self._last_look < job.eligible_ts <= now


def _settled(job: SlurmJob) -> SlurmJob:
    flags = [f for f in (job.state_flags or "").split(",") if f and f not in _PASSING]
    return replace(job, state_flags=",".join(flags) or None)
