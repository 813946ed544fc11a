"""`scontrol show job` (with or without `-o`, `-d`): what the controller knows of a job that it has not forgotten yet.

SOURCE  scontrol of Slurm 20.11 to 26.05; jobcomp/filetxt's file of completed jobs, a line each in the same keys.
ROWS    slurm_job, slurm_job_event.
CAVEAT  a snapshot: of a running job EndTime is a plan, of a pending one StartTime is an estimate; neither is kept.
        Fields that were copied without the first of them, JobId, are of the job that the command above them names, else of one
        that is called as the file is.

    JobId=4812 JobName=train
       JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.forms import Form, of_fields
from collector.formats.hostlist import expanded
from collector.formats.job_events import job_events, restart_event
from collector.formats.key_values import EVERY, Blocks
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from collector.intake.discover import stem
from store import lazy
from store.rows import Row, SlurmJob, SlurmJobEvent

_HEAD = lazy.compile(r"^\s*JobId=\d+", re.MULTILINE)
_STATE = lazy.compile(r"^\s*JobState=[A-Z_]{3,20} Reason=\S", re.MULTILINE)
# The command that printed them, which is copied along behind a prompt or named by who quotes them; it tells which job.
_ASKED = lazy.compile(r"\bscontrol\b[^|=]{0,40}\bshow\s+job(?:s|id)?\b[^|\d]{0,20}(?P<job>\d{1,12}(?:_\d{1,8})?)?")
_USER = lazy.compile(r"([^()\s]+)\((\d+)\)")
_KEYS = [
    "ArrayJobId",
    "ArrayTaskId",
    "ArrayTaskThrottle",
    "HetJobId",
    "HetJobOffset",
    "HetJobIdSet",
    "SLUID",
    "Sluid",
    "UserId",
    "GroupId",
    "MCS_label",
    "Priority",
    "Nice",
    "Account",
    "QOS",
    "WCKey",
    "JobState",
    "Reason",
    "Dependency",
    "FailedNode",
    "Requeue",
    "Restarts",
    "BatchFlag",
    "Reboot",
    "ExitCode",
    "DerivedExitCode",
    "RunTime",
    "TimeLimit",
    "TimeMin",
    "SubmitTime",
    "EligibleTime",
    "AccrueTime",
    "StartTime",
    "EndTime",
    "Deadline",
    "PreemptEligibleTime",
    "PreemptTime",
    "SuspendTime",
    "SecsPreSuspend",
    "LastSchedEval",
    "Scheduler",
    "Partition",
    "AllocNode:Sid",
    "ReqNodeList",
    "ExcNodeList",
    "NodeList",
    "SchedNodeList",
    "BatchHost",
    "NumNodes",
    "NumCPUs",
    "NumTasks",
    "CPUs/Task",
    "ReqB:S:C:T",
    "TRES",
    "ReqTRES",
    "AllocTRES",
    "Socks/Node",
    "NtasksPerN:B:S:C",
    "CoreSpec",
    "MinCPUsNode",
    "MinMemoryNode",
    "MinMemoryCPU",
    "MinTmpDiskNode",
    "Features",
    "DelayBoot",
    "OverSubscribe",
    "Contiguous",
    "Licenses",
    "LicensesAlloc",
    "Network",
    "Power",
    "TresPerNode",
    "TresPerJob",
    "TresPerTask",
    "TresPerSocket",
    "JOB_GRES",
    "Gres",
    "Nodes",
    "CPU_IDs",
    "Mem",
    "GRES",
    "Cluster",
    "Name",
    "NodeCnt",
    "ProcCnt",
    "ReservationName",
    "Tres",
    "WcKey",
    "ResvName",
    "Reservation",
    "Container",
    "SegmentSize",
]
_TO_LINE_END = [
    "JobName",
    "Command",
    "WorkDir",
    "StdErr",
    "StdIn",
    "StdOut",
    "Comment",
    "AdminComment",
    "SystemComment",
    "SubmitLine",
    "Extra",
    "MailUser",
    "MailType",
]
_LOOKED_AT = 200
"""Lines that tell whether a job's number stands anywhere: the fields of one job are a quarter of that."""
BLOCKS = Blocks("JobId", _KEYS, _TO_LINE_END, repeated=("Nodes", "GRES"))


