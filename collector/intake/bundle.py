"""`import_paths`: the files that a cluster already has, into a lake. Each file is one batch; a file that grew replaces itself.

Order of work: look at every file's first bytes and pick its importer; survey accounting for jobs, attempts and the time
zone; decide which job each log belongs to; then read file after file, each failure kept to its file.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from collector.formats import text
from collector.formats.node_names import NodeNames
from collector.importers.base import ImportContext, ImportFailed
from collector.intake import discover, log_zone, zones
from collector.intake.accounting import Accounting, reconcile
from collector.intake.addresses import aliases_of
from collector.intake.candidate import Candidate, candidate_of, unrecognised
from collector.intake.health import Tally
from collector.intake.own_part import first_own_line, own_rows
from collector.intake.report import FileReport, ImportReport
from collector.intake.run_attempts import of_attempts
from collector.intake.survey import Survey, survey
from collector.intake.walk import Found, walk
from store import Writer
from store.rows import Block, HostEvent, JobRow, LogEvent, LogLine, Row, SlurmJob, TrainStep, one_by_one

NODE_TABLES = frozenset({"gpu_event", "host_event", "gpu_sample", "host_sample", "link_sample"})
_NODE_FOLDERS = frozenset({"kernel", "metrics"})
_ENDED = frozenset({"cancelled", "preempted", "requeued", "time_limit", "node_failure"})
"""Slurm's words in a log for the end of an attempt."""
_FULL_DIGEST = 64 << 20
_SAMPLE = 1 << 18
FORMAT = "2"
"""Part of every batch's id: raised when importers give other rows for the same bytes."""


