"""The numbers of a job's attempts, where accounting shows only those that ended lately.

slurmdbd keeps a row per attempt and no number (before 25.05): the number is the row's place among its job's. A window shows
the later rows alone, so the runs that were seen are remembered. A job that was submitted before we began to look has to be
asked for whole, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from collector.formats.slurm_values import AGAIN, ENDED
from store.rows import SlurmJob

_FORGET = timedelta(days=3)
_FORGET_AGAIN = timedelta(days=60)

Run = tuple[float, float]
"""When an attempt was submitted and started (seconds since 1970; 0 where it never did)."""


@dataclass(slots=True)
class Attempts:
    """Runs by job id. `begun` is since when every ended attempt was seen."""

    begun: datetime
    runs: dict[str, list[Run]] = field(default_factory=dict[str, list[Run]])
    until: dict[str, float] = field(default_factory=dict[str, float])

    def unknown(self, jobs: Iterable[SlurmJob]) -> list[str]:
        """Those whose earlier attempts we may not have seen: their rows have to be asked for by id."""
        asked = {
            job.job_id: None
            for job in jobs
            if job.job_id is not None
            and job.restarts is None
            and job.job_id not in self.runs
            and (job.submit_ts is None or job.submit_ts < self.begun)
        }
        return list(asked)

    def number(self, job: SlurmJob) -> int:
        """Which attempt this is; one that has ended is remembered."""
        if job.restarts is not None or job.job_id is None:
            return job.attempt or 1
        run = _run(job)
        if job.state not in ENDED:
            return sum(known[0] < run[0] for known in self.runs.get(job.job_id, ())) + 1
        runs = self.runs.setdefault(job.job_id, [])
        if run not in runs:
            runs.append(run)
            runs.sort()
        kept = _FORGET_AGAIN if job.state in AGAIN or len(runs) > 1 else _FORGET
        end = job.end_ts or job.ts
        if end is not None:
            self.until[job.job_id] = max(self.until.get(job.job_id, 0.0), (end + kept).timestamp())
        return runs.index(run) + 1

    def forget(self, now: datetime) -> None:
        """Drop the jobs that cannot come again."""
        for job in [j for j, t in self.until.items() if t < now.timestamp()]:
            self.until.pop(job)
            self.runs.pop(job, None)

    def kept(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "begun": self.begun.timestamp(),
            "runs": {job: [list(run) for run in runs] for job, runs in self.runs.items()},
            "until": self.until,
        }

    @staticmethod
    def of(kept: dict[str, Any], begun: datetime) -> Attempts:
        """From JSON; a fresh one where it is something else."""
        try:
            since = datetime.fromtimestamp(float(kept["begun"]), begun.tzinfo)
            runs = {str(j): [(float(a), float(b)) for a, b in rs] for j, rs in kept["runs"].items()}
            return Attempts(since, runs, {str(j): float(t) for j, t in kept["until"].items()})
        except (KeyError, TypeError, ValueError, AttributeError):
            return Attempts(begun)


def _run(job: SlurmJob) -> Run:
    return (
        job.submit_ts.timestamp() if job.submit_ts is not None else 0.0,
        job.start_ts.timestamp() if job.start_ts is not None else 0.0,
    )
