"""A first pass over the small files of an import: which jobs and attempts there are, which cluster, and which time zone.

Accounting that has exact times (JSON) and accounting that has local ones, of the same job, give the zone away; so do
lines that print one moment twice, kernel logs with an offset, and metrics that were taken while the job ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from collector.formats import text
from collector.importers.base import ImportContext, Importer, ImportFailed
from collector.intake import activity_zone, discover, metric_zone
from collector.intake.accounting import Told
from collector.intake.walk import Found
from collector.intake.zones import Pair
from store import lazy
from store.rows import SlurmJob

MAX_BYTES = 64 << 20
_SDIAG = lazy.compile(r"sdiag output at \w{3} (\w{3}\s+\d+ [\d:]{8} \d{4}) \((\d{9,11})\)")
_OFFSET = lazy.compile(
    r"^(?:\w+ *:\w+ *: *)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?([+-]\d\d):?(\d\d)(?= )", re.MULTILINE
)
_DATE = lazy.compile(
    r"\b\w{3} (\w{3} +\d{1,2} \d\d:\d\d:\d\d(?: [AP]M)?) (UTC|GMT|CET|CEST|EST|EDT|MDT|PST|PDT|JST|AEST|AEDT) (\d{4})\b"
)
_HOURS = {
    "UTC": 0, "GMT": 0, "CET": 1, "CEST": 2, "EST": -5, "EDT": -4, "MDT": -6, "PST": -8, "PDT": -7, "JST": 9, "AEST": 10,
    "AEDT": 11,
}  # fmt: skip
_LOCAL = lazy.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?![\d.,]|[+-]\d\d|Z)")
_TIMES = ("submit_ts", "eligible_ts", "start_ts", "end_ts")


@dataclass(slots=True)
class _Book:
    """One accounting file: its jobs, local times read as UTC unless `exact`."""

    found: Found
    importer: Importer
    exact: bool
    jobs: list[SlurmJob]


@dataclass(slots=True)
class Survey:
    """What was learned."""

    books: list[_Book] = field(default_factory=list[_Book])
    pairs: list[Pair] = field(default_factory=list[Pair])
    clusters: set[str] = field(default_factory=set[str])

    def told_in(self, zone: tzinfo) -> list[Told]:
        """The jobs with their file and importer, local times read in `zone`."""
        told: list[Told] = []
        for book in self.books:
            known = book.exact or zone is UTC
            jobs = book.jobs if known else _jobs(book.found, book.importer, zone)
            told.extend((job, book.found.name, book.importer.name) for job in jobs)
        return told

    def exact(self) -> dict[str, list[SlurmJob]]:
        """Jobs whose times are exact in every file of accounting, by their id."""
        local = {job.job_id for book in self.books if not book.exact for job in book.jobs}
        jobs: dict[str, list[SlurmJob]] = {}
        for job in (job for book in self.books if book.exact for job in book.jobs):
            if job.job_id is not None and job.job_id not in local:
                jobs.setdefault(job.job_id, []).append(job)
        return jobs


def survey(files: Sequence[tuple[Found, Importer, Sequence[str], bytes]]) -> Survey:
    """Read what is small enough to be read twice: (file, importer, tables that it fills, first bytes).

    Failures are left for the real pass to report.
    """
    known = Survey()
    spans: list[tuple[str, datetime, datetime]] = []
    sampled: list[Found] = []
    logged: set[str] = set()
    for found, importer, covers, head in files:
        if "slurm_job" in covers and found.size <= MAX_BYTES:
            jobs = list(_jobs(found, importer, UTC))
            book = _Book(found, importer, _is_exact(importer, head), jobs)
            known.books.append(book)
            known.clusters.update(job.cluster for job in jobs if job.cluster)
        if {"slurm_controller_sample", "gpu_event"}.intersection(covers):
            known.pairs.extend(_stated(found, text.decode(head)))
        if "gpu_sample" in covers or "host_sample" in covers:
            within = metric_zone.span(found.path)
            spans += [(found.name, *within)] if within else []
            sampled += [found] if within and "gpu_sample" in covers else []
        if "log_line" in covers:
            start = text.decode(head[:16_384])
            known.pairs.extend(_named(found, start))
            if (own := discover.own_job(found.name, start)) is not None:
                logged.add(own)
    known.pairs.extend(_matched(known))
    local = [job for book in known.books if not book.exact for job in book.jobs]
    # Metrics are fetched for the job in question: what else accounting tells of, its neighbours, ran when it ran.
    asked = [job for job in local if job.job_id in logged]
    known.pairs.extend(metric_zone.pairs(asked or local, spans))
    if sampled and not known.pairs:
        known.pairs.extend(activity_zone.pairs(asked or local, [f.path for f in sampled], sampled[0].name))
    return known


def _jobs(found: Found, importer: Importer, zone: tzinfo) -> Iterator[SlurmJob]:
    ctx = ImportContext(found.name, zone, modified=found.modified, size=found.size)
    try:
        for row in importer.rows(found.path, ctx):
            if isinstance(row, SlurmJob):
                yield row
    except (ImportFailed, *text.READ_ERRORS):
        return


def _is_exact(importer: Importer, head: bytes) -> bool:
    """Are the file's times the same whatever the zone (epochs, or times with an offset)?"""
    if getattr(importer, "exact_times", False):
        return True
    return not head.startswith(b"PAR1") and _LOCAL.search(head) is None


def _stated(found: Found, head: str) -> Iterator[Pair]:
    """Pairs that one file states by itself."""
    for stamp, seconds in _SDIAG.findall(head):
        try:
            local = datetime.strptime(stamp, "%b %d %H:%M:%S %Y")
        except ValueError:
            continue
        yield Pair(local, datetime.fromtimestamp(int(seconds), UTC), f"{found.name} prints local and exact time", 3)
    for stamp, hours, minutes in _OFFSET.findall(head)[:3]:
        shift = timedelta(hours=abs(int(hours)), minutes=int(minutes)) * (-1 if hours.startswith("-") else 1)
        try:
            local = datetime.fromisoformat(stamp)
            exact = local.replace(tzinfo=timezone(shift)).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
        yield Pair(local, exact, f"{found.name} prints its offset", 2)


def _named(found: Found, head: str) -> Iterator[Pair]:
    """What `date` printed in a log: the batch script's node runs on the cluster's time."""
    for stamp, name, year in _DATE.findall(head)[:3]:
        try:
            form = "%b %d %I:%M:%S %p %Y" if stamp.endswith("M") else "%b %d %H:%M:%S %Y"
            local = datetime.strptime(f"{stamp} {year}", form)
        except ValueError:
            continue
        exact = (local - timedelta(hours=_HOURS[name])).replace(tzinfo=UTC)
        yield Pair(local, exact, f"{found.name} prints its zone ({name})")


def _matched(known: Survey) -> Iterator[Pair]:
    """Pairs of one job's time in two files, exact in one and local in the other."""
    exact = {(j.job_id, j.attempt): (j, book.found.name) for book in known.books if book.exact for j in book.jobs}
    for book in known.books:
        for job in () if book.exact else book.jobs:
            other = exact.get((job.job_id, job.attempt))
            for column in _TIMES if other is not None else ():
                local, utc = getattr(job, column), getattr(other[0], column) if other else None
                if local is not None and utc is not None:
                    basis = f"{book.found.name} against {other[1] if other else ''}"
                    yield Pair(local.replace(tzinfo=None), utc, basis, 3)
