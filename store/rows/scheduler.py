"""What Slurm says: jobs, steps, events, node states, node and controller samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, ClassVar

from store.rows.base import JobRow, Row, col, table

_WHOLE: Mapping[str, str] = MappingProxyType(
    {"exit_code": 'max("exit_code")', "exit_code_whole": 'bool_or("exit_code_whole")'}
)
"""Of two words on one exit status the higher one is whole: sacct's text and pyslurm take 128 off a status from 128 on."""
_WHOLE_DOC = "false where only sources told the exit status that take 128 off it: 9 may then be 137; NULL where unknown"


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob(JobRow):
    """One row per attempt of a job (a requeue starts a new attempt). `ts` is the end, else the start, else the submit."""

    TABLE: ClassVar[str] = "slurm_job"
    KEY: ClassVar[tuple[str, ...]] = ("job_id", "attempt")
    BELONGS: ClassVar[Mapping[str, str]] = MappingProxyType({"state_reason": "state", "state_flags": "state"})
    # A job that ends in the second in which it starts was seen running at the time of its end.
    SETTLED: ClassVar[str] = "coalesce(upper(state) NOT IN ('PENDING', 'CONFIGURING', 'RUNNING', 'SUSPENDED'), false)"
    # Two clusters of a federation, or a cluster before and after it was renamed, have a record of one submission; the job ran
    # where it started. Two clusters that merely use the same ids submitted theirs at different times. A sibling that lost the race
    # may have got its record a second later.
    MERGED: ClassVar[Mapping[str, str]] = _WHOLE
    CHOSEN: ClassVar[str] = (
        "job_id IS NULL OR submit_ts IS NULL OR (row_number() OVER (PARTITION BY job_id, attempt, submit_ts ORDER BY"
        " upper(state) = 'REVOKED' NULLS FIRST, end_ts IS NULL, start_ts IS NULL, ts DESC NULLS LAST, origin DESC) = 1"
        " AND (coalesce(upper(state), '') <> 'REVOKED' OR NOT coalesce(bool_or(upper(state) <> 'REVOKED') OVER (PARTITION BY job_id, attempt"
        " ORDER BY submit_ts RANGE BETWEEN INTERVAL 1 MINUTE PRECEDING AND INTERVAL 1 MINUTE FOLLOWING), false)))"
    )

    job_id_raw: Annotated[str | None, col("the unique numeric id (an array task's own)")] = None
    array_job_id: Annotated[str | None, col("id of the array")] = None
    array_task_id: Annotated[str | None, col("index within the array")] = None
    het_job_id: Annotated[str | None, col("id of the heterogeneous job's first component")] = None
    sluid: Annotated[str | None, col("Slurm's globally unique job id (26.05 and newer)")] = None
    name: Annotated[str | None, col("job's name")] = None
    user: Annotated[str | None, col("Unix user")] = None
    account: Annotated[str | None, col("charged account")] = None
    partition: Annotated[str | None, col("partition")] = None
    qos: Annotated[str | None, col("quality of service")] = None
    state: Annotated[
        str | None,
        col(
            "base state: COMPLETED, FAILED, CANCELLED, TIMEOUT, NODE_FAIL, PREEMPTED, "
            "OUT_OF_MEMORY, BOOT_FAIL, DEADLINE, REQUEUED, RUNNING, PENDING, SUSPENDED, ..."
        ),
    ] = None
    state_flags: Annotated[str | None, col("further state words, comma-separated (REQUEUED, SPECIAL_EXIT, ...)")] = None
    state_reason: Annotated[str | None, col("Slurm's reason word (Resources, Dependency, TimeLimit, ...)")] = None
    cancelled_by: Annotated[str | None, col("uid or user of 'CANCELLED by'")] = None
    exit_code: Annotated[int | None, col("exit status of the batch script")] = None
    exit_signal: Annotated[int | None, col("signal that ended the batch script, 0 for none")] = None
    derived_exit_code: Annotated[int | None, col("highest exit status of any step")] = None
    derived_exit_signal: Annotated[int | None, col("signal of the derived exit code")] = None
    restarts: Annotated[int | None, col("times requeued")] = None
    submit_ts: Annotated[datetime | None, col("submitted (UTC)")] = None
    eligible_ts: Annotated[datetime | None, col("eligible to run (UTC)")] = None
    start_ts: Annotated[datetime | None, col("started (UTC)")] = None
    end_ts: Annotated[datetime | None, col("ended (UTC)")] = None
    suspend_ts: Annotated[datetime | None, col("last suspended or resumed (UTC)")] = None
    suspended_s: Annotated[float | None, col("time suspended", "s")] = None
    elapsed_s: Annotated[float | None, col("time running", "s")] = None
    time_limit_s: Annotated[float | None, col("wall-clock limit; NULL when unlimited or unknown", "s")] = None
    node_list: Annotated[str | None, col("allocated nodes, expanded, comma-separated")] = None
    node_count: Annotated[int | None, col("allocated nodes")] = None
    failed_node: Annotated[str | None, col("node that Slurm names as failed")] = None
    cpus: Annotated[int | None, col("allocated CPUs")] = None
    gpus: Annotated[int | None, col("allocated GPUs (requested ones before the start)")] = None
    memory_bytes: Annotated[int | None, col("requested or allocated memory of the whole job", "B")] = None
    tres_alloc: Annotated[str | None, col("allocated TRES as Slurm prints it")] = None
    tres_req: Annotated[str | None, col("requested TRES as Slurm prints it")] = None
    priority: Annotated[int | None, col("priority")] = None
    dependency: Annotated[str | None, col("dependency expression")] = None
    submit_line: Annotated[str | None, col("command that submitted the job")] = None
    command: Annotated[str | None, col("batch script or command")] = None
    work_dir: Annotated[str | None, col("working directory")] = None
    stdout_path: Annotated[str | None, col("standard output's path")] = None
    stderr_path: Annotated[str | None, col("standard error's path")] = None
    comment: Annotated[str | None, col("job's comment")] = None
    admin_comment: Annotated[str | None, col("administrator's comment")] = None
    extra: Annotated[str | None, col("Slurm's free 'extra' field")] = None
    uid: Annotated[str | None, col("the user's numeric id, where Slurm tells it")] = None
    gpu_indices: Annotated[
        str | None,
        col("allocated GPUs as node/index, comma-separated, where scontrol -d or the controller's JSON tells them"),
    ] = None
    exit_code_whole: Annotated[bool | None, col(_WHOLE_DOC)] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmStep(JobRow):
    """One row per step of an attempt. `ts` is the end, else the start."""

    TABLE: ClassVar[str] = "slurm_step"
    KEY: ClassVar[tuple[str, ...]] = ("job_id", "attempt", "step_id")
    MERGED: ClassVar[Mapping[str, str]] = _WHOLE

    step_id: Annotated[str | None, col("0, 1, batch, extern, interactive")] = None
    name: Annotated[str | None, col("step's name")] = None
    state: Annotated[str | None, col("base state")] = None
    cancelled_by: Annotated[str | None, col("uid or user of 'CANCELLED by'")] = None
    exit_code: Annotated[int | None, col("exit status")] = None
    exit_signal: Annotated[int | None, col("signal, 0 for none")] = None
    start_ts: Annotated[datetime | None, col("started (UTC)")] = None
    end_ts: Annotated[datetime | None, col("ended (UTC)")] = None
    elapsed_s: Annotated[float | None, col("time running", "s")] = None
    node_list: Annotated[str | None, col("nodes, expanded, comma-separated")] = None
    tasks: Annotated[int | None, col("tasks")] = None
    max_rss_bytes: Annotated[int | None, col("largest resident set of any task, as sampled", "B")] = None
    max_rss_node: Annotated[str | None, col("node of that task")] = None
    max_rss_task: Annotated[int | None, col("index of that task")] = None
    submit_line: Annotated[str | None, col("command that started the step")] = None
    exit_code_whole: Annotated[bool | None, col(_WHOLE_DOC)] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJobEvent(JobRow):
    """One thing that happened to a job in the scheduler's eyes."""

    TABLE: ClassVar[str] = "slurm_job_event"
    KEY: ClassVar[tuple[str, ...]] = ("job_id", "attempt", "event", "ts")

    event: Annotated[
        str | None,
        col(
            "submitted, eligible, blocked, started, suspended, resumed, requeued, preempted, "
            "updated, signalled, node_fail, ended"
        ),
    ] = None
    state: Annotated[str | None, col("state after the event")] = None
    reason: Annotated[str | None, col("Slurm's reason word or text")] = None
    actor: Annotated[str | None, col("uid or user who did it, when known")] = None
    observed: Annotated[
        bool | None, col("true: a live look saw the job in this state; false: told by a record afterwards")
    ] = None
    message: Annotated[str | None, col("text as printed")] = None
    time_basis: Annotated[
        str | None,
        col("recorded: Slurm wrote the time down; polled: a look saw it at `ts`, it happened since `earliest_ts`"),
    ] = None
    earliest_ts: Annotated[datetime | None, col("the look before, which had not seen it yet (UTC)")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNodeState(Row):
    """An interval in which a node was in a state. `ts` is its start."""

    TABLE: ClassVar[str] = "slurm_node_state"
    KEY: ClassVar[tuple[str, ...]] = ("node", "ts", "state")

    state: Annotated[
        str | None, col("base state: IDLE, ALLOCATED, MIXED, DOWN, DRAINED, DRAINING, FAIL, UNKNOWN, ...")
    ] = None
    state_flags: Annotated[str | None, col("flags, comma-separated: DRAIN, NOT_RESPONDING, REBOOT, MAINT, ...")] = None
    end_ts: Annotated[datetime | None, col("end; NULL while it lasts (UTC)")] = None
    reason: Annotated[str | None, col("reason as an operator or Slurm wrote it")] = None
    reason_user: Annotated[str | None, col("who set the reason")] = None
    observed: Annotated[bool | None, col("true: a snapshot; false: from accounting")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNodeSample(Row):
    """A node's load and allocation at a moment."""

    TABLE: ClassVar[str] = "slurm_node_sample"

    cpu_load: Annotated[float | None, col("one-minute load as Slurm shows it")] = None
    cpus: Annotated[int | None, col("CPUs")] = None
    cpus_alloc: Annotated[int | None, col("allocated CPUs")] = None
    memory_bytes: Annotated[int | None, col("memory", "B")] = None
    memory_alloc_bytes: Annotated[int | None, col("allocated memory", "B")] = None
    memory_free_bytes: Annotated[int | None, col("free memory as the node reported it", "B")] = None
    gpus: Annotated[int | None, col("GPUs")] = None
    gpus_alloc: Annotated[int | None, col("allocated GPUs")] = None
    boot_ts: Annotated[datetime | None, col("node's boot (UTC)")] = None
    slurmd_start_ts: Annotated[datetime | None, col("slurmd's start (UTC)")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmControllerSample(Row):
    """The controller's own health, from sdiag."""

    TABLE: ClassVar[str] = "slurm_controller_sample"

    server_threads: Annotated[int | None, col("server threads in use")] = None
    agent_queue: Annotated[int | None, col("outgoing RPCs waiting")] = None
    dbd_agent_queue: Annotated[int | None, col("records waiting for slurmdbd")] = None
    jobs_submitted: Annotated[int | None, col("since the counters were reset")] = None
    jobs_started: Annotated[int | None, col("since the counters were reset")] = None
    jobs_completed: Annotated[int | None, col("since the counters were reset")] = None
    jobs_canceled: Annotated[int | None, col("since the counters were reset")] = None
    jobs_failed: Annotated[int | None, col("since the counters were reset")] = None
    jobs_pending: Annotated[int | None, col("now")] = None
    jobs_running: Annotated[int | None, col("now")] = None
    main_cycle_last_us: Annotated[int | None, col("last main scheduling cycle", "us")] = None
    main_cycle_mean_us: Annotated[int | None, col("mean main scheduling cycle", "us")] = None
    backfill_cycle_last_us: Annotated[int | None, col("last backfill cycle", "us")] = None
    backfill_depth_mean: Annotated[float | None, col("jobs tried per backfill cycle")] = None
    rpc_count: Annotated[int | None, col("RPCs answered since the counters were reset")] = None
    rpc_time_us: Annotated[int | None, col("time spent on them", "us")] = None
    stats_since_ts: Annotated[datetime | None, col("counters reset (UTC)")] = None
