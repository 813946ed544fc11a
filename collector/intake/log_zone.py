"""The zone of a log whose program had another clock than Slurm: a container in UTC on a cluster in local time.

Where every time that the program printed lies outside the job, and another zone puts all of them inside. Of a job of an
hour, the first time of a clock that is an hour ahead lies just behind its end: what lies near is no more than near.
In a job that is longer than the clocks differ by only its first or its last times lie outside: one zone fits where the log
covers most of the job.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

from collector.framing.times import Clock, by_slurm
from collector.intake.metric_zone import SLACK
from collector.intake.zones import OFFSETS
from store.rows import SlurmJob

TAIL = 1 << 16
FEW = 3
"""Fewer times than this tell nothing."""


def of_log(path: Path, head: str, zone: tzinfo, modified: datetime | None, jobs: Iterable[SlurmJob]) -> tzinfo | None:
    """The zone of the program's own times where it is not `zone`; None where that fits, or nothing is sure.

    `jobs` are the attempts of the job; `head` is the log's beginning, its end is read here.
    """
    windows = [(j.start_ts, j.end_ts) for j in jobs]
    if not windows or any(a is None or b is None for a, b in windows):
        return None
    start = min(a for a, _ in windows if a is not None)
    end = max(b for _, b in windows if b is not None)
    first, last = start - SLACK, end + SLACK
    printed = sorted(set(_printed(f"{head}\n{_end(path)}", modified)))  # the two ends of a short log are one
    if len(printed) < FEW:
        return None
    here = zone.utcoffset(printed[0].replace(tzinfo=None)) or timedelta()
    outside = [t for t in printed if not first <= t - here <= last]
    partly = any(start <= t - here <= end for t in printed)
    if not outside or (partly and len(outside) < FEW):
        return None
    fitting = [o for o in OFFSETS if all(first <= t - o <= last for t in printed)]
    if timedelta() in fitting:
        return UTC
    return timezone(fitting[0]) if len(fitting) == 1 else None


def _printed(text: str, modified: datetime | None) -> list[datetime]:
    """Times without a zone that the program printed, as if they were UTC; a time that carries its zone needs none."""
    utc, other = Clock(UTC, modified), Clock(timezone(timedelta(hours=1)), modified)
    found: list[datetime] = []
    for line in text.splitlines():
        if by_slurm(line):
            continue
        one, two = utc.read(line), other.read(line)
        if one is not None and two is not None and one != two:
            found.append(one)
    return found


def _end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            return file.read().decode("utf-8", "replace").partition("\n")[2]
    except OSError:
        return ""
