"""The part of an array that has not started stands in one record, `4812_[3-9,12%4]`: one row per task that it stands for.

Under the record's own name a task would never be heard of again: it starts as `4812_3`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from store.rows import SlurmJob

MOST = 1000
"""Tasks of one array that are told one by one; the rest waits for the same reason."""

_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?\Z", re.ASCII)


def tasks(job: SlurmJob) -> Iterator[SlurmJob]:
    """The job itself, or of an array's record its waiting tasks (the first thousand)."""
    text = job.job_id or ""
    if job.array_job_id is None or "[" not in text:
        yield job
        return
    inner = text.partition("[")[2].rstrip("]").partition("%")[0]
    for count, task in enumerate(_numbers(inner)):
        if count >= MOST:
            return
        yield replace(job, job_id=f"{job.array_job_id}_{task}", array_task_id=str(task), job_id_raw=None)


def _numbers(text: str) -> Iterator[int]:
    """Task numbers of `1,3-9:2`; what is cut short (`...`) ends it."""
    for part in text.split(","):
        found = _PART.match(part.strip())
        if found is None:
            return
        first, last, step = found.group(1), found.group(2) or found.group(1), found.group(3) or "1"
        yield from range(int(first), int(last) + 1, max(1, int(step)))
