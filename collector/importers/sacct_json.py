"""`sacct --json`: jobs, attempts, steps, events with exact times.

SOURCE  sacct of Slurm 21.08 to 26.05 (data parsers 0.0.37 to 0.0.45), slurmrestd's /slurmdb/jobs.
ROWS    slurm_job (one per attempt), slurm_step, slurm_job_event (told from the records).
CAVEAT  a file of more than 256 MiB is refused: ask for fewer jobs.

    {"jobs": [{"job_id": 4812, "state": {"current": ["FAILED"], "reason": "NonZeroExitCode"}, "time": {"start": 1772359200}}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_json as sj
from collector.formats import slurm_values as sv
from collector.formats.hostlist import expanded
from collector.formats.job_events import job_events, restart_event
from collector.formats.text import decode, whole
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmJob, SlurmStep

LIMIT = 256 << 20
_JOBS = lazy.compile(r'"jobs"\s*:\s*\[')
_OURS = lazy.compile(r'"(?:association|allocation_nodes|steps|submission|kill_request_user)"\s*:')


class SacctJson:
    """Reads sacct's JSON."""

    name: ClassVar[str] = "sacct_json"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_step", "slurm_job_event")
    exact_times: ClassVar[bool] = True

    def claims(self, path: Path, head: bytes) -> int:
        """A list of jobs with the members that accounting has and the controller has not."""
        if b'"jobs"' not in head:
            return 0
        text = decode(head)
        return 96 if _JOBS.search(text) and _OURS.search(text) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Jobs in the file's order, each with its events and steps."""
        raw = whole(path, ctx, LIMIT)
        if raw is None:
            raise ImportFailed(f"more than {LIMIT >> 20} MiB of JSON: ask sacct for fewer jobs")
        found = list(sj.array(decode(raw), "jobs", ctx.problem))
        if not found and ctx.problem_count:
            raise ImportFailed(f"no job could be read: {ctx.problems[0]}")
        begun: dict[str, list[tuple[int, int]]] = {}
        for item in found:
            begun.setdefault(_job_id(item), []).append(_begun(item))
        for moments in begun.values():
            moments.sort()
        for index, item in enumerate(found):
            moments = begun[_job_id(item)]
            at = moments.index(_begun(item))
            restarts = sj.whole(item.get("restart_cnt")) or 0
            attempt = restarts + 1 if len(moments) == 1 else at + 1
            job = _job(item, ctx, attempt, f"{ctx.name}:jobs[{index}]")
            yield job
            later = moments[at + 1][0] if at + 1 < len(moments) else None
            yield from job_events(job, sv.epoch(later) if later else None, later is not None)
            restart = restart_event(job) if len(moments) == 1 else None
            if restart is not None:
                yield restart
            for step in sj.items(item.get("steps")):
                yield _step(sj.obj(step), job)


def _begun(item: sj.Object) -> tuple[int, int]:
    time = sj.obj(item.get("time"))
    return sj.whole(time.get("submission")) or 0, sj.whole(time.get("start")) or 0


def _job_id(item: sj.Object) -> str:
    array, het, own = sj.obj(item.get("array")), sj.obj(item.get("het")), sj.whole(item.get("job_id"))
    if sj.positive(array.get("job_id")):
        task = sj.whole(array.get("task_id"))
        pending = sj.text(array.get("task"))
        if task is not None:
            return f"{sj.whole(array['job_id'])}_{task}"
        if pending:
            most = sj.positive(sj.obj(sj.obj(sj.obj(array.get("limits")).get("max")).get("running")).get("tasks"))
            return f"{sj.whole(array['job_id'])}_[{sj.task_list(pending, most)}]"
    if sj.positive(het.get("job_id")):
        return f"{sj.whole(het['job_id'])}+{sj.whole(het.get('job_offset')) or 0}"
    return str(own) if own is not None else "unknown"