def import_paths(
    paths: Sequence[Path],
    lake: Path,
    *,
    timezone: str | None = None,
    cluster: str | None = None,
    job_id: str | None = None,
    durable: bool = True,
    together: bool | None = None,
    budget_bytes: int | None = None,
    known: Sequence[SlurmJob] = (),
    before: Sequence[SlurmJob] = (),
    owner: str = "",
    outputs: bool = False,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> ImportReport:
    """Import files and folders. `job_id` is the job of a log that is named itself, and of those in a folder that name none.

    `on_progress` is called with a file's name, its bytes read and its size.
    `known` are attempts that accounting told of before. A file replaces its older self only under the same `owner`: two
    jobs that write to one path in turn keep what each left there.

    `before` are other jobs that had written to the same files: what is theirs is left out.
    With `outputs` each file is what a job printed, whatever it looks like.
    Of a log larger than `budget_bytes` only parts are read; its report says which.
    With `together` (the default for a lake that is not durable) everything becomes one batch: much faster for many small
    files, but then a second import of a part is a batch of its own.
    Raises zones.UnknownZone for a zone that does not exist and StoreError when the lake cannot be written.
    """
    given = zones.named(timezone) if timezone else None
    candidates = [candidate_of(found, of_job=outputs) for found in walk([Path(p) for p in paths])]
    seen = survey([(c.found, c.importer, c.covers, c.head) for c in candidates if c.importer is not None])
    zone = given or zones.infer(seen.pairs)
    logs = [c for c in candidates if c.is_log]
    books, index = _accounts(seen, zone, known)
    placed = _placed(logs, index, job_id)
    if zone.known == "default":
        zone = zones.infer(_told_by_logs(logs, placed, seen.exact()))
        books, index = _accounts(seen, zone, known)
    if cluster is None and len(seen.clusters) == 1:
        cluster = next(iter(seen.clusters))
    index.aliases = aliases_of(candidates)
    work: list[_Reading] = []
    for candidate in candidates:
        found = candidate.found
        job = placed.get(found.name) if candidate.is_log else None
        ctx = ImportContext(
            name=found.name,
            zone=zone.tz,
            zone_known=zone.known != "default",
            cluster=cluster,
            node=_node(candidate, index),
            nodes=index.nodes,
            aliases=index.aliases,
            one_node=index.on_one_node(job),
            job_id=job,
            attempt=None if index.several(job) else index.attempt_at(job, None),
            modified=found.modified,
            start=None if candidate.is_log else index.long_ago(found.modified),
            size=found.size,
            on_progress=_progress(on_progress, found),
            budget_bytes=budget_bytes,
        )
        if candidate.is_log and job is not None:
            _own_clock(ctx, candidate, index, shared=bool(before))
        work.append(_Reading(candidate, ctx, index, books, zone, before if candidate.is_log else ()))
    writer = Writer(lake, durable=durable)
    if together if together is not None else not durable:
        _publish_together(work, writer)
    else:
        for reading in work:
            reading.publish(writer, owner)
    return ImportReport(
        files=[r.report for r in work],
        zone=zone.name,
        zone_known=zone.known,
        zone_basis=zone.basis,
        jobs=sorted(index.attempts),
        log_jobs=sorted({r.ctx.job_id for r in work if r.ctx.job_id and not r.report.error}),
    )


class _Reading:
    """One file on its way into the lake. A failure stays its own; what was read before it is kept."""

    def __init__(
        self, candidate: Candidate, ctx: ImportContext, index: discover.JobIndex, books: Accounting, zone: zones.Zone,
        before: Sequence[SlurmJob],
    ) -> None:  # fmt: skip
        self.candidate, self.ctx, self.zone, self._before = candidate, ctx, zone, before
        self._index, self._books = index, books
        found, importer = candidate.found, candidate.importer
        self.report = FileReport(found.name, bytes=found.size, job_id=ctx.job_id, attempt=ctx.attempt)
        if importer is None:
            self.report.error = candidate.error or unrecognised(candidate.head)
        else:
            self.report.importer = importer.name

    def batch(self) -> str | None:
        """The batch's id: content, importer and everything else that the rows depend on. None for what cannot be read."""
        importer, ctx = self.candidate.importer, self.ctx
        if importer is None:
            return None
        books = self._books.digest if "slurm_job" in self.candidate.covers else ""
        context = (
            FORMAT,
            importer.name,
            ctx.name,
            self.zone.name,
            ctx.cluster,
            ctx.node,
            ctx.job_id,
            ctx.attempt,
            books,
            *(str(j.end_ts) for j in self._before),
            *(sorted(ctx.aliases.items()) if NODE_TABLES.intersection(self.candidate.covers) else ()),
            *(("one node",) if ctx.one_node and "attempt_" in ctx.name else ()),
            *(str(x) for x in (ctx.own_zone, None if self.candidate.is_log else ctx.start) if x is not None),
        )
        try:
            return _digest_text(_digest_file(self.candidate.found) + repr(context))
        except OSError as failure:
            self.report.error = failure.strerror or type(failure).__name__
            return None

    def rows(self) -> Iterator[Row | Block]:
        """The file's rows and its `source_health`. Failures end in the report."""
        importer, report = self.candidate.importer, self.report
        if importer is None:
            return
        begun = time.monotonic()
        tally = Tally(importer.name, self.candidate.covers, self.ctx)
        try:
            # What repeats itself may come many rows at once.
            read: Callable[[Path, ImportContext], Iterator[Row | Block]] = getattr(importer, "blocks", importer.rows)
            rows = read(self.candidate.found.path, self.ctx)
            if self._before and self.ctx.start is not None:
                path, probe = self.candidate.found.path, replace(self.ctx, on_progress=None, problems=[], notes=[])
                first = first_own_line(read(path, probe), self.ctx.start, self._before)
                rows = own_rows(rows, first)
                if first:
                    self.ctx.note(f"its first {first - 1} lines were left out: jobs before this one wrote them")
            if "slurm_job" in self.candidate.covers:
                rows = self._books.settle(one_by_one(rows), self.ctx.name)
                report.merged_into = self._books.merged_into(self.ctx.name)
            settled = _settled(rows, self.ctx, self._index)
            if self.ctx.job_id is not None and self._index.several(self.ctx.job_id):
                settled = of_attempts(settled, self._index, self.ctx.job_id)
            yield from tally.counted(settled)
        except (ImportFailed, *text.READ_ERRORS) as failure:
            report.error = str(failure) or type(failure).__name__
        except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, AssertionError) as failure:
            report.error = (
                f"{importer.name} could not cope with this file: {type(failure).__name__}: {str(failure)[:200]}"
            )
        if report.error and tally.total:
            self.ctx.problem(f"{report.error}; the {tally.total} rows before that are kept")
            report.error = None
        yield from tally.health(report.error if self.candidate.head else None)
        report.rows = tally.rows
        report.problems, report.problem_count, report.notes = self.ctx.problems, self.ctx.problem_count, self.ctx.notes
        report.seconds = time.monotonic() - begun

    def publish(self, writer: Writer, owner: str = "") -> None:
        """As a batch of its own; a newer state of the same file replaces the older one."""
        batch = self.batch()
        if batch is not None:
            key = f"file:{_digest_text(owner + str(self.candidate.found.path.resolve()))}"
            published = writer.append(self.rows(), batch=batch, replaces=key)
            self.report.rows, self.report.duplicate = dict(published.rows), published.duplicate


