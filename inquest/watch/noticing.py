"""Notices ended attempts: by asking accounting for what ended since the last time, and at once where the epilog says so.

What is noticed is durable before it counts as seen: rows to the lake, the attempt to the state, then the epilog's file
goes and the mark moves. The mark is the latest end that accounting told, never this host's clock, so a database that was
away for hours is read on from where it stopped.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector.slurm.users import named
from collector.sources.base import SourceUnavailable
from inquest.watch.around import Around
from inquest.watch.attempt import Attempt, ended, merged
from inquest.watch.cancels import Cancels
from inquest.watch.paths import Outputs
from inquest.watch.renamed import NAME, Records, met
from inquest.watch.requests import Requests
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from inquest.watch.statuses import Statuses
from inquest.watch.step_outputs import with_steps
from inquest.watch.taken_out import TakenOut
from store import Writer
from store.rows import Row, SlurmJob, SlurmJobEvent

OVERLAP = timedelta(minutes=10)
SWEEP = timedelta(hours=24)
SWEEP_EVERY_S = 3600.0
AHEAD = timedelta(minutes=10)
"""Ends that lie ahead of this host's clock are asked for as well."""
SOON_S, LATER_S, AWAY_S = 0.4, 5.0, 3.0
YOUNG_S = 15.0
"""For so long after the epilog accounting is asked at least every second: slurmctld tells slurmdbd of beginnings every 5 s."""
GLANCE_S = 3.0
GLANCE_BACK = timedelta(seconds=30)
"""How far back a glance looks by this host's clock; where clocks differ by more, the poll finds what it misses."""

BEFORE_S = 15.0
"""An end so long before the controller's line about it was read, or later, is the one that the line tells of."""


class Renamed(Exception):
    """Accounting speaks of another cluster than the one that was met at the start: this watcher's state is not that one's."""


