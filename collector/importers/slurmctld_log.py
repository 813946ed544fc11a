"""slurmctld's own log: when jobs were submitted, started and ended, who ended them, and when nodes were lost or drained.

SOURCE  SlurmctldLogFile of Slurm 20.11 to 26.05 at its default level (info).
ROWS    slurm_job, slurm_job_event, slurm_node_state.
CAVEAT  it knows neither names, users nor what a job asked for; `scancel --signal` is written as a kill is. Times are local.

    [2026-03-01T10:00:01.618] sched: Allocate JobId=4812 NodeList=gpu[01-02] #CPUs=64 Partition=train
    [2026-03-01T11:30:05.345] _job_complete: JobId=4812 WEXITSTATUS 1
    [2026-03-01T11:40:00.858] error: Nodes gpu02 not responding, setting DOWN
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.hostlist import HostListError, expand, expanded
from collector.formats.job_events import job_events
from collector.formats.node_states import node_state
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmNodeState

_LINE = lazy.compile(r"\[(?P<ts>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)\] (?P<said>.*)")
_JOB = r"JobId=(?P<job>\d+(?:_\d+|\+\d+)?)(?:\((?P<raw>\d+)\))?"
_OWN = lazy.compile(
    r"slurmctld version |_slurm_rpc_\w+: |sched: |sched/backfill: |_job_complete: |(?:update|drain)_nodes?: node |Running as primary controller"
    r"|error: Nodes \S+ not responding|Killing JobId=\S+ on failed node |[Rr]equeu(?:e job|ing) JobId=\d|error: Prolog launch failure, JobId="
    r"|Node \S+ now responding|SchedulerParameters=|Recovered (?:state of|information about) \d"
)
_SUBMITTED = lazy.compile(rf"_slurm_rpc_submit_batch_job: {_JOB} InitPrio=")
_STARTED = lazy.compile(
    rf"sched: Allocate {_JOB} NodeList=(?P<nodes>\S+) #CPUs=(?P<cpus>\d+) Partition=(?P<part>\S+)"
    rf"|(?:sched/)?backfill: (?:_start_job: )?Started {_JOB.replace('<job>', '<job2>').replace('<raw>', '<raw2>')} in (?P<part2>\S+) on (?P<nodes2>\S+)"
    rf"|sched: _slurm_rpc_allocate_resources {_JOB.replace('<job>', '<job3>').replace('<raw>', '<raw3>')} NodeList=(?P<nodes3>\S+)"
)
_ENDED = lazy.compile(
    rf"_job_complete: {_JOB} (?:(?P<how>WEXITSTATUS|WTERMSIG) (?P<number>\d+)|(?P<word>OOM failure|cancelled by node failure|cancelled by interactive user|done))"
)
_REQUEUED = lazy.compile(
    rf"(?:_job_complete: )?requeue (?:job )?{_JOB} (?:due to (?:failure of node (?P<node>\S+)|(?P<lost>node failure))|per user/system request)"
)
_TOLD: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("signalled", lazy.compile(rf"_slurm_rpc_kill_job2?: REQUEST_KILL_JOB {_JOB} uid (?P<uid>\d+)")),
    ("timeout", lazy.compile(rf"Time limit exhausted for {_JOB}")),
    ("node_fail", lazy.compile(rf"Killing {_JOB} on failed node (?P<node>\S+)")),
    ("preempted", lazy.compile(rf"(?:\w+: )?preempted {_JOB} has been (?:killed|requeued)")),
    ("launch", lazy.compile(rf"error: (?P<why>Prolog launch failure), {_JOB}")),
    ("blocked", lazy.compile(rf"_pick_best_nodes: {_JOB} never runnable in partition")),
)
_NODES = lazy.compile(
    r"error: Nodes (?P<list>\S+) not responding(?P<down>, setting DOWN)?"
    r"|(?:update_node|drain_nodes): node (?P<set>\S+) state set to (?P<state>\w+)"
    r"|(?:validate_node_specs: )?Node (?P<booted>\S+) unexpectedly rebooted"
    r"|(?:error: )?Epilog failure on host (?P<epilog>\S+), setting DOWN"
    r"|[Nn]ode (?P<back>\S+) (?:now responding|returned to service)"
)
_REASON = lazy.compile(
    r"update_node: node (?P<node>\S+) reason set to: (?P<why>.*)"
    r"|error: Setting node (?P<node2>\S+) state to \w+ with reason:(?P<why2>.*)"
)


@dataclass(slots=True)
class _Attempt:
    """What was told of one attempt of a job so far."""

    job_id: str
    raw: str | None
    attempt: int
    line: int
    submit: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    nodes: str | None = None
    cpus: int | None = None
    partition: str | None = None
    state: str | None = None
    reason: str | None = None
    status: tuple[int | None, int | None] = (None, None)
    killed: tuple[datetime | None, str] | None = None
    overdue: bool = False
    failed_node: str | None = None
    lost: datetime | None = None
    told: list[tuple[str, datetime | None, str | None, str]] = field(
        default_factory=list[tuple[str, "datetime | None", "str | None", str]]
    )


class SlurmctldLog:
    """Reads the controller's log."""

    name: ClassVar[str] = "slurmctld_log"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_job_event", "slurm_node_state")

    def claims(self, path: Path, head: bytes) -> int:
        """Lines that begin with a time in brackets, some of them in the controller's words."""
        texts = [
            t for t in decode(head[:32_768]).splitlines()[:300] if t.strip(" \t.[]…")
        ]  # what an excerpt leaves out
        said = [m["said"] for t in texts if (m := _LINE.match(t))]
        own = sum(1 for t in said if _OWN.match(t))
        return 93 if own >= 2 and len(said) >= 0.9 * len(texts) and own >= 0.05 * len(texts) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Attempts as they end, states of nodes as they change; what is still open comes last."""
        jobs, nodes = _Jobs(ctx), _Nodes(ctx)
        read = 0
        for number, line in lines(path, ctx):
            found = _LINE.match(line)
            if found is None:
                continue
            read += 1
            ts = sv.time(found["ts"], ctx.zone)
            ctx.saw(ts)
            if "JobId=" in found["said"]:
                yield from jobs.read(number, ts, found["said"])
            else:
                yield from nodes.read(number, ts, found["said"])
        yield from jobs.close()
        yield from nodes.close()
        if not read:
            raise ImportFailed("no line begins with a time in brackets as slurmctld's do")


class _Jobs:
    def __init__(self, ctx: ImportContext) -> None:
        self._ctx = ctx
        self._open: dict[str, _Attempt] = {}
        self._last: dict[str, int] = {}

    def read(self, number: int, ts: datetime | None, said: str) -> Iterator[Row]:
        if found := _SUBMITTED.match(said):
            self._of(found["job"], found["raw"], number).submit = ts
        elif found := _STARTED.match(said):
            job = self._of(_any(found, "job") or "", _any(found, "raw"), number)
            job.start, job.state, job.reason = ts, "RUNNING", None  # why it did not start before is past
            job.nodes, job.partition = expanded(_any(found, "nodes")), found["part"] or found["part2"]
            job.cpus = int(found["cpus"]) if found["cpus"] else None
            if found["job3"] and job.submit is None:
                job.submit = ts
        elif found := _REQUEUED.match(said):
            job = self._of(found["job"], found["raw"], number)
            lost = bool(found["node"] or found["lost"])
            job.state, job.end, job.failed_node = ("NODE_FAIL" if lost else "REQUEUED"), ts, found["node"]
            yield from self._done(job, again=ts)
            self._of(found["job"], found["raw"], number).submit = ts
        elif found := _ENDED.match(said):
            yield from self._ended(found, number, ts)
        else:
            for event, pattern in _TOLD:
                if found := pattern.match(said):
                    self._told(event, found, number, ts, said)
                    break

    def close(self) -> Iterator[Row]:
        """What the log leaves open: jobs that waited or ran at its end, and killed ones of which nothing more was said."""
        arrays = {name.partition("_")[0] for name in self._last if "_" in name}
        for job in list(self._open.values()):
            if job.job_id in arrays:
                continue  # the tasks of an array are submitted as one
            if job.killed is not None:
                job.state, job.end = "CANCELLED", job.killed[0]
            elif job.lost is not None and job.start is None:
                # an excerpt of its last lines: it ran, or nothing had to be killed
                job.state, job.end = "NODE_FAIL", job.lost
            yield from self._done(job)

    def _of(self, name: str, raw: str | None, number: int) -> _Attempt:
        job = self._open.get(name)
        if job is None:
            attempt = self._last.get(name, 0) + 1
            self._last[name] = attempt
            job = self._open[name] = _Attempt(name, raw, attempt, number, state="PENDING")
            parent = self._open.get(name.partition("_")[0]) if "_" in name else None
            job.submit = parent.submit if parent is not None else None
        return job

    def _told(self, event: str, found: re.Match[str], number: int, ts: datetime | None, said: str) -> None:
        job = self._of(found["job"], found["raw"], number)
        if event == "timeout":
            job.overdue = True
            return
        if event == "launch":  # nothing of it ran: Slurm sends it back, or ends it
            job.reason, job.submit = found["why"], job.submit or ts
            return
        if event == "signalled":
            job.killed = (ts, found["uid"])
        elif event == "node_fail":
            job.failed_node, job.lost = found["node"], ts
        elif event == "blocked":
            job.reason = said.partition(found["job"])[2].strip()
        job.told.append((event, ts, found.groupdict().get("uid"), said))

    def _ended(self, found: re.Match[str], number: int, ts: datetime | None) -> Iterator[Row]:
        name, word = found["job"], found["word"]
        if word == "done":
            if name in self._open and self._open[name].end is not None:
                yield from self._done(self._open[name])
            return
        job = self._of(name, found["raw"], number)
        job.end = ts
        if found["how"] is not None:
            value = int(found["number"])
            job.status = (value, 0) if found["how"] == "WEXITSTATUS" else (0, value)
        failed = job.status != (0, 0)
        if word == "cancelled by node failure":
            job.state = "NODE_FAIL"
        elif word == "OOM failure":
            job.state = "OUT_OF_MEMORY"
        elif job.overdue:
            job.state = "TIMEOUT"
        elif word == "cancelled by interactive user" or (job.killed is not None and failed):
            job.state = "CANCELLED"
        elif any(event == "preempted" for event, *_ in job.told) and failed:
            job.state = "PREEMPTED"
        else:
            job.state = "FAILED" if failed else "COMPLETED"

    def _done(self, job: _Attempt, again: datetime | None = None) -> Iterator[Row]:
        self._open.pop(job.job_id, None)
        ctx, (code, signal) = self._ctx, job.status
        row = SlurmJob(
            cluster=ctx.cluster,
            ts=job.end or job.start or job.submit,
            origin=f"{ctx.name}:{job.line}",
            job_id=job.job_id,
            attempt=job.attempt,
            job_id_raw=job.raw or (job.job_id if job.job_id.isdigit() else None),
            array_job_id=job.job_id.partition("_")[0] if "_" in job.job_id else None,
            array_task_id=job.job_id.partition("_")[2] or None,
            partition=job.partition,
            state=job.state,
            state_reason=job.reason,
            cancelled_by=job.killed[1] if job.killed is not None and job.state == "CANCELLED" else None,
            exit_code=code,
            exit_signal=signal,
            exit_code_whole=None if code is None else True,
            submit_ts=job.submit,
            start_ts=job.start,
            end_ts=job.end,
            elapsed_s=(job.end - job.start).total_seconds() if job.end and job.start else None,
            node_list=job.nodes,
            node_count=job.nodes.count(",") + 1 if job.nodes else None,
            failed_node=job.failed_node,
            cpus=job.cpus,
        )
        if job.submit or job.start or job.end:  # else it was turned away before it was a job
            yield row
            yield from job_events(row, again, again is not None)
        for event, ts, actor, said in job.told:
            if event == "node_fail" and job.state == "NODE_FAIL":
                continue
            yield SlurmJobEvent(
                cluster=ctx.cluster,
                ts=ts,
                origin=row.origin,
                job_id=job.job_id,
                attempt=job.attempt,
                event=event,
                reason=job.failed_node if event == "node_fail" else None,
                actor=actor,
                observed=False,
                message=said[:300],
                time_basis="recorded",
            )


class _Nodes:
    """States of nodes from one line that tells of them to the next."""

    def __init__(self, ctx: ImportContext) -> None:
        self._ctx = ctx
        self._open: dict[str, tuple[datetime | None, int, str | None, str | None, str | None]] = {}
        self._why: dict[str, str] = {}

    def read(self, number: int, ts: datetime | None, said: str) -> Iterator[Row]:
        if found := _REASON.match(said):
            self._why[found["node"] or found["node2"]] = (found["why"] or found["why2"] or "").strip()
            return
        found = _NODES.match(said)
        if found is None:
            return
        try:
            names = expand(found["list"] or found["set"] or found["booted"] or found["epilog"] or found["back"])
        except HostListError as wrong:
            self._ctx.problem(f"line {number}: {wrong}")
            return
        for node in names:
            state, flags, reason = _state(found, self._why.pop(node, None))
            held = self._open.get(node)
            if found["list"] and not found["down"] and held is not None and held[2] is not None:
                # What was said of it before still holds: a drained node that is lost is a drained one.
                words = [*(held[3] or "").split(","), flags or ""]
                state, reason = held[2], held[4] or reason
                flags = ",".join(dict.fromkeys(w for w in words if w))
            if held is not None and held[2:4] == (state, flags):
                continue  # said again: it lasts
            yield from self._end(node, ts)
            if state is not None or flags is not None:
                self._open[node] = (ts, number, state, flags, reason)

    def close(self) -> Iterator[Row]:
        for node in list(self._open):
            yield from self._end(node, None)

    def _end(self, node: str, ts: datetime | None) -> Iterator[Row]:
        held = self._open.pop(node, None)
        if held is None:
            return
        since, number, state, flags, reason = held
        yield SlurmNodeState(
            cluster=self._ctx.cluster,
            node=node,
            ts=since,
            origin=f"{self._ctx.name}:{number}",
            state=state,
            state_flags=flags,
            end_ts=ts,
            reason=reason,
            observed=False,
        )


def _state(found: re.Match[str], why: str | None) -> tuple[str | None, str | None, str | None]:
    """State, flags and reason from this line on; all None where the node is said to be back."""
    if found["list"]:
        return ("DOWN" if found["down"] else None), "NOT_RESPONDING", "Not responding"
    if found["booted"]:
        return "DOWN", None, "Node unexpectedly rebooted"
    if found["epilog"]:
        return "DOWN", None, "Epilog failure"
    if found["state"]:
        state, flags = node_state(found["state"])
        return state, flags, why
    return None, None, None


def _any(found: re.Match[str], name: str) -> str | None:
    return found[name] or found[f"{name}2"] or found[f"{name}3"]
