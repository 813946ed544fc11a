"""`sacct --parsable2` (or `-p`, any delimiter, any columns, or the plain table): jobs, attempts, steps, events.

SOURCE  sacct of Slurm 20.11 to 26.05, best with `--duplicates` and every column (`sacct -o ALL -P -D -j 4812`).
ROWS    slurm_job (one per attempt), slurm_step, slurm_job_event (told from the records).
CAVEAT  without `--duplicates` only the last attempt shows; times are local to where sacct ran.

    JobID|State|ExitCode|Start|End
    4812|CANCELLED by 1000|0:15|2026-03-01T10:00:00|2026-03-01T10:05:00
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.delimited import Layout, header, records, words
from collector.formats.forms import Form, divided
from collector.formats.hostlist import expanded
from collector.formats.job_events import job_events, resize_event, restart_event
from collector.formats.text import decode, lines
from collector.formats.unheaded import layout_of
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmJob, SlurmStep

_JOB_ID = lazy.compile(
    r"(?P<job>(?P<base>\d{1,20}|[xX]{1,20})(?:_(?P<task>\d{1,10}|\[[^\]]*\]?))?(?:\+(?P<het>\d{1,6}))?)(?:\.(?P<step>[\w.+-]+))?\Z",
    re.ASCII,
)
_STATE = lazy.compile(r"[A-Za-z_]{2,}\+?(?:[ ,].*)?\Z")
_TIME = lazy.compile(r"(?:\d{4}-\d\d-\d\dT[\d:.+-]+|\d{9,11}|Unknown|None|N/A|)\Z")
_EXIT = lazy.compile(r"(?:\d+:\d+|)\Z")
_CHECKS = {"jobid": _JOB_ID, "state": _STATE, "start": _TIME, "end": _TIME, "submit": _TIME, "exitcode": _EXIT}
_SHELLS = frozenset({"batch", "extern", "interactive"})
_TELLING = frozenset(
    {"jobidraw", "state", "exitcode", "elapsed", "start", "end", "submit", "alloctres", "maxrss", "partition"}
)


# What sacct prints unasked, and a row of it: people paste rows without their header.
_DEFAULT = (
    "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
    "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
)
_ROW = lazy.compile(
    r"\d[\w.+\[\]-]* +\S.{10,60} +\d+ +(?:COMPLETED|FAILED|TIMEOUT|CANCELLED\+?|NODE_FAIL|OUT_OF_ME\+|PREEMPTED|RUNNING|PENDING|REQUEUED|BOOT_FAIL|DEADLINE)"
    r" +\d+:\d+ *"
)


_RULER = lazy.compile(r"[ \t]*(?:={3,400}|-{3,400})[ \t]*")
_WIDE = 200
"""How far a last column may stand out beyond its head."""


@dataclass(slots=True)
class _Known:
    """When the attempts of each job began, from a first pass over the file: submit and start as printed, in order."""

    moments: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    resized: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    restarts: dict[str, int] = field(default_factory=dict[str, int])

    def runs(self, job: str) -> list[str]:
        """The moments at which a run began; a record that a resize closed belongs to the run that goes on after it."""
        moments, resized = self.moments.get(job, []), self.resized.get(job, set())
        return [m for m in moments if m not in resized] or moments[-1:]

    def attempt(self, job: str, moment: str) -> int:
        """1 for the first attempt. A file that shows only a job's last attempt may say how often it was restarted."""
        runs = self.runs(job)
        if len(runs) == 1:
            return self.restarts.get(job, 0) + 1
        return next((n for n, run in enumerate(runs, 1) if run >= moment), len(runs))

    def later(self, job: str, moment: str) -> str | None:
        """When the attempt after this one was submitted, as printed."""
        runs = self.runs(job)
        index = runs.index(moment) + 1 if moment in runs else len(runs)
        return runs[index].partition(" ")[0] if index < len(runs) else None

    def only(self, job: str) -> int | None:
        """The number of the job's only attempt here; None if there are several or none."""
        runs = self.runs(job)
        return self.attempt(job, runs[0]) if len(runs) == 1 else None


