"""Which part of a file is a job's own, where jobs before it had written to the same one (sbatch --open-mode=append).

Lines with a time of their own tell: those that lie in the run of a job that was over by then are that job's. What it printed last
without a time stands below them, as do the first words of the job that is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from store.rows import Block, LogEvent, LogLine, LogRun, Row, SlurmJob, TrainStep, one_by_one

_ROUNDED = timedelta(seconds=1)
"""Accounting's times are whole seconds."""


def first_own_line(rows: Iterator[Row | Block], start: datetime, before: Sequence[SlurmJob]) -> int:
    """The line from which on a file is of the job that began then, and not of those `before` it; zero where all may be its own."""
    last: tuple[int, SlurmJob] | None = None
    own: int | None = None
    for row in one_by_one(rows):
        if not isinstance(row, LogLine) or row.ts_kind != "embedded" or row.ts is None or row.line_no is None:
            continue
        if (other := _other(row.ts, start, before)) is not None:
            last, own = (row.line_no, other), None
        elif own is None and row.ts >= start - _ROUNDED:
            own = row.line_no
    if last is None:
        return 0
    line, other = last
    # One that failed has most likely said why below its last line with a time.
    return own if own is not None and other.state != "COMPLETED" else line + 1


def _other(ts: datetime, start: datetime, before: Sequence[SlurmJob]) -> SlurmJob | None:
    if ts >= start:
        return None
    for job in before:
        if (
            job.start_ts is not None
            and job.end_ts is not None
            and job.start_ts - _ROUNDED <= ts <= job.end_ts + _ROUNDED
        ):
            return job
    return None


def own_rows(rows: Iterator[Row | Block], first: int) -> Iterator[Row | Block]:
    """The rows of a log from this line on."""
    for row in one_by_one(rows) if first else rows:
        if isinstance(row, LogRun):
            if (row.last_line or first) >= first:
                yield row
        elif not isinstance(row, LogLine | LogEvent | TrainStep) or (row.line_no or first) >= first:
            yield row