def _publish_together(work: Sequence[_Reading], writer: Writer) -> None:
    ready = [(reading, batch) for reading in work if (batch := reading.batch()) is not None]
    if not ready:
        return
    rows = (row for reading, _ in ready for row in reading.rows())
    published = writer.append(rows, batch=_digest_text("".join(batch for _, batch in ready)))
    for reading, _ in ready:
        reading.report.duplicate = published.duplicate


def _placed(logs: Sequence[Candidate], index: discover.JobIndex, given: str | None) -> dict[str, str]:
    by_root: dict[Path, list[Candidate]] = {}
    for candidate in logs:
        by_root.setdefault(candidate.found.root, []).append(candidate)
    placed: dict[str, str] = {}
    for root, group in by_root.items():
        heads = [(c.found.name, text.decode(c.head[:16_384])) for c in group]
        if given and len(group) == 1 and group[0].found.path == root:
            placed[group[0].found.name] = given
        else:
            placed.update(discover.place(heads, index, root.resolve().name, given))
    return placed


def _node(candidate: Candidate, index: discover.JobIndex) -> str | None:
    """The node that a kernel log or a scrape is named after, or in whose folder a log lies; other files belong to no one node."""
    if candidate.is_log:
        return discover.node_of_folder(candidate.found.name, index.nodes)
    if not NODE_TABLES.intersection(candidate.covers):
        return None
    found = candidate.found
    if found.root == found.path and found.path.parent.name not in _NODE_FOLDERS and not index.nodes:
        return None  # a lone file may be called anything
    return discover.node_of(found.name, index.nodes)


def _progress(report: Callable[[str, int, int], None] | None, found: Found) -> Callable[[int], None] | None:
    if report is None:
        return None
    return lambda count: report(found.name, count, found.size)


def _settled(rows: Iterator[Row | Block], ctx: ImportContext, index: discover.JobIndex) -> Iterator[Row | Block]:
    """Rows with the cluster, the job as Slurm shows it, and the attempt in whose time they lie.

    A row is written to here, though frozen, because nobody else holds it yet and a copy costs more than its making.
    """
    put = object.__setattr__
    several = index.several(ctx.job_id)
    spelt = NodeNames(index.nodes, index.aliases).spelt
    attempt: int | None = None
    over = _Over()
    if several:
        rows = one_by_one(rows)
    elif ctx.job_id is None and index.attempts:
        rows = _of_nobody(rows)
    for row in rows:
        if isinstance(row, Block):
            for name, value in (("cluster", ctx.cluster), ("origin", ctx.name)):
                if name not in row.columns and row.constants.get(name) is None:
                    row.constants[name] = value
            if (node := row.constants.get("node")) is not None:
                row.constants["node"] = spelt(node)
            yield row
            continue
        if row.cluster is None and ctx.cluster is not None:
            put(row, "cluster", ctx.cluster)
        if row.node is not None and (own := spelt(row.node)) != row.node:
            put(row, "node", own)
        if row.origin is None:
            put(row, "origin", ctx.name)
        if ctx.job_id is not None:
            if several and isinstance(row, JobRow) and row.attempt is None and row.job_id == ctx.job_id:
                if getattr(row, "ts_kind", None) != "file":
                    attempt = index.attempt_at(ctx.job_id, row.ts) or attempt
                put(row, "attempt", None if over.behind(row) else attempt)
        elif isinstance(row, JobRow) and row.attempt is None and index.attempts:
            _tie(row, index)
        yield row