class Noticing:
    """From Slurm's word to attempts that wait for their verdict."""

    def __init__(self, access: Shared, state: State, spool: Spool, lake: Path, log: Path | None = None) -> None:
        self._access = access
        self._state = state
        self._spool = spool
        self._writer = Writer(lake)
        self._swept: float | None = None
        self._asked = 0.0
        self.answered = 0.0
        """When accounting answered last, on the monotonic clock."""
        self.left: frozenset[str] = frozenset()
        """Jobs whose end the last poll found and left for the next: something has to be looked up, and not so soon again."""
        self._later: frozenset[str] = frozenset()
        self._wait_s = SOON_S
        self._outputs = Outputs(access)
        self._statuses = Statuses(access)
        self._around = Around(access)
        self._requests = Requests(access, log)
        self._cancels = Cancels(log)
        self.taken = TakenOut(state)
        self.hurry: Callable[[], None] = lambda: None
        """Called where the queue should be looked at soon."""
        self._log = log
        self._glanced, self._glance_s = float("-inf"), GLANCE_S
        self._records = Records(access, state, lake)
        state.set_mark(NAME, self._cluster(), keep=True)
        self._other: str | None = None
        access.learn.append(self._look_at_name)

    def asked(self) -> dict[str, float]:
        """Tasks of arrays that somebody asked to cancel a moment ago, by id, and when."""
        return self._cancels.named

    def poll(self) -> int:
        """Ask for what ended since the mark; gives how many attempts are new. Raises SourceUnavailable, Renamed."""
        began, mark = self._marks(datetime.now(UTC))
        since = max(began, datetime.fromisoformat(mark) - OVERLAP) if mark else began
        sweep = self._swept is None or time.monotonic() - self._swept >= SWEEP_EVERY_S
        if sweep:
            since = min(since, max(began, datetime.now(UTC) - SWEEP))
        rows = list(self._access.accounting(since, datetime.now(UTC) + AHEAD))
        self._same_cluster(rows)
        rows = self._records.right(rows)
        self.answered = time.monotonic()
        self._outputs.keep_up()
        over = [a for a in self._ended(rows) if a.ended >= began.timestamp()]
        new = self.note(sorted({a.job_id for a in self._state.unknown(over)}), seen=rows)
        self.left = self._later
        self.taken.some = True  # another watcher may have been told, and died
        new += self.taken_out()
        last = max((a.end_ts for a in over if a.end_ts), default=None)
        if last is not None and (mark is None or last > mark):
            self._state.set_mark("read", last)
        if sweep:
            self._swept = time.monotonic()
            self._state.forget()
        return new

    def hooked(self) -> int:
        """Look up what the epilog, or the controller's log, has announced; gives how many attempts are new.

        Raises SourceUnavailable, Renamed.
        """
        if time.monotonic() - self._asked < self._wait_s:
            return 0
        told, cancelled = self._spool.look(), self._cancels.look()
        if self._cancels.of_tasks:
            self.hurry()
        if not told and not cancelled:
            self._wait_s = SOON_S
            return 0
        begun = time.monotonic()
        try:
            asked = {*told, *cancelled}
            rows = list(self._access.accounting(self._began(), job_ids=sorted(asked)))
            self._same_cluster(rows)
            rows = self._records.right(rows, asked)
        except SourceUnavailable:
            # A refusal comes at once and costs nobody much; one that took long is a daemon in trouble.
            self._asked = time.monotonic()
            self._wait_s = max(min(max(1.0, self._wait_s * 2), AWAY_S), 2 * (self._asked - begun))
            raise
        self._asked = self.answered = time.monotonic()
        took = self._asked - begun
        waited, self._wait_s = self._wait_s, max(AWAY_S, 2 * took)  # where nothing can be written now, so soon again
        jobs = merged(r for r in rows if isinstance(r, SlurmJob))
        new = self.note(sorted({a.job_id for a in self._ended(rows)}), rows)
        left = {a.key for a in self._state.unknown(self._ended(rows)) if a.ended >= self._began().timestamp()}
        over = {(a.job_id, a.attempt): a.ended for a in self._ended(rows) if a.key not in left}
        since = {r: [over.get((j.job_id or "", j.attempt or 1), 0.0) for j in jobs if _of(j, r)] for r in cancelled}
        self._cancels.done([r for r, ends in since.items() if max(ends, default=0.0) > cancelled[r] - BEFORE_S])
        progress = False
        for raw, files in told.items():
            mine = [j for j in jobs if raw in (j.job_id_raw, j.job_id)]
            done = sum((j.job_id, j.attempt or 1) in over for j in mine)
            # The file's name says how often the job had been requeued: so many attempts more must have ended.
            wanted = max(int(f.name.split(".")[1]) for f in files) + 1
            if done >= wanted or self._spool.stale(files):
                self._spool.done(files)
                progress = True
        # Accounting is a moment behind the epilog: ask again soon, and less and less often.
        young = bool(cancelled) or self._spool.young(told, YOUNG_S)
        latest = SOON_S if progress else min(1.0 if young else LATER_S, waited * 1.5)
        self._wait_s = max(latest, 2 * took)
        return new

    def glance(self) -> int:
        """Note what has ended a moment ago and never ran, where no log tells of it; gives how many attempts are new.

        No epilog tells of such a job. A narrow question to slurmdbd between two polls, and none to slurmctld. Raises
        SourceUnavailable, Renamed.
        """
        begun = time.monotonic()
        if begun - max(self._glanced, self.answered) < self._glance_s or (self._log and os.access(self._log, os.R_OK)):
            return 0
        began, now = self._began(), datetime.now(UTC)
        try:
            rows = list(self._access.accounting(max(began, now - GLANCE_BACK), now + AHEAD))
        finally:
            self._glanced = time.monotonic()
            self._glance_s = max(GLANCE_S, 4 * (self._glanced - begun))
        self._same_cluster(rows)
        over = [a for a in self._ended(self._records.right(rows)) if a.start_ts is None]
        return self.note(sorted({a.job_id for a in self._state.unknown(over) if a.ended >= began.timestamp()}))

    def taken_out(self) -> int:
        """Note tasks that were taken out of their array's waiting ones, of which accounting knows nothing; gives how many are new.

        Raises SourceUnavailable, Renamed.
        """
        due = self.taken.due() if self.taken.some else []
        if not due:
            return 0
        arrays = {j.array_job_id for j in due if j.array_job_id}
        rows = list(self._access.accounting(self._began(), job_ids=sorted(arrays)))
        self._same_cluster(rows)
        known = {r.job_id for r in rows if isinstance(r, SlurmJob)}
        told = [j for j in due if j.job_id not in known]
        began = self._began().timestamp()
        found = [replace(a, unrecorded=True) for a in self._ended(told) if a.ended >= began]
        new = {a.job_id for a in self._state.unknown(found)}
        if jobs := [j for j in told if j.job_id in new]:
            asked = self._requests.rows(jobs)
            who = {r.job_id: r.actor for r in asked if isinstance(r, SlurmJobEvent)}
            told = [*(replace(j, cancelled_by=who.get(j.job_id)) for j in jobs), *asked]
            digest = hashlib.sha256(repr(told).encode("utf-8", "backslashreplace")).hexdigest()
            self._writer.append(told, batch=f"watch:{digest}")
        noted = self._state.add(a for a in found if a.job_id in new)
        self.taken.done([j.job_id for j in due])
        return noted

    def note(self, job_ids: Sequence[str], rows: Sequence[Row] | None = None, seen: Sequence[Row] = ()) -> int:
        """Put the rows of jobs into the lake and their new ended attempts into the state. Raises SourceUnavailable.

        They are asked for by their ids where `rows` are not given. sacct shows no job by its id that was submitted ahead of the
        clock, before that was set back: of such a one there is what was `seen` of its end.
        """
        self._later = frozenset()
        if not job_ids:
            return 0
        wanted = set(job_ids)
        if rows is None:
            rows = self._records.right(list(self._access.accounting(self._began(), job_ids=job_ids)), wanted)
            known = {getattr(r, "job_id", None) for r in rows}
            rows = [*rows, *(r for r in seen if getattr(r, "job_id", None) not in known)]
        told = [r for r in rows if getattr(r, "job_id", None) in wanted]
        began = self._began().timestamp()
        found = [a for a in self._ended(told) if a.ended >= began]
        new = {(a.job_id, a.attempt) for a in self._state.unknown(found)}
        if not new:
            return 0
        jobs = [j for j in merged(r for r in told if isinstance(r, SlurmJob)) if (j.job_id, j.attempt or 1) in new]
        around, later = self._around.rows(jobs)
        # What never began has printed nothing; only of its array's tasks may some have.
        begun = {j.job_id for j in jobs if j.start_ts is not None}
        later |= self._outputs.find(r for r in told if isinstance(r, SlurmJob) and r.job_id in begun)
        later |= self._statuses.find(jobs)
        told = [self._outputs.placed(r) if isinstance(r, SlurmJob) else r for r in self._statuses.right(told)]
        self._later = frozenset(later)
        told = [r for r in told if getattr(r, "job_id", None) not in later]
        if not told:
            return 0
        told = [named(r) for r in told]
        told += around + self._requests.rows([j for j in jobs if j.job_id not in later])
        digest = hashlib.sha256(repr(told).encode("utf-8", "backslashreplace")).hexdigest()
        self._writer.append(told, batch=f"watch:{digest}")
        return self._state.add(with_steps([a for a in self._ended(told) if a.ended >= began], told))

    def _same_cluster(self, rows: Sequence[Row]) -> None:
        other = self._other or self._another(rows)
        if other is not None:
            met(self._state, other)
            raise Renamed(f"the cluster was called {self._cluster()} and is {other} now")

    def _look_at_name(self, queue: Sequence[SlurmJob]) -> None:
        """The controller says the new name before accounting has anything to say; a federation's display mixes names."""
        if queue and len({j.cluster for j in queue}) == 1:
            self._other = self._another(queue)

    def _another(self, rows: Sequence[Row]) -> str | None:
        known = self._cluster().casefold()
        return next((r.cluster for r in rows if r.cluster and r.cluster.casefold() != known), None)

    def _ended(self, rows: Sequence[Row]) -> list[Attempt]:
        return ended(rows, self._cluster(), self._state.mark(NAME))

    def _began(self) -> datetime:
        mark = self._state.mark("began")
        return datetime.fromisoformat(mark) if mark else datetime.now(UTC) - OVERLAP

    def _marks(self, now: datetime) -> tuple[datetime, str | None]:
        """From when on ends are judged, and the latest that was read.

        What lies ahead of this host's clock was kept before the clock was set back: it would have Slurm asked for a window that
        ends before it begins, until the clock is there again. What ends from now on has times from now on.
        """
        began, mark = self._began(), self._state.mark("read")
        if began > now:
            began = now - OVERLAP
            self._state.set_mark("began", began.isoformat())
        if mark is not None and datetime.fromisoformat(mark) > now + AHEAD:
            mark = now.isoformat()
            self._state.set_mark("read", mark)
        return began, mark

    def _cluster(self) -> str:
        return self._access.cluster or "cluster"


def _of(job: SlurmJob, raw: str) -> bool:
    return raw in (job.job_id_raw, job.job_id, job.array_job_id)
