"""The zone of accounting's local times, given away by when the GPUs worked: metrics with exact times that reach beyond the job.

An export of a day shows the job as a stretch of work between idle stretches. Only where one offset of a zone, and no other, puts a
job's start just before such a stretch and its end at the end of it is that taken; a stretch of which the metrics do not show both
ends says nothing. How long a job took at its time limit is no chance, nor is what was shorter than half an hour: another job's
stretch would be as long.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector.formats.metric_names import NAMES
from collector.formats.text import READ_ERRORS, opened, read_some
from collector.intake.metric_zone import HEAD, MOST_JOBS
from collector.intake.zones import OFFSETS, Pair
from store import lazy
from store.rows import SlurmJob

_NAMES = {name.encode(): m.scale for name, m in NAMES.items() if m.entity == "gpu" and m.column == "engine_active"}
_WORKS = 0.05
"""Activity from which a GPU works: less is a monitor's own."""
_SERIES = lazy.compile(rb"\"metric\"\s*:\s*\{")
_NAME = lazy.compile(rb"\"__name__\"\s*:\s*\"(\w+)\"")
_VALUE = lazy.compile(rb"\[\s*(\d{10}(?:\.\d+)?)\s*,\s*\"([-+.\deE]+)\"")
_LINE = lazy.compile(rb"^(\w+)(?:\{[^\n]*\})?[ \t]+([-+.\deE]+)[ \t]+(\d{10}(?:\.\d+)?|\d{13})\r?$", re.MULTILINE)

Stretch = tuple[datetime, datetime]
_IDLE_S = 600.0
"""A pause that parts two stretches: a job that saves or evaluates has shorter ones."""
_SEEN_S = 300.0
"""How soon before and after a stretch an idle sample has to lie, so that its ends are known."""
_SHORTEST = timedelta(minutes=30)
_SET_UP, _SLACK = timedelta(minutes=15), timedelta(minutes=3)
"""How long a job loads before its GPUs work, and how far the end of the work may lie from its end."""
_EARLY = timedelta(minutes=1)


def stretches(paths: Iterable[Path]) -> list[Stretch]:
    """From when to when any GPU of these files worked, as far as they show both ends; files that cannot be read tell nothing."""
    works: dict[float, bool] = {}
    for path in paths:
        for t, value in _samples(path):
            works[t] = works.get(t, False) or value >= _WORKS
    idle = sorted(t for t, at_work in works.items() if not at_work)
    found: list[list[float]] = []
    for t in sorted(t for t, at_work in works.items() if at_work):
        if found and t - found[-1][1] <= _IDLE_S:
            found[-1][1] = t
        else:
            found.append([t, t])
    return [
        (datetime.fromtimestamp(a, UTC), datetime.fromtimestamp(b, UTC))
        for a, b in found
        if _near(idle, bisect_left(idle, a) - 1, a) and _near(idle, bisect_right(idle, b), b)
    ]


def _near(idle: Sequence[float], at: int, end: float) -> bool:
    return 0 <= at < len(idle) and abs(idle[at] - end) <= _SEEN_S


def pairs(jobs: Sequence[SlurmJob], paths: Iterable[Path], basis: str) -> list[Pair]:
    """A pair for each job with local times, read as UTC, whose stretch of work is found at one offset only, the same for all."""
    timed = [(j.start_ts, j.end_ts) for j in jobs if j.start_ts and j.end_ts and _by_itself(j)]
    if not timed or len(timed) > MOST_JOBS:
        return []
    work = stretches(paths)
    at = [[o for o in OFFSETS if any(_fits(a - o, b - o, s) for s in work)] for a, b in timed]
    fitting = {o for one in at for o in one}
    if len(fitting) != 1:
        return []
    (offset,) = fitting
    return [
        Pair(t.replace(tzinfo=None), t - offset, f"only so the GPUs of {basis} work when the job ran", 0)
        for (a, b), one in zip(timed, at, strict=True)
        if one
        for t in (a, b)
    ]


def _by_itself(job: SlurmJob) -> bool:
    """Whether the job was long, and ended at a moment of its own."""
    if job.start_ts is None or job.end_ts is None or job.end_ts - job.start_ts < _SHORTEST:
        return False
    return (job.state or "").split(" ")[0].upper() not in ("TIMEOUT", "DEADLINE", "RUNNING", "PENDING", "SUSPENDED")


def _fits(start: datetime, end: datetime, work: Stretch) -> bool:
    return -_EARLY <= work[0] - start <= min(_SET_UP, (end - start) / 4) and -_EARLY <= end - work[1] <= _SLACK


def _samples(path: Path) -> Iterator[tuple[float, float]]:
    """Time in seconds and activity as a ratio, of every series that is a GPU's activity."""
    try:
        with opened(path) as file:
            part = read_some(file, HEAD)
    except READ_ERRORS:
        return
    if part.lstrip()[:1] in (b"{", b"["):
        for text in _SERIES.split(part)[1:]:
            named = _NAME.search(text)
            scale = _NAMES.get(named[1] if named else path.stem.encode())
            if scale is not None:
                yield from ((float(t), _number(value) * scale) for t, value in _VALUE.findall(text))
        return
    for name, value, t in _LINE.findall(part):
        scale = _NAMES.get(name)
        if scale is not None:
            yield float(t) / (1000.0 if len(t) == 13 and b"." not in t else 1.0), _number(value) * scale


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
