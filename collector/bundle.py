"""`import_paths`: the files that a cluster already has, into a lake. Each file is one batch; a file that grew replaces itself.

Order of work: look at every file's first bytes and pick its importer; survey accounting for jobs, attempts and the time
zone; decide which job each log belongs to; then read file after file, each failure kept to its file.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collector import discover, text, zones
from collector.health import Tally
from collector.importers import registry
from collector.importers.base import ImportContext, Importer, ImportFailed
from collector.survey import survey
from collector.walk import Found, walk
from store import Writer
from store.rows import JobRow, Row

LOG_TABLES = frozenset({"log_line", "log_event", "train_step", "nccl_sample"})
_FULL_DIGEST = 64 << 20
_SAMPLE = 1 << 18
FORMAT = "1"
"""Part of every batch's id: raised when importers give other rows for the same bytes."""


@dataclass(slots=True)
class FileReport:
    """What became of one file. `rows` is by table; `error` says why nothing of it could be used."""

    name: str
    importer: str | None = None
    rows: dict[str, int] = field(default_factory=dict[str, int])
    problems: list[str] = field(default_factory=list[str])
    problem_count: int = 0
    duplicate: bool = False
    bytes: int = 0
    error: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    seconds: float = 0.0


@dataclass(slots=True)
class ImportReport:
    """What became of every file, and in which zone local times were read (`zone_known`: given, inferred, default)."""

    files: list[FileReport]
    zone: str
    zone_known: str
    zone_basis: str = ""
    jobs: list[str] = field(default_factory=list[str])
    log_jobs: list[str] = field(default_factory=list[str])

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table over all files."""
        total: dict[str, int] = {}
        for report in self.files:
            for table, count in report.rows.items():
                total[table] = total.get(table, 0) + count
        return dict(sorted(total.items()))


@dataclass(slots=True)
class Candidate:
    """A file with its first bytes and the importer that claims it."""

    found: Found
    head: bytes = b""
    importer: Importer | None = None
    error: str = ""


def import_paths(
    paths: Sequence[Path],
    lake: Path,
    *,
    timezone: str | None = None,
    cluster: str | None = None,
    job_id: str | None = None,
    durable: bool = True,
    budget_bytes: int | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> ImportReport:
    """Import files and folders. `on_progress` is called with a file's name, its bytes read and its size.

    Of a log larger than `budget_bytes` only parts are read; its report says which.

    Raises zones.UnknownZone for a zone that does not exist and StoreError when the lake cannot be written.
    """
    given = zones.named(timezone) if timezone else None
    candidates = [_candidate(found) for found in walk([Path(p) for p in paths])]
    known = survey([(c.found, c.importer) for c in candidates if c.importer is not None])
    zone = given or zones.infer(known.pairs)
    index = known.index_in(zone.tz)
    logs = [c for c in candidates if c.importer is not None and LOG_TABLES.intersection(c.importer.covers)]
    placed = {} if job_id else _placed(logs, index)
    writer = Writer(lake, durable=durable)
    report = ImportReport([], zone.name, zone.known, zone.basis, sorted(index.attempts))
    if cluster is None and len(known.clusters) == 1:
        cluster = next(iter(known.clusters))
    for candidate in candidates:
        is_log = candidate.importer is not None and bool(LOG_TABLES.intersection(candidate.importer.covers))
        job = (job_id or placed.get(candidate.found.name)) if is_log else None
        ctx = ImportContext(
            name=candidate.found.name,
            zone=zone.tz,
            zone_known=zone.known != "default",
            cluster=cluster,
            node=_node(candidate),
            job_id=job,
            attempt=None if index.several(job) else index.attempt_at(job, None),
            modified=candidate.found.modified,
            size=candidate.found.size,
            on_progress=_progress(on_progress, candidate.found),
            budget_bytes=budget_bytes,
        )
        report.files.append(_import_one(candidate, ctx, writer, zone, index))
    report.log_jobs = sorted({f.job_id for f in report.files if f.job_id})
    return report


def _candidate(found: Found) -> Candidate:
    if found.why_not:
        return Candidate(found, error=found.why_not)
    try:
        head = text.head(found.path)
    except text.READ_ERRORS as error:
        return Candidate(found, error=str(error) or type(error).__name__)
    return Candidate(found, head, registry.pick(found.path, head))


def _placed(logs: Sequence[Candidate], index: discover.JobIndex) -> dict[str, str]:
    by_root: dict[Path, list[Candidate]] = {}
    for candidate in logs:
        by_root.setdefault(candidate.found.root, []).append(candidate)
    placed: dict[str, str] = {}
    for root, group in by_root.items():
        heads = [(c.found.name, text.decode(c.head[:16_384])) for c in group]
        placed.update(discover.place(heads, index, root.resolve().name))
    return placed


def _node(candidate: Candidate) -> str | None:
    """`kernel/NODE.log` names its node; the other places do not."""
    path = candidate.found.path
    return discover.stem(path.name) if path.parent.name == "kernel" else None


def _progress(report: Callable[[str, int, int], None] | None, found: Found) -> Callable[[int], None] | None:
    if report is None:
        return None
    return lambda count: report(found.name, count, found.size)


def _import_one(
    candidate: Candidate, ctx: ImportContext, writer: Writer, zone: zones.Zone, index: discover.JobIndex
) -> FileReport:
    found, importer = candidate.found, candidate.importer
    report = FileReport(found.name, bytes=found.size, job_id=ctx.job_id, attempt=ctx.attempt)
    if importer is None:
        report.error = candidate.error or _unrecognised(candidate.head)
        return report
    report.importer = importer.name
    begun = time.monotonic()
    tally = Tally(importer, ctx)
    try:
        batch = _batch(found, importer, ctx, zone)
        rows = tally.closed(_settled(importer.rows(found.path, ctx), ctx, index))
        published = writer.append(rows, batch=batch, replaces=f"file:{_digest_text(str(found.path.resolve()))}")
    except (ImportFailed, *text.READ_ERRORS) as failure:
        report.error = str(failure) or type(failure).__name__
    else:
        report.rows, report.duplicate = dict(published.rows), published.duplicate
    report.problems, report.problem_count = ctx.problems, ctx.problem_count
    report.seconds = time.monotonic() - begun
    return report


def _settled(rows: Iterator[Row], ctx: ImportContext, index: discover.JobIndex) -> Iterator[Row]:
    """Rows with the cluster, and with the attempt in whose time they lie where a job ran more than once.

    A row is written to here, though frozen, because nobody else holds it yet and a copy costs more than its making.
    """
    several = index.several(ctx.job_id)
    attempt: int | None = None
    for row in rows:
        if row.cluster is None and ctx.cluster is not None:
            object.__setattr__(row, "cluster", ctx.cluster)
        if row.origin is None:
            object.__setattr__(row, "origin", ctx.name)
        if several and isinstance(row, JobRow) and row.attempt is None and row.job_id == ctx.job_id:
            if getattr(row, "ts_kind", None) != "file":
                attempt = index.attempt_at(ctx.job_id, row.ts) or attempt
            object.__setattr__(row, "attempt", attempt)
        yield row


def _unrecognised(head: bytes) -> str:
    if not head:
        return "empty file"
    tried = ", ".join(i.name for i in registry.importers())
    kind = "text in no known format" if text.is_text(head) else "binary data"
    return f"not recognised: {kind} (tried {tried})"


def _batch(found: Found, importer: Importer, ctx: ImportContext, zone: zones.Zone) -> str:
    """The batch's id: content, importer and everything else that the rows depend on."""
    context = (
        FORMAT,
        importer.name,
        ctx.name,
        zone.name,
        ctx.cluster,
        ctx.node,
        ctx.job_id,
        ctx.attempt,
        ctx.budget_bytes,
    )
    return _digest_text(_digest_file(found) + repr(context))


def _digest_file(found: Found) -> str:
    """SHA-256 of the content; of a large file's size, time, ends and sixteen places between."""
    digest = hashlib.sha256()
    with found.path.open("rb") as stream:
        if found.size <= _FULL_DIGEST:
            while block := stream.read(1 << 20):
                digest.update(block)
        else:
            digest.update(f"{found.size} {found.modified}".encode())
            for i in range(18):
                stream.seek((found.size - _SAMPLE) * i // 17)
                digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()


def _digest_text(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()
