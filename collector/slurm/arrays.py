"""The part of an array that has not started stands in one record, `4812_[3-9,12%4]`: one row per task that it stands for.

Under the record's own name a task would never be heard of again: it starts as `4812_3`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from collector.formats.slurm_values import ENDED
from store import lazy
from store.rows import SlurmJob

MOST = 1000
"""Tasks of one array that are told one by one; the rest waits for the same reason."""

_PART = lazy.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?\Z", re.ASCII)


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


def named(text: str) -> list[str]:
    """The jobs that `4812`, `4812_3` or `4812_[3-5,9]` stands for (the first thousand tasks)."""
    return [t.job_id for t in tasks(SlurmJob(job_id=text, array_job_id=text.partition("_")[0])) if t.job_id]


class Parts:
    """The waiting parts of arrays in one look at the queue, and which tasks each certainly holds no more.

    A task that starts, is held or goes back to the queue gets a record of its own. One that is cancelled while it shares its array's
    record is taken out of that and leaves nothing, neither with the controller nor in accounting.
    """

    def __init__(self) -> None:
        self._records: dict[str, SlurmJob] = {}

    def see(self, record: SlurmJob) -> None:
        """Take note of a record of the queue."""
        if record.array_job_id is not None and record.job_id_raw in (record.array_job_id, None):
            self._records[record.array_job_id] = record

    def taken_out(self, job_id: str, before: datetime, looked: datetime) -> SlurmJob | None:
        """A task that waited at the look before and is not in this one, as cancelled; None where that is not certain.

        It has the time of the look before, so that whatever accounting may tell of it all the same is the later word.
        """
        array, _, number = job_id.partition("_")
        record = self._records.get(array)
        if record is None or not number.isdigit() or record.state in ENDED or "..." in (record.job_id or ""):
            return None
        listed = [int(t.array_task_id) for t in tasks(record) if t.array_task_id is not None]
        if not listed or (len(listed) >= MOST and int(number) > listed[-1]):
            return None
        return replace(
            record, job_id=job_id, array_task_id=number, job_id_raw=None, state="CANCELLED", state_reason=None, ts=before,
            start_ts=None, end_ts=looked, elapsed_s=0.0, node_list=None, exit_code=None, exit_signal=None,
        )  # fmt: skip


def _numbers(text: str) -> Iterator[int]:
    """Task numbers of `1,3-9:2`; what is cut short (`...`) ends it."""
    for part in text.split(","):
        found = _PART.match(part.strip())
        if found is None:
            return
        first, last, step = found.group(1), found.group(2) or found.group(1), found.group(3) or "1"
        yield from range(int(first), int(last) + 1, max(1, int(step)))
