"""The zone of accounting's local times, given away by metrics: they carry exact times, and were taken while the job ran.

Only where the times read as UTC lie mostly outside the metrics and a single offset of a zone puts every job inside them. A job that
is long against the offset never lies mostly outside: there the metrics have to end close to it on both sides, as those do that were
fetched for it, and the times read as UTC have to stand out on one side. An export that covers days fits many offsets and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from pathlib import Path

from collector.formats.text import READ_ERRORS, opened, read_some
from collector.importers.tables import table_of
from collector.intake.zones import OFFSETS, Pair
from store import lazy
from store.rows import SlurmJob

HEAD, TAIL = 16 << 20, 1 << 20
"""Bytes that are looked at: an exporter's series follow each other, each with all its times."""
MOST_JOBS = 50
SLACK = timedelta(minutes=2)
MOST, HALF = 0.8, 0.5
_CHANGE = timedelta(hours=1)
"""What summer time changes clocks by."""
CLOSE, OUT = timedelta(minutes=20), timedelta(minutes=15)
"""How far metrics reach beyond the job that they were fetched for, and how far a job stands out that is read in a wrong zone."""
LOOSE = timedelta(minutes=30)
"""How far they may reach where a job that is read in a wrong zone lies outside them."""
_TEXT = lazy.compile(rb"[ }][-+.\deEInfNa]+ (\d{10}(?:\.\d+)?|\d{13})\r?$", re.MULTILINE)
_TABLE = lazy.compile(
    rb"(?:^|,)\"?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00(?::?00)?)?\"?(?=[,\r\n])", re.MULTILINE
)
"""A table's ISO times, which are UTC unless they say otherwise: what says so is left out."""
_JSON = lazy.compile(rb"\[\s*(\d{10}(?:\.\d+)?)\s*,\s*\"")


def span(path: Path) -> tuple[datetime, datetime] | None:
    """First and last exact time in a file of metrics, as far as its ends tell; None where there are none, or it cannot be read."""
    try:
        with opened(path) as file:
            part = read_some(file, HEAD)
            size = path.stat().st_size
            if isinstance(file, BufferedReader) and size > HEAD:  # the end of a packed file has a price
                file.seek(max(HEAD, size - TAIL))
                part += b"\n" + file.read(TAIL)
    except READ_ERRORS:
        return None
    if table_of(path) is not None:
        moments = [datetime.fromisoformat(m[1].decode()).replace(tzinfo=UTC) for m in _TABLE.finditer(part)]
        return (min(moments), max(moments)) if moments else None
    seconds = [float(t) / (1000.0 if len(t) == 13 and b"." not in t else 1.0) for t in set(_times(part))]
    if not seconds:
        return None
    return datetime.fromtimestamp(min(seconds), UTC), datetime.fromtimestamp(max(seconds), UTC)


def _times(part: bytes) -> list[bytes]:
    pattern = _JSON if part.lstrip()[:1] in (b"{", b"[") else _TEXT
    return pattern.findall(part)


def pairs(jobs: Iterable[SlurmJob], spans: Iterable[tuple[str, datetime, datetime]]) -> list[Pair]:
    """A pair for each job with local times, read as UTC, where the spans (name, first, last) allow one offset only."""
    known = list(jobs)
    windows = [(a, b) for j in known if (a := j.start_ts) and (b := _until(j)) and b - a >= SLACK]
    covered = list(spans)
    if not windows or not covered or len(windows) > MOST_JOBS:
        return []
    first, last = min(s[1] for s in covered), max(s[2] for s in covered)
    shares = {o: min(_share(a - o, b - o, first, last) for a, b in windows) for o in OFFSETS}
    begin, end = min(a for a, _ in windows), max(b for _, b in windows)
    fitting = [o for o, share in shares.items() if share >= 1.0]
    if max(_share(a, b, first, last) for a, b in windows) >= HALF:
        out = max(first - begin, end - last)
        fitting = [o for o in fitting if out >= OUT and begin - o - first <= CLOSE and last - (end - o) <= CLOSE]
    elif not fitting:  # the export began late or ended early
        fitting = [
            o for o, share in shares.items() if share >= MOST and all(s < HALF for p, s in shares.items() if p != o)
        ]
    if len(fitting) != 1:
        return []
    before, after = begin - fitting[0] - first, last - (end - fitting[0])
    if max(before, after) > LOOSE:  # as well another job's hours, from an exporter that died before this one began
        return []
    basis = f"only so the job lies within the times of {covered[0][0]}"
    found = [(a, a - fitting[0]) for a, _ in windows]
    # Behind a change of the clock another offset holds.
    found += [
        (j.end_ts, b - fitting[0]) for j in known if j.end_ts and j.start_ts and (b := _until(j)) and b != j.end_ts
    ]
    return [Pair(local.replace(tzinfo=None), exact, basis, 0) for local, exact in found]


def _until(job: SlurmJob) -> datetime | None:
    """When the job ended, or was asked about while it ran, by the clock that held at its start.

    Where the times that accounting prints and the time that it counted differ by an hour, the clock was changed in between.
    """
    if job.start_ts is None or job.elapsed_s is None:
        return job.end_ts
    counted = job.start_ts + timedelta(seconds=job.elapsed_s + (job.suspended_s or 0.0))
    if job.end_ts is None or abs(abs(job.end_ts - counted) - _CHANGE) <= timedelta(seconds=5):
        return counted
    return job.end_ts


def _share(a: datetime, b: datetime, first: datetime, last: datetime) -> float:
    """How much of a window lies within the metrics, give or take the slack."""
    return max(min(b, last + SLACK) - max(a, first - SLACK), timedelta()) / (b - a)