class ScontrolJob:
    """Reads scontrol's blocks of jobs."""

    name: ClassVar[str] = "scontrol_job"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job", "slurm_job_event")

    def claims(self, path: Path, head: bytes) -> int:
        """Blocks that begin with JobId= and name a JobState; the fields of one block alone, its JobState with a reason among them."""
        text = decode(head)
        if _beheaded(text):
            return 60
        if not _HEAD.search(text) or "JobState=" not in text:
            return 0
        return 94 if _HEAD.match(text) else 60

    def form(self, lines: Sequence[str]) -> Form:
        """Fields with their values."""
        return of_fields

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One job per block with its events."""
        count = 0
        completed: dict[str, int] = {}
        start = [text for _, text in islice(lines(path, ImportContext(ctx.name, ctx.zone)), _LOOKED_AT)]
        beheaded = _beheaded("\n".join(start))
        said = lines(path, ctx)
        if beheaded:
            asked = next((m["job"] for t in start if (m := _ASKED.search(t))), None)
            name = ctx.job_id or asked or "_".join(stem(ctx.name).split())
            said = chain([(1, f"JobId={name}")], ((n, t) for n, t in said if not _ASKED.search(t)))
        for number, block in BLOCKS.cut(said):
            count += 1
            job = _job(block, ctx, f"{ctx.name}:{number}")
            if "NodeCnt" in block and job.job_id is not None:  # jobcomp/filetxt: a line for each time that it ended
                completed[job.job_id] = completed.get(job.job_id, 0) + 1
                job = replace(job, attempt=completed[job.job_id])
            yield job
            yield from job_events(job)
            restart = restart_event(job)
            if restart is not None:
                yield restart
            preempted = sv.time(block.get("PreemptTime"), ctx.zone)
            if preempted is not None and job.state != "PREEMPTED":
                yield SlurmJobEvent(
                    cluster=job.cluster,
                    ts=preempted,
                    origin=job.origin,
                    job_id=job.job_id,
                    attempt=job.attempt,
                    event="preempted",
                    state=job.state,
                    reason=job.state_reason,
                    observed=False,
                )
        if not count:
            raise ImportFailed("no block that begins with JobId=")


def _beheaded(text: str) -> bool:
    """Whether a text is nothing but the fields of a job, without its number, and perhaps the command above them."""
    found = [line for line in text.splitlines() if line.strip()]
    found = found[1:] if found and _ASKED.search(found[0]) else found
    return bool(_STATE.search(text)) and not _HEAD.search(text) and all(map(of_fields, found))


def _job(block: dict[str, str], ctx: ImportContext, origin: str) -> SlurmJob:
    def get(*names: str) -> str | None:
        return next((v for n in names if (v := sv.word(block.get(n))) is not None), None)

    raw = (get("JobId") or "").split(" ")[0]
    array, task, het, offset = get("ArrayJobId"), get("ArrayTaskId"), get("HetJobId"), get("HetJobOffset")
    state, flags, by = sv.state(block.get("JobState"))
    status, signal = sv.exit_code(get("ExitCode"))
    derived, derived_signal = sv.exit_code(get("DerivedExitCode"))
    allocated, requested = sv.tres(get("AllocTRES", "TRES", "Tres")), sv.tres(get("ReqTRES", "TRES", "Tres"))
    restarts = sv.integer(get("Restarts"))
    nodes = sv.integer((get("NumNodes", "NodeCnt") or "").partition("-")[0])
    cpus = sv.integer((get("NumCPUs", "ProcCnt") or "").partition("-")[0])
    submit, start = sv.time(get("SubmitTime"), ctx.zone), sv.time(get("StartTime"), ctx.zone)
    end = sv.time(get("EndTime"), ctx.zone) if state in sv.ENDED else None
    never = get("NodeList") is None and sv.never_began(start, end)
    if state == "PENDING" or get("NodeCnt") == "0" or never:  # jobcomp, too, gives the end as the start of such a job
        start = None
    user = _USER.match(get("UserId") or "")
    gpus = sv.tres_gpus(allocated)
    return SlurmJob(
        cluster=get("Cluster") or ctx.cluster,
        ts=end or start or submit,
        origin=origin,
        job_id=_shown(raw, array, task, het, offset),
        attempt=(restarts or 0) + 1,
        job_id_raw=raw or None,
        array_job_id=array,
        array_task_id=task,
        het_job_id=het,
        sluid=get("SLUID", "Sluid"),
        name=get("JobName", "Name"),
        user=user.group(1) if user else get("UserId"),
        uid=user.group(2) if user else None,
        account=get("Account"),
        partition=get("Partition"),
        qos=get("QOS"),
        state=state,
        state_flags=",".join(flags) or None,
        state_reason=get("Reason"),
        cancelled_by=by,
        exit_code=status if state in sv.ENDED else None,
        exit_signal=signal if state in sv.ENDED else None,
        exit_code_whole=True if state in sv.ENDED and status is not None else None,
        derived_exit_code=derived if state in sv.ENDED else None,
        derived_exit_signal=derived_signal if state in sv.ENDED else None,
        restarts=restarts,
        submit_ts=submit,
        eligible_ts=sv.time(get("EligibleTime"), ctx.zone),
        start_ts=start,
        end_ts=end,
        suspend_ts=sv.time(get("SuspendTime"), ctx.zone),
        elapsed_s=_elapsed(get("RunTime"), start, end) if "StartTime" in block else _told_time(get("RunTime")),
        time_limit_s=_limit(get("TimeLimit")),
        node_list=expanded(get("NodeList")),
        node_count=nodes or None,
        failed_node=get("FailedNode"),
        cpus=cpus or None,
        gpus=gpus if gpus is not None else sv.tres_gpus(requested),
        gpu_indices=_gpu_indices(block.get(EVERY, "")) if start is not None else None,
        memory_bytes=sv.tres_memory(allocated) or sv.tres_memory(requested) or _memory(block, nodes, cpus),
        # Before 22.05 there is one TRES: what is asked for while the job waits, what it has afterwards.
        tres_alloc=get("AllocTRES", "Tres") or (get("TRES") if state != "PENDING" else None),
        tres_req=get("ReqTRES", "TRES", "Tres"),
        priority=sv.integer(get("Priority")),
        dependency=sv.dependency(get("Dependency"), state),
        submit_line=get("SubmitLine"),
        command=get("Command"),
        work_dir=get("WorkDir"),
        stdout_path=get("StdOut"),
        stderr_path=get("StdErr"),
        comment=get("Comment"),
        admin_comment=get("AdminComment"),
        extra=get("Extra"),
    )


def _elapsed(told: str | None, start: datetime | None, end: datetime | None) -> float | None:
    """Seconds; where no RunTime is printed, from the start to the end."""
    if start is None:
        return None
    return sv.duration(told) if told or end is None else (end - start).total_seconds()


def _told_time(told: str | None) -> float | None:
    """Seconds that a block tells of which somebody left out the line with the start: it ran if it is more than none."""
    return sv.duration(told) or None


def _limit(text: str | None) -> float | None:
    """Seconds; a bare number is jobcomp's and counts minutes."""
    return int(text) * 60.0 if text and text.isascii() and text.isdigit() and len(text) < 9 else sv.duration(text)


def _gpu_indices(told: str) -> str | None:
    """What `-d` prints for each group of nodes: `Nodes=n[1-2] ...`, `GRES=gpu:h100:2(IDX:0,3)`."""
    found: list[str] = []
    nodes: list[str] = []
    for line in told.splitlines():
        key, _, value = line.partition("=")
        if key == "Nodes":
            nodes = (expanded(sv.word(value)) or "").split(",")
        else:
            found += [f"{node}/{index}" for node in nodes if node for index in sv.gres_indices(value)]
    return ",".join(found) or None


def _shown(raw: str, array: str | None, task: str | None, het: str | None, offset: str | None) -> str:
    if array and task:
        return f"{array}_{task}" if task.isdigit() else f"{array}_[{task}]"
    return f"{het}+{offset or 0}" if het else raw


def _memory(block: dict[str, str], nodes: int | None, cpus: int | None) -> int | None:
    for key, factor in (("MinMemoryNode", nodes), ("MinMemoryCPU", cpus)):
        value = sv.size(block.get(key), "M")
        if value and factor:
            return value * factor
    return None