def _of_nobody(rows: Iterator[Row | Block]) -> Iterator[Row | Block]:
    """Those blocks as they are whose rows name no job, nor what leads to one; the others row by row."""
    for row in rows:
        if isinstance(row, Block) and (
            row.columns.keys() & {"job_id", "node"} or row.constants.get("job_id") or row.row_type is HostEvent
        ):
            yield from row.rows()
        else:
            yield row


class _Over:
    """Slurm's word that an attempt was ended. What follows without a time may be the next attempt's as well as its last words."""

    def __init__(self) -> None:
        self._said: dict[tuple[str | None, datetime | None], int] = {}

    def behind(self, row: JobRow) -> bool:
        """Whether the time of a row is carried from such a line above it, so that it tells nothing of its attempt."""
        if not isinstance(row, LogLine | LogEvent | TrainStep) or row.line_no is None:
            return False
        key = (row.file, row.ts)
        if isinstance(row, LogEvent) and row.kind == "slurm" and row.name in _ENDED and row.ts_kind == "embedded":
            self._said.setdefault(key, row.line_no)
            return False
        return row.ts_kind == "carried" and row.line_no > self._said.get(key, row.line_no)


def _tie(row: JobRow, index: discover.JobIndex) -> None:
    """A node's or a GPU's row that names a job: to that job's shown id and its attempt at that time."""
    put = object.__setattr__
    job = row.job_id
    if job is None and isinstance(row, HostEvent) and row.cgroup:
        job = next((index.by_sluid[p] for p in row.cgroup.split("/") if p in index.by_sluid), None)
    shown = index.by_raw.get(job) if job is not None else None
    if shown is not None:
        put(row, "job_id", shown)
        put(row, "attempt", index.attempt_at(shown, row.ts))


def _accounts(seen: Survey, zone: zones.Zone, known: Sequence[SlurmJob]) -> tuple[Accounting, discover.JobIndex]:
    """What accounting tells, its local times read in this zone, and its jobs with those that are `known` already."""
    books, index = reconcile(seen.told_in(zone.tz)), discover.JobIndex()
    for job in (*books.jobs.values(), *known):
        index.add(job)
    return books, index


def _told_by_logs(
    logs: Sequence[Candidate], placed: Mapping[str, str], exact: Mapping[str, list[SlurmJob]]
) -> list[zones.Pair]:
    """What the logs of jobs with exact times tell of the cluster's zone."""
    pairs: list[zones.Pair] = []
    for found, head in ((c.found, c.head) for c in logs):
        if (jobs := exact.get(placed.get(found.name, ""))) is not None:
            pairs += log_zone.pairs(found.name, found.path, text.decode(head[:65_536]), jobs)
    return pairs


def _own_clock(ctx: ImportContext, candidate: Candidate, index: discover.JobIndex, *, shared: bool) -> None:
    """Say when its job began, and read a program's own times in its own zone, where Slurm's would put them outside its job."""
    attempts = index.attempts.get(ctx.job_id or "", {}).values()
    ctx.start = min((a.start_ts for a in attempts if a.start_ts is not None), default=None)
    if shared:
        return  # its head is of a job before, and no zone puts that within this one
    head = text.decode(candidate.head[:65_536])
    ctx.own_zone = log_zone.of_log(candidate.found.path, head, ctx.zone, attempts)
    if ctx.own_zone is not None:
        ctx.note(f"its times were read as {ctx.own_zone}: only so they lie within the job")


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