class Sacct:
    """Reads sacct's text."""

    name: ClassVar[str] = "sacct"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_step", "slurm_job_event")

    def claims(self, path: Path, head: bytes) -> int:
        """A header line with JobID and at least one more of sacct's own columns, or nothing but rows that tell them."""
        layout, _ = _layout(decode(head).splitlines()[:30])
        return 0 if layout is None else 95

    def form(self, lines: Sequence[str]) -> Form | None:
        """Nothing stands between the columns of a table; records with a delimiter may go on over lines, then it is not told."""
        layout, skip = _layout(lines[:30])
        if layout is None or not skip:
            return None
        if not layout.spans:
            full = divided(layout.delimiter, lines[skip - 1])
            last = max(i for i, t in enumerate(lines) if full(t))
            unfinished = any(layout.delimiter in t for t in lines[last + 1 : last + 2])
            return None if unfinished or not all(map(full, lines[skip : last + 1])) else full
        head = lines[skip - 2] if skip > 1 else ""
        return lambda line: line == head or not any(line[b : b + 1].strip() for _, b in layout.spans[:-1])

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Jobs and steps in the file's order, each job's events after it."""
        layout, skip = _layout([text for _, text in _first(path, ctx, 30)])
        if layout is None:
            raise ImportFailed("no header with JobID, nor a column of states: sacct without -n (--noheader) is needed")
        known = _survey(path, ctx, layout, skip)
        current: SlurmJob | None = None
        for number, values in _records(path, ctx, layout, skip):
            record = _Record(dict(zip(layout.names, values, strict=True)), ctx, f"{ctx.name}:{number}")
            if record.step is None:
                current = record.job(known)
                if current.state == "RESIZING":
                    yield resize_event(current)
                    continue
                yield current
                later = known.later(record.job_id, record.moment)
                yield from job_events(current, sv.time(later, ctx.zone), later is not None)
                restart = restart_event(current) if known.only(record.job_id) else None
                if restart is not None:
                    yield restart
            else:
                yield record.step_row(current, known)


def _first(path: Path, ctx: ImportContext, count: int) -> Iterator[tuple[int, str]]:
    for number, text in lines(path, _silent(ctx)):
        yield number, text
        if number >= count:
            return


def _silent(ctx: ImportContext) -> ImportContext:
    """A context that notes nothing: for a pass that is repeated."""
    return ImportContext(ctx.name, ctx.zone)


def _layout(texts: Sequence[str]) -> tuple[Layout | None, int]:
    """The layout, and how many lines stand up to the first record; shell prompts and warnings may come before."""
    for i, text in enumerate(texts):
        if "jobid" not in text.lower():
            continue
        below = texts[i + 1] if i + 1 < len(texts) else ""
        layout = _by_raw(header(text, below))
        if layout is not None and "jobid" in layout.names and _TELLING.intersection(layout.names):
            return layout, i + (2 if layout.spans else 1)
        if (layout := _unruled(text, texts[i + 1 :])) is not None:
            return layout, i + 1
    rows = [t for t in texts if t.strip()]
    return (header(*_DEFAULT), 0) if rows and all(_ROW.fullmatch(t) for t in rows) else layout_of(texts)


def _unruled(head: str, below: Sequence[str]) -> Layout | None:
    """The layout of a table without sacct's line of dashes, as `column -t` or a poster leaves it: every column named in one word,
    and under the head a record with as many."""
    names = head.lower().split()
    first = next((t for t in below if t.strip() and not _RULER.fullmatch(t)), "")
    cells = words(first)
    if names[:1] != ["jobid"] or "state" not in names or not all(w[0].isupper() for w in head.split()):
        return None
    if len({*names}) != len(cells) or len(names) != len(cells):
        return None
    if not _JOB_ID.match(cells[0]) or sv.state(cells[names.index("state")])[0] not in sv.BASE_STATES:
        return None
    begins = [m.start() for m in re.finditer(r"\S+", head)]
    return Layout(
        names, spans=[*zip(begins, (b - 1 for b in begins[1:]), strict=False), (begins[-1], len(head) + _WIDE)]
    )


def _by_raw(layout: Layout | None) -> Layout | None:
    """JobIDRaw names a record as well where JobID was not asked for: only a task of an array has another number there."""
    if layout is None or "jobid" in layout.names:
        return layout
    return replace(layout, names=["jobid" if name == "jobidraw" else name for name in layout.names])


def _records(path: Path, ctx: ImportContext, layout: Layout, skip: int) -> Iterator[tuple[int, list[str]]]:
    checks = [(layout.names.index(n), p) for n, p in _CHECKS.items() if n in layout.names]

    def looks_right(values: Sequence[str]) -> bool:
        return all(i < len(values) and pattern.match(values[i].strip()) for i, pattern in checks)

    body = (item for item in lines(path, ctx) if item[0] > skip)
    return records(body, layout, looks_right, ctx.problem)


def _survey(path: Path, ctx: ImportContext, layout: Layout, skip: int) -> _Known:
    known = _Known()
    for _, values in _records(path, _silent(ctx), layout, skip):
        record = _Record(dict(zip(layout.names, values, strict=True)), ctx, "")
        if record.step is None:
            moments = known.moments.setdefault(record.job_id, [])
            if record.moment not in moments:
                moments.append(record.moment)
            if record.cells.get("state", "").strip().upper() == "RESIZING":
                known.resized.setdefault(record.job_id, set()).add(record.moment)
            restarts = record.restarts()
            if restarts:
                known.restarts[record.job_id] = max(restarts, known.restarts.get(record.job_id, 0))
    for moments in known.moments.values():
        moments.sort()
    return known


class _Record:
    """One record by its columns' names (lower case)."""

    __slots__ = ("cells", "ctx", "job_id", "match", "moment", "origin", "step")

    def __init__(self, cells: dict[str, str], ctx: ImportContext, origin: str) -> None:
        self.cells, self.ctx, self.origin = cells, ctx, origin
        found = _JOB_ID.match(cells["jobid"].strip())
        if found is None:  # `looks_right` saw to it
            raise ImportFailed(f"not a job id: {cells['jobid'][:40]!r}")
        self.match = found
        self.job_id: str = found.group("job")
        self.step: str | None = found.group("step")
        self.moment = f"{cells.get('submit', '')} {cells.get('start', '')}"

    def get(self, *names: str) -> str | None:
        """The first of these columns that says something."""
        for name in names:
            value = sv.word(self.cells.get(name))
            if value is not None:
                return value
        return None

    def when(self, name: str) -> datetime | None:
        """A time column in UTC."""
        return sv.time(self.cells.get(name), self.ctx.zone)

    def job(self, known: _Known) -> SlurmJob:
        """The row of a job's attempt."""
        state, flags, by = sv.state(self.cells.get("state"))
        uid, user = self.get("uid"), self.get("user")
        status, signal = sv.exit_code(self.cells.get("exitcode"))
        derived, derived_signal = sv.exit_code(self.cells.get("derivedexitcode"))
        allocated, requested = sv.tres(self.get("alloctres")), sv.tres(self.get("reqtres"))
        listed = expanded(self.get("nodelist"))
        nodes = sv.integer(self.get("allocnodes", "nnodes")) or sv.node_count(allocated, listed)
        cpus = sv.integer(self.get("alloccpus", "ncpus")) or sv.integer(allocated.get("cpu"))
        submit, start, end = self.when("submit"), self.when("start"), self.when("end")
        task = self.match.group("task")
        raw = self.get("jobidraw")
        return SlurmJob(
            cluster=self.get("cluster") or self.ctx.cluster,
            ts=end or start or submit,
            origin=self.origin,
            job_id=self.job_id,
            attempt=known.attempt(self.job_id, self.moment),
            job_id_raw=raw.partition(".")[0] if raw else (self.job_id if self.job_id.isdigit() else None),
            array_job_id=self.match.group("base") if task else None,
            array_task_id=task if task and task.isdigit() else None,  # else one record of those that have not begun
            het_job_id=self.match.group("base") if self.match.group("het") else None,
            sluid=self.get("sluid"),
            name=self.get("jobname"),
            user=user,
            account=self.get("account"),
            partition=self.get("partition"),
            qos=self.get("qos"),
            state=state,
            state_flags=",".join(flags) or None,
            state_reason=self.get("reason"),
            cancelled_by=user if by is not None and user is not None and by == uid else by,
            exit_code=status,
            exit_signal=signal,
            exit_code_whole=sv.whole_status(status, signal, state),
            derived_exit_code=derived,
            derived_exit_signal=derived_signal,
            restarts=self.restarts(),
            submit_ts=submit,
            eligible_ts=self.when("eligible"),
            start_ts=start,
            end_ts=end,
            suspended_s=sv.duration(self.get("suspended")),
            elapsed_s=self.elapsed(),
            time_limit_s=self.limit(),
            node_list=listed,
            node_count=nodes or None,
            failed_node=self.get("failednode"),
            cpus=cpus or None,
            gpus=self.gpus(allocated, requested, nodes),
            memory_bytes=sv.tres_memory(allocated) or sv.tres_memory(requested) or self.required_memory(nodes, cpus),
            tres_alloc=self.get("alloctres"),
            tres_req=self.get("reqtres"),
            priority=sv.integer(self.get("priority")),
            dependency=self.get("dependency"),
            submit_line=self.get("submitline"),
            work_dir=self.get("workdir"),
            stdout_path=self.get("stdoutexpanded", "stdout"),
            stderr_path=self.get("stderrexpanded", "stderr"),
            comment=self.get("comment"),
            admin_comment=self.get("admincomment"),
            extra=self.get("extra"),
            uid=uid,
        )

    def restarts(self) -> int | None:
        """How often the job was restarted."""
        return sv.integer(self.get("restarts", "restartcnt"))

    def elapsed(self) -> float | None:
        """Seconds that the record ran."""
        raw = sv.integer(self.get("elapsedraw"))
        told = float(raw) if raw is not None else sv.duration(self.get("elapsed"))
        if told is not None:
            return told
        # A report without the column: what lies between start and end, as long as nothing was suspended in between.
        start, end = self.when("start"), self.when("end")
        if start is None or end is None or end < start or sv.duration(self.get("suspended")):
            return None
        return (end - start).total_seconds()

    def limit(self) -> float | None:
        """Time limit in seconds; TimelimitRaw counts minutes."""
        raw = sv.integer(self.get("timelimitraw"))
        return raw * 60.0 if raw is not None else sv.duration(self.get("timelimit"))

    def gpus(self, allocated: dict[str, str], requested: dict[str, str], nodes: int | None) -> int | None:
        """Allocated GPUs, else requested ones; old versions count them per node."""
        total = sv.tres_gpus(allocated)
        if total is None:
            total = sv.tres_gpus(requested)
        if total is None:
            gres = self.get("allocgres", "reqgres")
            each = sv.gres_gpus(gres)
            spread = each is not None and "PER_NODE" in (gres or "") and nodes
            total = each * nodes if spread and each is not None and nodes else each
        return total

    def required_memory(self, nodes: int | None, cpus: int | None) -> int | None:
        """Memory of the whole job by ReqMem: per node, per CPU, or in total."""
        text = self.get("reqmem")
        value = sv.size(text, "M")
        if not value:
            return None
        factor = {"n": nodes, "c": cpus}.get(sv.memory_basis(text) or "", 1)
        return value * factor if factor else None

    def step_row(self, job: SlurmJob | None, known: _Known) -> SlurmStep:
        """The row of a step; its attempt is that of the job's record above it."""
        state, _, by = sv.state(self.cells.get("state"))
        status, signal = sv.exit_code(self.cells.get("exitcode"))
        whole = sv.whole_status(status, signal, state)
        start, end = self.when("start"), self.when("end")
        used = sv.tres(self.get("tresusageinmax"))
        rss = sv.size(self.get("maxrss"))
        owner = job if job is not None and job.job_id == self.job_id else None
        most = owner.derived_exit_code if owner is not None else None
        if most is not None and status and most == status + sv.TAKEN_OFF and self.step not in _SHELLS:
            status, whole = most, True  # the highest status of the steps is printed in full
        return SlurmStep(
            cluster=self.get("cluster") or self.ctx.cluster,
            ts=end or start,
            origin=self.origin,
            job_id=self.job_id,
            attempt=owner.attempt if owner is not None else known.only(self.job_id),
            step_id=sv.step_name(self.step or ""),
            name=self.get("jobname"),
            state=state,
            cancelled_by=by,
            exit_code=status,
            exit_signal=signal,
            exit_code_whole=whole,
            start_ts=start,
            end_ts=end,
            elapsed_s=self.elapsed(),
            node_list=expanded(self.get("nodelist")),
            tasks=sv.integer(self.get("ntasks")),
            max_rss_bytes=rss if rss is not None else sv.size(used.get("mem")),
            max_rss_node=self.get("maxrssnode"),
            max_rss_task=sv.integer(self.get("maxrsstask")),
            submit_line=self.get("submitline"),
        )
