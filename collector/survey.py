"""A first pass over the small files of an import: which jobs and attempts there are, which cluster, and which time zone.

Accounting that has exact times (JSON) and accounting that has local ones, of the same job, give the zone away; so do
lines that print one moment twice and kernel logs with an offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from collector import text
from collector.accounting import Told
from collector.importers.base import ImportContext, Importer, ImportFailed
from collector.walk import Found
from collector.zones import Pair
from store.rows import SlurmJob

MAX_BYTES = 64 << 20
_SDIAG = re.compile(r"sdiag output at \w{3} (\w{3}\s+\d+ [\d:]{8} \d{4}) \((\d{9,11})\)")
_OFFSET = re.compile(
    r"^(?:\w+ *:\w+ *: *)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?([+-]\d\d):?(\d\d)(?= )", re.MULTILINE
)
_TIMES = ("submit_ts", "eligible_ts", "start_ts", "end_ts")


@dataclass(slots=True)
class Survey:
    """What was learned. Jobs are kept with local times read as UTC where `exact` is false."""

    jobs: list[tuple[SlurmJob, bool, str, str]] = field(default_factory=list[tuple[SlurmJob, bool, str, str]])
    pairs: list[Pair] = field(default_factory=list[Pair])
    clusters: set[str] = field(default_factory=set[str])

    def told_in(self, zone: tzinfo) -> list[Told]:
        """The jobs with their file and importer, local times read in `zone`."""
        return [(job if exact else _moved(job, zone), file, importer) for job, exact, file, importer in self.jobs]


def survey(files: Sequence[tuple[Found, Importer, Sequence[str], bytes]]) -> Survey:
    """Read what is small enough to be read twice: (file, importer, tables that it fills, first bytes).

    Failures are left for the real pass to report.
    """
    known = Survey()
    for found, importer, covers, head in files:
        if "slurm_job" in covers and found.size <= MAX_BYTES:
            for job in _jobs(found, importer):
                known.jobs.append((job, getattr(importer, "exact_times", False), found.name, importer.name))
                if job.cluster:
                    known.clusters.add(job.cluster)
        if {"slurm_controller_sample", "gpu_event"}.intersection(covers):
            known.pairs.extend(_stated(found, text.decode(head)))
    known.pairs.extend(_matched(known))
    return known


def _jobs(found: Found, importer: Importer) -> Iterator[SlurmJob]:
    try:
        for row in importer.rows(found.path, ImportContext(found.name, UTC, modified=found.modified, size=found.size)):
            if isinstance(row, SlurmJob):
                yield row
    except (ImportFailed, *text.READ_ERRORS):
        return


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


def _matched(known: Survey) -> Iterator[Pair]:
    """Pairs of one job's time in two files, exact in one and local in the other."""
    exact = {(j.job_id, j.attempt): (j, name) for j, sure, name, _ in known.jobs if sure}
    for job, sure, name, _ in known.jobs:
        other = None if sure else exact.get((job.job_id, job.attempt))
        if other is None:
            continue
        for column in _TIMES:
            local, utc = getattr(job, column), getattr(other[0], column)
            if local is not None and utc is not None:
                yield Pair(local.replace(tzinfo=None), utc, f"{name} against {other[1]}", 3)


def _moved(job: SlurmJob, zone: tzinfo) -> SlurmJob:
    """The job with its times, so far read as UTC, read in `zone` instead."""
    if zone is UTC:
        return job
    moved = {
        column: value.replace(tzinfo=zone).astimezone(UTC)
        for column in ("ts", *_TIMES)
        if (value := getattr(job, column)) is not None and 2 < value.year < 9998
    }
    return replace(job, **moved)
