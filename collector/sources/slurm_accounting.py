"""Attempts that have ended, with their steps, from slurmdbd: exit codes, signals, memory used, who cancelled, every requeue.

SOURCE  slurmdbd, through any `SlurmAccess`, every 15 s: those that ended since the last look and two minutes before it.
ROWS    slurm_job (one per attempt), slurm_step, slurm_job_event (told afterwards: `observed` is false).
OVERHEAD  one request in a cycle, and one more for jobs that were submitted before we began to look or that the controller
        forgot; its answer is as long as the list of what ended.
CAVEAT  while the controller still holds records for a slurmdbd that was away (sdiag says so) the window stays open.

    4812 FAILED 3:0, steps batch and 0, attempt 2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from collector.formats.slurm_values import ENDED
from collector.node.clock import Clock
from collector.slurm.access import SlurmAccess
from collector.slurm.attempts import Attempts
from collector.slurm.memory import moment, seconds
from collector.slurm.pace import Pace
from collector.slurm.source import SlurmSource, digest
from collector.sources.base import SourceUnavailable
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmStep

OVERLAP = timedelta(seconds=120)
STRIDE = timedelta(hours=6)
"""The longest window of one question: after a long absence the past is read in such pieces."""
BY_ID = 500
"""Jobs asked for by id in one cycle."""
_OWED_FOR = timedelta(hours=1)
_STATS_AGE_S = 5.0


class SlurmAccounting(SlurmSource):
    """Follows slurmdbd. `lookback` is how far a first look goes; `owed` are jobs that somebody saw vanish."""

    name: ClassVar[str] = "slurm_accounting"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_step", "slurm_job_event")
    base_s = 15.0

    def __init__(
        self,
        access: SlurmAccess,
        state: Path | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
        owed: set[str] | None = None,
        lookback: timedelta = timedelta(hours=1),
    ) -> None:
        super().__init__(access, state, pace, clock)
        self.owed: set[str] = owed if owed is not None else set()
        self._lookback = lookback
        self._since: datetime | None = None
        self._attempts: Attempts | None = None
        self._given: dict[str, str] = {}
        self._waiting: dict[str, float] = {}
        self._behind = False

    @property
    def interval_s(self) -> float:
        """Shorter while the past is caught up with."""
        return 1.0 if self._behind else super().interval_s

    def recall(self, kept: dict[str, Any]) -> None:
        """How far it had come."""
        self._since = moment(kept.get("since"))
        try:
            self._given = {str(k): str(d) for k, d in kept.get("given", {}).items()}
            self._waiting = {str(j): float(t) for j, t in kept.get("owed", {}).items()}
        except (TypeError, ValueError, AttributeError):
            self._given, self._waiting = {}, {}
        self._attempts = Attempts.of(kept["attempts"], self.clock.now()) if "attempts" in kept else None

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """What ended since the watermark, each row once."""
        whole = self._records_are_in(now)
        since = min(self._since or now - self._lookback, now)  # a clock that was set back is behind what was seen
        until = min(now, since + STRIDE)
        if self._attempts is None:
            self._attempts = Attempts(since)
        rows = list(self.access.accounting(since - OVERLAP, until))
        named = self._by_id(now, rows)
        if named:
            told = list(self.access.accounting(since, None, named))
            whole_again = {*named, *(r.job_id for r in told if isinstance(r, SlurmJob))}
            rows = [r for r in rows if getattr(r, "job_id", None) not in whole_again] + told
        found = list(self._new(self._numbered(rows)))
        self._settle(now, rows)
        if whole:
            self._since = until
            self._behind = until < now
            self._attempts.forget(until)
        else:
            self._since, self._behind = since, False
        return found, {
            "since": seconds(self._since),
            "given": self._given,
            "owed": self._waiting,
            "attempts": self._attempts.kept(),
        }

    def _records_are_in(self, now: datetime) -> bool:
        """Has slurmdbd all records of what has ended? Asked before the records are."""
        try:
            sample = self.pace.look(self.access, now, _STATS_AGE_S)
        except SourceUnavailable:
            return False  # a controller that does not answer may hold records
        return sample is None or not sample.dbd_agent_queue

    def _by_id(self, now: datetime, rows: Iterable[Row]) -> list[str]:
        """Jobs to be asked for whole: of unknown past, and those that were seen to vanish and are not among the rows."""
        jobs = [r for r in rows if isinstance(r, SlurmJob)]
        here = {j.job_id for j in jobs}
        for job in self.owed:
            self._waiting.setdefault(job, now.timestamp())
        self.owed.clear()
        for job in [j for j in self._waiting if j in here]:
            self._waiting.pop(job)
        unknown = self._attempts.unknown(jobs) if self._attempts is not None else []
        return [*unknown, *(j for j in self._waiting if j not in unknown)][:BY_ID]

    def _settle(self, now: datetime, rows: Iterable[Row]) -> None:
        """What was owed and has come, or will not come any more."""
        told = {r.job_id for r in rows if isinstance(r, SlurmJob) and r.state in ENDED}
        late = (now - _OWED_FOR).timestamp()
        self._waiting = {j: t for j, t in self._waiting.items() if j not in told and t >= late}

    def _numbered(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows with their attempts' right numbers, and a requeue wherever a later attempt proves one."""
        assert self._attempts is not None
        numbers: dict[tuple[str | None, int | None], int] = {}
        jobs = [r for r in rows if isinstance(r, SlurmJob)]
        for job in sorted(jobs, key=lambda j: (j.submit_ts is None, j.submit_ts or j.ts)):
            number = self._attempts.number(job)
            numbers[job.job_id, job.attempt] = number
        for row in rows:
            if not isinstance(row, SlurmJob | SlurmStep | SlurmJobEvent):
                yield row
                continue
            number = numbers.get((row.job_id, row.attempt), row.attempt)
            yield replace(row, attempt=number)
            if isinstance(row, SlurmJob) and number is not None and number > 1 and row.submit_ts is not None:
                yield SlurmJobEvent(
                    cluster=row.cluster,
                    ts=row.submit_ts,
                    job_id=row.job_id,
                    attempt=number - 1,
                    event="requeued",
                    state="PENDING",
                    observed=False,
                    time_basis="recorded",
                )

    def _new(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Each observation once, though the windows overlap; what has left the window cannot come again."""
        given: dict[str, str] = {}
        for row in rows:
            name = "|".join([row.TABLE, *(str(getattr(row, k)) for k in row.KEY)])
            mark = digest(row)
            if mark not in (self._given.get(name), given.get(name)):
                yield self.signed(row)
            given[name] = mark
        self._given = given
