"""An ended attempt of a job: what the watcher knows of it, and the key under which it gets its one verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime

from store.rows import Row, SlurmJob

ENDED = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "TIMEOUT",
    }
)
"""Base states after which nothing more happens to an attempt. A job that a sibling cluster took (REVOKED) did not run here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One ended run of a job. Times are ISO 8601 in UTC; `gpus` NULL where accounting does not say."""

    cluster: str
    job_id: str
    attempt: int
    state: str
    submit_ts: str | None = None
    start_ts: str | None = None
    end_ts: str | None = None
    array: str | None = None
    name: str | None = None
    user: str | None = None
    partition: str | None = None
    nodes: str | None = None
    gpus: int | None = None
    work_dir: str | None = None
    stdout_path: str | None = None
    stderr_path: str | None = None
    step_paths: Sequence[str] = ()
    """Files that its steps' tasks wrote by srun's --output and --error; some of them need not be there."""
    several: bool = False
    known_as: str | None = None
    """The cluster's name in keys, where it has another one by now."""
    unrecorded: bool = False
    """Slurm keeps no record of it, so that nothing can be written there."""

    @property
    def key(self) -> str:
        """The batch id of its verdict: the same for every watcher, and for the same run after any restart.

        An attempt's number is no part of it, because it changes with what accounting has been asked for; the time at
        which the run started is not, and a run that never started is known by its submission. A run whose prolog fails goes
        back to the queue in the second in which it started, and may be cancelled there at once: those must not look alike.
        """
        run = self.start_ts or (f"never-started:{self.submit_ts}" if self.submit_ts else str(self.attempt))
        if self.start_ts and self.start_ts == self.submit_ts:
            run = f"at-once:{run}"
        return f"verdict:{self.known_as or self.cluster}:{self.job_id}:{run}"

    @property
    def ended(self) -> float:
        """When it ended, in seconds since 1970; zero where accounting does not say."""
        return datetime.fromisoformat(self.end_ts).timestamp() if self.end_ts else 0.0

    @property
    def logs(self) -> list[str]:
        """The paths of its own output, each once; devices are none."""
        paths = (self.stdout_path, self.stderr_path, *self.step_paths)
        return list(dict.fromkeys(p for p in paths if p and p.startswith("/") and not p.startswith("/dev/")))

    def text(self) -> str:
        """As JSON, to be read by `read`."""
        return json.dumps(asdict(self), sort_keys=True)


def read(text: str) -> Attempt:
    """An attempt from its JSON. Raises ValueError or TypeError where it is none."""
    return Attempt(**json.loads(text))


def ended(rows: Iterable[Row], cluster: str, known_as: str | None = None) -> list[Attempt]:
    """The ended attempts among accounting's rows, in order of their end. `known_as` is the cluster's name in their keys."""
    jobs = merged(r for r in rows if isinstance(r, SlurmJob))
    counts: dict[str | None, int] = {}
    for job in jobs:
        counts[job.job_id] = counts.get(job.job_id, 0) + 1
    found = [_attempt(j, cluster, counts[j.job_id] > 1, known_as) for j in jobs if _over(j)]
    return sorted(found, key=lambda a: (a.ended, a.job_id, a.attempt))


def running(rows: Iterable[SlurmJob], cluster: str, known_as: str | None = None) -> list[tuple[Attempt, SlurmJob]]:
    """The attempts that run now, each with its row."""
    return [
        (_attempt(j, cluster, False, known_as), j)
        for j in merged(rows)
        if (j.state or "").upper() == "RUNNING" and j.job_id
    ]


def merged(rows: Iterable[SlurmJob]) -> list[SlurmJob]:
    """One row for each attempt: what a later row leaves out an earlier one fills."""
    known: dict[tuple[str | None, str | None, int], SlurmJob] = {}
    for row in rows:
        key = (row.cluster, row.job_id, row.attempt or 1)
        known[key] = _filled(known[key], row) if key in known else row
    return list(known.values())


def _filled(old: SlurmJob, new: SlurmJob) -> SlurmJob:
    over = _over(old) and not _over(new)
    first, second = (new, old) if over else (old, new)
    lacking = {f.name: getattr(first, f.name) for f in fields(second) if getattr(second, f.name) is None}
    return replace(second, **lacking)


def _over(job: SlurmJob) -> bool:
    return job.job_id is not None and (job.state or "").upper() in ENDED and job.end_ts is not None


def _attempt(job: SlurmJob, cluster: str, several: bool, known_as: str | None = None) -> Attempt:
    name = job.cluster or cluster
    return Attempt(
        cluster=name,
        known_as=known_as if known_as and known_as.casefold() != name.casefold() else None,
        job_id=job.job_id or "",
        attempt=job.attempt or 1,
        state=(job.state or "").upper(),
        submit_ts=_iso(job.submit_ts),
        start_ts=_iso(job.start_ts),
        end_ts=_iso(job.end_ts),
        array=job.array_job_id,
        name=job.name,
        user=job.user,
        partition=job.partition,
        nodes=job.node_list,
        gpus=job.gpus,
        work_dir=job.work_dir,
        stdout_path=job.stdout_path,
        stderr_path=job.stderr_path,
        several=several or (job.attempt or 1) > 1,
    )


def _iso(ts: datetime | None) -> str | None:
    return None if ts is None else ts.isoformat()
