"""A Slurm of several processes' making: accounting lies in a file of JSON lines that a test appends to.

It stands in at the lowest boundary (what sacct answers); the watcher, its workers, the lake and the outbox are the real ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from collector.slurm.access import Calls
from store.rows import Row, SlurmJob, SlurmNodeState

TIMES = ("submit_ts", "start_ts", "end_ts", "ts")


class Accounts:
    """Answers like an access of `collector/slurm`."""

    name: ClassVar[str] = "accounts"
    release = (22, 5)

    def __init__(self, path: Path, cluster: str = "lab") -> None:
        self.path = path
        self.cluster = cluster
        self.calls = Calls()
        self.comments: dict[str, str] = {}
        self.now_running: list[SlurmJob] = []
        self.states: list[SlurmNodeState] = []

    def probe(self) -> None:
        pass

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        for job in self._rows():
            if job_ids is None:
                if job.end_ts is not None and job.end_ts >= since:
                    yield job
            elif {job.job_id, job.job_id_raw, job.array_job_id} & set(job_ids):
                yield job

    def queue(self) -> Iterator[Row]:
        yield from self.now_running

    def nodes(self) -> Iterator[Row]:
        yield from ()

    def node_events(self, since: datetime) -> Iterator[Row]:
        yield from self.states

    def controller(self) -> Iterator[Row]:
        yield from ()

    def set_comment(self, job_id: str, text: str) -> None:
        self.comments[job_id] = text

    def _rows(self) -> list[SlurmJob]:
        if not self.path.exists():
            return []
        return [_job(json.loads(line)) for line in self.path.read_text().splitlines() if line.endswith("}")]


def _job(told: dict[str, Any]) -> SlurmJob:
    values: dict[str, Any] = {k: datetime.fromisoformat(v) if k in TIMES and v else v for k, v in told.items()}
    return SlurmJob(**values)


def record(path: Path, end: datetime, job: str, *, state: str = "FAILED", attempt: int = 1, **more: Any) -> None:
    """Append one ended attempt: it ran for ten minutes on two GPUs unless `more` says otherwise."""
    start = end - timedelta(minutes=10)
    row: dict[str, Any] = {
        "cluster": "lab",
        "job_id": job,
        "job_id_raw": more.pop("raw", job),
        "attempt": attempt,
        "ts": end.isoformat(),
        "submit_ts": (start - timedelta(seconds=5)).isoformat(),
        "start_ts": start.isoformat(),
        "end_ts": end.isoformat(),
        "state": state,
        "exit_code": 1 if state == "FAILED" else 0,
        "exit_signal": 0,
        "elapsed_s": 600.0,
        "gpus": 2,
        "node_list": "gpu01",
        "node_count": 1,
        "user": "mira",
        "name": "train",
        "partition": "batch",
        **more,
    }
    with path.open("a") as f:
        f.write(json.dumps(row) + "\n")


TRACEBACK = """step 1/100 loss 2.31
step 2/100 loss 2.20
Traceback (most recent call last):
  File "/home/mira/train.py", line 88, in <module>
    main()
  File "/home/mira/train.py", line 41, in main
    batch = next(loader)
KeyError: 'scan_02011'
"""