def _job(item: sj.Object, ctx: ImportContext, attempt: int, origin: str) -> SlurmJob:
    state, time, comment = sj.obj(item.get("state")), sj.obj(item.get("time")), sj.obj(item.get("comment"))
    base, flags = sv.states(sj.words(state.get("current")))
    if base == "PENDING" and "REQUEUED" in flags and sj.moment(time.get("start")) and sj.moment(time.get("end")):
        base, flags = "REQUEUED", ()  # as sacct's text calls a run that went back to the queue
    status, signal = sj.ended_with(item.get("exit_code"), base)
    derived, derived_signal = sj.ended_with(item.get("derived_exit_code"), base)
    given = sj.obj(item.get("tres"))
    allocated, requested = sj.tres(given.get("allocated")), sj.tres(given.get("requested"))
    parts, wanted = sv.tres(allocated), sv.tres(requested)
    gpus = sv.tres_gpus(parts)
    nodes = sj.positive(item.get("allocation_nodes"))
    cpus = sv.integer(parts.get("cpu")) or sj.positive(sj.obj(item.get("required")).get("CPUs"))
    submit, start, end = (sj.moment(time.get(k)) for k in ("submission", "start", "end"))
    array, het = sj.obj(item.get("array")), sj.obj(item.get("het"))
    limit = sj.positive(time.get("limit"))
    task = sj.whole(array.get("task_id"))
    return SlurmJob(
        cluster=sj.text(item.get("cluster")) or ctx.cluster,
        ts=end or start or submit,
        origin=origin,
        job_id=_job_id(item),
        attempt=attempt,
        job_id_raw=sj.text(item.get("job_id")),
        array_job_id=str(sj.positive(array.get("job_id")) or "") or None,
        array_task_id=str(task) if task is not None and sj.positive(array.get("job_id")) else None,
        het_job_id=str(sj.positive(het.get("job_id")) or "") or None,
        sluid=sj.text(item.get("sluid")),
        name=sj.text(item.get("name")),
        user=sj.text(item.get("user")) or sj.text(sj.obj(item.get("association")).get("user")),
        account=sj.text(item.get("account")),
        partition=sj.text(item.get("partition")),
        qos=sj.text(item.get("qos")),
        state=base,
        state_flags=",".join(flags) or None,
        state_reason=sj.text(state.get("reason")),
        cancelled_by=sj.text(item.get("kill_request_user")) if base == "CANCELLED" else None,
        exit_code=status,
        exit_signal=signal,
        exit_code_whole=sj.in_full(item.get("exit_code"), status, signal, base),
        derived_exit_code=derived,
        derived_exit_signal=derived_signal,
        restarts=sj.whole(item.get("restart_cnt")),
        submit_ts=submit,
        eligible_ts=sj.moment(time.get("eligible")),
        start_ts=start,
        end_ts=end if base in sv.ENDED else None,
        suspended_s=sj.seconds(time.get("suspended")),
        elapsed_s=sj.seconds(time.get("elapsed")),
        time_limit_s=limit * 60.0 if limit else None,
        node_list=expanded(sj.text(item.get("nodes"))),
        node_count=nodes,
        failed_node=sj.text(item.get("failed_node")),
        cpus=cpus,
        gpus=gpus if gpus is not None else sv.tres_gpus(wanted),
        memory_bytes=sv.tres_memory(parts) or sv.tres_memory(wanted) or _memory(item, nodes, cpus),
        tres_alloc=allocated,
        tres_req=requested,
        priority=sj.whole(item.get("priority")),
        dependency=sj.text(item.get("dependency")),
        submit_line=sj.text(item.get("submit_line")),
        work_dir=sj.text(item.get("working_directory")),
        stdout_path=sj.text(item.get("stdout_expanded")) or sj.text(item.get("stdout")),
        stderr_path=sj.text(item.get("stderr_expanded")) or sj.text(item.get("stderr")),
        comment=sj.text(comment.get("job")) or sj.text(item.get("comment")),
        admin_comment=sj.text(comment.get("administrator")),
        extra=sj.text(item.get("extra")),
    )


def _memory(item: sj.Object, nodes: int | None, cpus: int | None) -> int | None:
    required = sj.obj(item.get("required"))
    for key, factor in (("memory_per_node", nodes), ("memory_per_cpu", cpus)):
        megabytes = sj.positive(required.get(key))
        if megabytes and factor:
            return megabytes * factor << 20
    return None


def _step(item: sj.Object, job: SlurmJob) -> SlurmStep:
    time, nodes, own = sj.obj(item.get("time")), sj.obj(item.get("nodes")), sj.obj(item.get("step"))
    base, _ = sv.states(sj.words(item.get("state")))
    status, signal = sj.ended_with(item.get("exit_code"), base)
    start, end = sj.moment(time.get("start")), sj.moment(time.get("end"))
    names = sj.items(nodes.get("list"))
    usage = sj.items(sj.obj(sj.obj(item.get("tres")).get("requested")).get("max"))
    most = next((m for m in map(sj.obj, usage) if m.get("type") == "mem"), sj.obj(None))
    rss = sj.whole(most.get("count"))
    return SlurmStep(
        cluster=job.cluster,
        ts=end or start,
        origin=job.origin,
        job_id=job.job_id,
        attempt=job.attempt,
        step_id=_step_id(own.get("id")),
        name=sj.text(own.get("name")),
        state=base,
        cancelled_by=sj.text(item.get("kill_request_user")) if base == "CANCELLED" else None,
        exit_code=status,
        exit_signal=signal,
        exit_code_whole=sj.in_full(item.get("exit_code"), status, signal, base),
        start_ts=start,
        end_ts=end,
        elapsed_s=sj.seconds(time.get("elapsed")),
        node_list=",".join(n for n in names if isinstance(n, str)) or expanded(sj.text(nodes.get("range"))),
        tasks=sj.positive(sj.obj(item.get("tasks")).get("count")),
        max_rss_bytes=rss if rss else None,
        max_rss_node=sj.text(most.get("node")),
        max_rss_task=sj.whole(most.get("task")),
        submit_line=sj.text(item.get("submit_line")),
    )


def _step_id(value: object) -> str | None:
    """`4812.batch`, `batch`, 0, or an object that holds one of them."""
    if isinstance(value, dict):
        value = sj.obj(value).get("step_id", sj.obj(value).get("id"))
        if isinstance(value, dict):
            value = sj.whole(value)
    text = sj.text(value)
    return sv.step_name(text.rpartition(".")[2]) if text is not None else None
