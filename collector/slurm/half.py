"""Records that slurmdbd has only half of yet.

The end of a short job can reach slurmdbd before its beginning does: for some seconds there is a record without partition,
QOS or array (a task of an array stands there under a bare number, named "allocation"), or one that failed and has no end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from collector.formats.slurm_values import ENDED
from store.rows import Row, SlurmJob

COMES_WITHIN = timedelta(seconds=90)
"""slurmctld sends what is missing every few seconds; a record that stays so is all that there is."""


def whole(rows: Iterable[Row], now: datetime) -> Iterator[Row]:
    """The rows of accounting without the half records of a moment ago; what follows a job's row is its own."""
    skipping = False
    for row in rows:
        if isinstance(row, SlurmJob):
            skipping = is_half(row, now)
        if not skipping:
            yield row


def is_half(job: SlurmJob, now: datetime) -> bool:
    """Is the rest of this record still to come?"""
    if job.state not in ENDED:
        return False
    last = max((t for t in (job.submit_ts, job.start_ts, job.end_ts) if t is not None), default=None)
    recent = last is not None and now - last < COMES_WITHIN
    return recent and (job.end_ts is None or (job.partition is None and job.qos is None))
