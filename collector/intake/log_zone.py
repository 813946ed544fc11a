"""The zone of a log whose program had another clock than Slurm: a container in UTC on a cluster in local time.

Where every time that the program printed lies outside the job, and another zone puts all of them inside. Of a job of an
hour, the first time of a clock that is an hour ahead lies just behind its end: what lies near is no more than near.
In a job that is longer than the clocks differ by only its first or its last times lie outside: one zone fits where the log
covers most of the job.

Where accounting has exact times, such a log gives away what the cluster's own times without a zone (a kernel log's) belong to: a
program has the node's clock or UTC. What Slurm itself wrote into the log when it ended the job is the node's clock for sure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

from collector.framing.times import Clock, by_slurm
from collector.intake.metric_zone import SLACK
from collector.intake.zones import OFFSETS, Pair
from store import lazy
from store.rows import SlurmJob

TAIL = 1 << 16
FEW = 3
"""Fewer times than this tell nothing."""
# Of the job alone: a step may be ended at any time before.
_ENDED = lazy.compile(r"\*\*\* JOB \d+ ON \S+ CANCELLED AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\b")


def of_log(path: Path, head: str, zone: tzinfo, jobs: Iterable[SlurmJob]) -> tzinfo | None:
    """The zone of the program's own times where it is not `zone`; None where that fits, or nothing is sure.

    `jobs` are the attempts of the job; `head` is the log's beginning, its end is read here.
    """
    windows = [(j.start_ts, j.end_ts) for j in jobs]
    if not windows or any(a is None or b is None for a, b in windows):
        return None
    start = min(a for a, _ in windows if a is not None)
    end = max(b for _, b in windows if b is not None)
    first, last = start - SLACK, end + SLACK
    printed = sorted(set(_printed(f"{head}\n{_end(path)}", start)))  # the two ends of a short log are one
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


def pairs(name: str, path: Path, head: str, jobs: Sequence[SlurmJob]) -> list[Pair]:
    """A moment of the cluster's time for what a log tells of it; `jobs` are the attempts of its job, with exact times."""
    ends = [j.end_ts for j in jobs if j.end_ts is not None]
    said = [datetime.fromisoformat(s).replace(tzinfo=UTC) for s in _ENDED.findall(f"{head}\n{_end(path)}")]
    # Slurm waits for the processes before it calls the job ended.
    fitting = [o for o in OFFSETS if said and all(any(abs(s - o - end) <= SLACK for end in ends) for s in said)]
    if len(fitting) == 1:
        local = said[-1].replace(tzinfo=None)
        return [Pair(local, said[-1] - fitting[0], f"{name} has Slurm's own time of the end", 2)]
    own = of_log(path, head, UTC, jobs)
    if own is None or own is UTC or not ends:
        return []
    local = ends[0].astimezone(own).replace(tzinfo=None)
    return [Pair(local, ends[0], f"the times of {name} lie only so within its job", 0)]


def _printed(text: str, start: datetime) -> list[datetime]:
    """Times without a zone that the program printed, as if they were UTC; a time that carries its zone needs none."""
    utc, other = Clock(UTC, start=start), Clock(timezone(timedelta(hours=1)), start=start)
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
