"""The exit status of a job that failed, where accounting's way in takes 128 off it: the controller tells all of it, for a while.

sacct's text says 9 of a script that ended with 137, and 127 of one that ended with 255; slurmrestd before 23.11 says nothing. What
the controller says is looked up when the end is noticed, as seldom as the paths of the output (`paths.py`).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace

from collector.formats.slurm_values import TAKEN_OFF
from inquest.watch.answered import RUNS, Answered, Run
from inquest.watch.shared import Shared
from store.rows import Row, SlurmJob, SlurmStep

OFTEN_S, SHARE = 1.5, 3.0


class Statuses:
    """What the controller said of the exit statuses of jobs that failed."""

    def __init__(self, access: Shared) -> None:
        self._access = access
        access.learn.append(self._learn)
        self._known: OrderedDict[Run, int | None] = OrderedDict()
        self._answered = Answered()
        self._looked = float("-inf")
        self._gap_s = OFTEN_S

    def find(self, jobs: Iterable[SlurmJob]) -> set[str]:
        """The jobs whose status is not known in full yet and may be after the next look. Raises SourceUnavailable."""
        unknown = {_key(j): j for j in jobs if j.job_id and _lacks(j) and _key(j) not in self._known}
        now = time.monotonic()
        lacking = [unknown[run] for run in self._answered.lacking(unknown, now, self._access.looked)]
        if not lacking:
            return set()
        if now - self._looked < self._gap_s:
            return {j.job_id for j in lacking if j.job_id}
        begun = time.monotonic()
        list(self._access.queue())
        self._gap_s = max(OFTEN_S, SHARE * (time.monotonic() - begun))
        for job in lacking:
            self._known.setdefault(_key(job), None)  # it has forgotten the job: nobody knows better
        while len(self._known) > RUNS:
            self._known.popitem(last=False)
        return set()

    def right(self, rows: Iterable[Row]) -> list[Row]:
        """The rows with the statuses that the controller gave. A batch step's is that of its job."""
        told: dict[tuple[str | None, int | None], int] = {}
        found: list[Row] = []
        for row in rows:
            full = self._known.get(_key(row)) if isinstance(row, SlurmJob) and _lacks(row) else None
            if isinstance(row, SlurmJob) and full is not None and row.exit_code in (None, full, full - TAKEN_OFF):
                told[row.job_id, row.attempt] = full
                found.append(replace(row, exit_code=full, exit_signal=row.exit_signal or 0, exit_code_whole=True))
            else:
                found.append(row)
        return [_batch(r, told.get((r.job_id, r.attempt))) if isinstance(r, SlurmStep) else r for r in found]

    def _learn(self, queue: list[SlurmJob]) -> None:
        """Whoever asked."""
        self._looked = time.monotonic()
        for job in queue:
            if job.state == "FAILED" and job.exit_code is not None and job.exit_code_whole and not job.exit_signal:
                self._known[_key(job)] = job.exit_code


def _key(job: SlurmJob) -> Run:
    return job.job_id, job.start_ts


def _lacks(job: SlurmJob) -> bool:
    return job.state == "FAILED" and not job.exit_signal and (job.exit_code is None or job.exit_code_whole is False)


def _batch(step: SlurmStep, full: int | None) -> SlurmStep:
    if full is None or step.step_id != "batch" or step.exit_code not in (None, full, full - TAKEN_OFF):
        return step
    return replace(step, exit_code=full, exit_signal=step.exit_signal or 0, exit_code_whole=True)
