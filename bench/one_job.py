"""The command on a host that other jobs share, as if the bench's job were alone there: `python -m bench.one_job collect ...`.

Every process is looked at as ever; what is another job's is then taken for nobody's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from datetime import datetime
from pathlib import Path

from collector.topology import processes
from collector.topology.cgroup_paths import Place
from inquest.__main__ import main

JOB = "4812004812"


def alone() -> None:
    """From now on only our job has processes."""
    look = processes.look

    def ours(
        proc: Path,
        pid: int,
        boot: datetime,
        jobs: Container[int] = (),
        nobodys: Callable[[int, Place], None] | None = None,
    ) -> processes.Seen | None:
        seen = look(proc, pid, boot, jobs, nobodys)
        return seen if seen is not None and seen.who.job_id == JOB else None

    processes.look = ours


if __name__ == "__main__":
    alone()
    sys.exit(main())
