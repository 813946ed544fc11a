"""`squeue --json`, `scontrol show job --json`, slurmrestd's `/slurm/jobs`: the controller's jobs with exact times.

SOURCE  Slurm 21.08 to 26.05.
ROWS    slurm_job, slurm_job_event.
CAVEAT  a snapshot: of a running job the end is a plan, of a pending one the start is an estimate; neither is kept.

    {"jobs": [{"job_id": 4812, "job_state": ["PENDING"], "state_reason": "Resources", "submit_time": {"number": 1772359200}}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from collector.formats import slurm_json as sj
from collector.formats import slurm_values as sv
from collector.formats.hostlist import expanded
from collector.formats.job_events import job_events, restart_event
from collector.formats.text import decode, whole
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmJob

LIMIT = 256 << 20
_JOBS = lazy.compile(r'"jobs"\s*:\s*\[')


class SqueueJson:
    """Reads the controller's jobs."""

    name: ClassVar[str] = "squeue_json"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_job_event")
    exact_times: ClassVar[bool] = True

    def claims(self, path: Path, head: bytes) -> int:
        """A list of jobs with the controller's members."""
        if b'"job_state"' not in head and b'"batch_host"' not in head:
            return 0
        return 95 if _JOBS.search(decode(head)) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One job per entry with its events."""
        raw = whole(path, ctx, LIMIT)
        if raw is None:
            raise ImportFailed(f"more than {LIMIT >> 20} MiB of JSON: ask for fewer jobs")
        count = 0
        for count, item in enumerate(sj.array(decode(raw), "jobs", ctx.problem), 1):
            job = _job(item, ctx, f"{ctx.name}:jobs[{count - 1}]")
            yield job
            yield from job_events(job)
            restart = restart_event(job)
            if restart is not None:
                yield restart
        if not count and ctx.problem_count:
            raise ImportFailed(f"no job could be read: {ctx.problems[0]}")


def _shown(item: sj.Object) -> str:
    array, task, text = (
        sj.positive(item.get("array_job_id")),
        sj.whole(item.get("array_task_id")),
        sj.text(item.get("array_task_string")),
    )
    if array and (text or task is not None):
        return f"{array}_[{text}]" if text else f"{array}_{task}"
    het = sj.positive(item.get("het_job_id"))
    return (
        f"{het}+{sj.whole(item.get('het_job_offset')) or 0}" if het else str(sj.whole(item.get("job_id")) or "unknown")
    )


def _job(item: sj.Object, ctx: ImportContext, origin: str) -> SlurmJob:
    base, flags = sv.states(sj.words(item.get("job_state")))
    ended = base in sv.ENDED
    status, signal = sj.exit_code(item.get("exit_code")) if ended else (None, None)
    derived, derived_signal = sj.exit_code(item.get("derived_exit_code")) if ended else (None, None)
    allocated, requested = sj.text(item.get("tres_alloc_str")), sj.text(item.get("tres_req_str"))
    parts, wanted = sv.tres(allocated), sv.tres(requested)
    gpus = sv.tres_gpus(parts)
    submit = sj.moment(item.get("submit_time"))
    start = sj.moment(item.get("start_time")) if base != "PENDING" else None
    end = sj.moment(item.get("end_time")) if ended else None
    if not sj.text(item.get("nodes")) and sv.never_began(start, end):
        start = None
    array, task = sj.positive(item.get("array_job_id")), sj.whole(item.get("array_task_id"))
    nodes, cpus = sj.positive(item.get("node_count")), sj.positive(item.get("cpus"))
    limit, restarts = sj.positive(item.get("time_limit")), sj.whole(item.get("restart_cnt"))
    return SlurmJob(
        cluster=sj.text(item.get("cluster")) or ctx.cluster,
        ts=end or start or submit,
        origin=origin,
        job_id=_shown(item),
        attempt=(restarts or 0) + 1,
        job_id_raw=sj.text(item.get("job_id")),
        array_job_id=str(array) if array else None,
        array_task_id=str(task) if array and task is not None else None,
        het_job_id=str(sj.positive(item.get("het_job_id")) or "") or None,
        sluid=sj.text(item.get("sluid")) or sj.text(sj.obj(item.get("step_id")).get("sluid")),
        name=sj.text(item.get("name")),
        user=sj.text(item.get("user_name")),
        uid=sj.text(sj.whole(item.get("user_id"))),
        account=sj.text(item.get("account")),
        partition=sj.text(item.get("partition")),
        qos=sj.text(item.get("qos")),
        state=base,
        state_flags=",".join(flags) or None,
        # As scontrol and squeue have it: what Slurm says in words ("launch failed requeued held") outranks the word.
        state_reason=sj.text(item.get("state_description")) or sj.text(item.get("state_reason")),
        exit_code=status,
        exit_signal=signal,
        exit_code_whole=sj.in_full(item.get("exit_code"), status, signal, base),
        derived_exit_code=derived,
        derived_exit_signal=derived_signal,
        restarts=restarts,
        submit_ts=submit,
        eligible_ts=sj.moment(item.get("eligible_time")),
        start_ts=start,
        end_ts=end,
        suspend_ts=sj.moment(item.get("suspend_time")),
        elapsed_s=(end - start).total_seconds() if start is not None and end is not None else None,
        time_limit_s=limit * 60.0 if limit else None,
        node_list=expanded(sj.text(item.get("nodes"))),
        node_count=nodes,
        failed_node=sj.text(item.get("failed_node")),
        cpus=cpus,
        gpus=gpus if gpus is not None else sv.tres_gpus(wanted),
        gpu_indices=_gpu_indices(expanded(sj.text(item.get("nodes"))), item.get("gres_detail")),
        memory_bytes=sv.tres_memory(parts) or sv.tres_memory(wanted),
        tres_alloc=allocated,
        tres_req=requested,
        priority=sj.whole(item.get("priority")),
        dependency=sv.dependency(sj.text(item.get("dependency")), base),
        submit_line=sj.text(item.get("submit_line")),
        command=sj.text(item.get("command")),
        work_dir=sj.text(item.get("current_working_directory")),
        stdout_path=sj.text(item.get("stdout_expanded")) or sj.text(item.get("standard_output")),
        stderr_path=sj.text(item.get("stderr_expanded")) or sj.text(item.get("standard_error")),
        comment=sj.text(item.get("comment")),
        admin_comment=sj.text(item.get("admin_comment")),
        extra=sj.text(item.get("extra")),
    )


def _gpu_indices(nodes: str | None, told: Any) -> str | None:
    """`gres_detail`: one text for each node of the job, in their order."""
    names, texts = (nodes or "").split(","), sj.words(told)
    if not nodes or len(names) != len(texts):
        return None
    return ",".join(f"{n}/{i}" for n, t in zip(names, texts, strict=True) for i in sv.gres_indices(t)) or None
