"""Where a job's output lies, and how often it ran. Accounting may leave that out; then the controller knows it, for a while.

The controller is asked for all its jobs at once, so it is asked seldom: what it said of a job when it ran is kept, and a new
look comes after three times what the last one took. A job that nobody knew yet waits for the next look.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from collector.intake.discover import fill_pattern
from inquest.watch.answered import Answered
from inquest.watch.shared import Shared
from store.rows import SlurmJob

OFTEN_S, SELDOM_S, SHARE = 1.5, 60.0, 3.0
Paths = tuple[str | None, str | None, str | None]
"""Standard output, standard error, working directory."""


class Outputs:
    """What is known of the paths of jobs."""

    def __init__(self, access: Shared) -> None:
        self._access = access
        access.learn.append(self._learn)
        self._known: dict[str, Paths] = {}
        self._restarts: dict[tuple[str, datetime | None], int | None] = {}
        self._answered = Answered()
        self._looked = float("-inf")
        self._gap_s = OFTEN_S
        self.needed = False
        """Accounting has left out a path, so the controller must be asked."""

    def keep_up(self) -> None:
        """Look now and then, so that a job which ends is known already. Raises SourceUnavailable."""
        if self.needed and time.monotonic() - self._looked >= max(SELDOM_S, self._gap_s):
            self._look()

    def find(self, jobs: Iterable[SlurmJob]) -> set[str]:
        """The jobs whose paths are not known yet and may be after the next look. Raises SourceUnavailable."""
        unknown = {
            (j.job_id, j.start_ts) for j in jobs if j.job_id and not j.stdout_path and j.job_id not in self._known
        }
        if not unknown:
            return set()
        self.needed = True
        now = time.monotonic()
        lacking = self._answered.lacking(unknown, now, self._access.looked)
        if not lacking:
            return set()
        if now - self._looked < self._gap_s:
            return {job for job, _ in lacking if job}
        self._look()
        return set()

    def placed(self, job: SlurmJob) -> SlurmJob:
        """The job with the paths of its output: as told, else as sbatch names it by itself; and how often it had been restarted.

        Of a heterogeneous job only the first component runs the script, and only its output is written: it is that of all.
        """
        if (
            job.restarts is None
            and job.job_id
            and (told_of := self._restarts.get((job.job_id, job.start_ts))) is not None
        ):
            job = replace(job, restarts=told_of)
        lead = f"{job.het_job_id}+0"
        if job.het_job_id and job.job_id != lead and (lead in self._known or not job.stdout_path):
            first = self.placed(
                replace(job, job_id=lead, job_id_raw=job.het_job_id, stdout_path=None, stderr_path=None)
            )
            return replace(job, work_dir=first.work_dir, stdout_path=first.stdout_path, stderr_path=first.stderr_path)
        out, err, folder = job.stdout_path, job.stderr_path, job.work_dir
        if not out and job.job_id in self._known:
            out, err, told = self._known[job.job_id]
            folder = folder or told
        if not out and folder and job.start_ts and (job.submit_line or "sbatch").split()[0].endswith("sbatch"):
            out = "slurm-%A_%a.out" if job.array_task_id else "slurm-%j.out"
        if not out:
            return job
        return replace(
            job, work_dir=folder, stdout_path=_absolute(out, job, folder), stderr_path=_absolute(err, job, folder)
        )

    def _look(self) -> None:
        begun = time.monotonic()
        list(self._access.queue())
        self._gap_s = max(OFTEN_S, SHARE * (time.monotonic() - begun))

    def _learn(self, queue: list[SlurmJob]) -> None:
        """Whoever asked."""
        self._looked = time.monotonic()
        self._restarts = {(r.job_id, r.start_ts): r.restarts for r in queue if r.job_id}
        self._known = {r.job_id: (r.stdout_path, r.stderr_path, r.work_dir) for r in queue if r.job_id}


def _absolute(path: str | None, job: SlurmJob, folder: str | None) -> str | None:
    if not path:
        return path
    filled = fill_pattern(path, job)
    return filled if filled.startswith("/") or not folder else f"{folder}/{filled}"
