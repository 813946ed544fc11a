"""What a job printed: lines, events that parsers recognised, and training progress.

A parser records what was printed. What it means (wrapper or cause, fault class, family) is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from store.rows.base import JobRow, RankRow, col, table

EVENT_KINDS: dict[str, str] = {
    "exception": "a Python exception that ended a traceback (or stood alone in the shape of one)",
    "cuda_oom": "CUDA out of memory, with the sizes as numbers",
    "host_oom": "host or cgroup out of memory: oom_kill, 'Out of memory: Killed process', a worker killed for memory",
    "launcher_summary": "a failed child in a launcher's summary (torchrun, accelerate, deepspeed, mpirun)",
    "launcher_event": "a launcher's word about a child while it runs: failed, closing signal sent, restart",
    "signal": "a process ended or was told to end by a signal",
    "slurm": "the batch system speaks (slurmstepd, srun, sbatch; LSF, PBS, Grid Engine, HTCondor, pods): cancelled, time limit, task exit, launch or node failure",
    "nccl_watchdog": "a collective timed out or the watchdog or heartbeat monitor spoke",
    "nccl_error": "NCCL, Gloo or the process group reports an error",
    "nccl_info": "NCCL or the process group describes itself: init, transport, topology, version",
    "rendezvous": "process group, TCPStore, c10d or rendezvous: waiting, retry, time-out, refused, address in use",
    "checkpoint": "a checkpoint is saved, loaded, resumed from, missing or broken",
    "train_plan": "what the run set out to do: steps, epochs, examples, batch size, parameters",
    "train_begin": "training started",
    "train_end": "training finished and says so",
    "banner": "a framework, launcher or job script introduces itself or a phase (init, load, compile, data)",
    "non_finite": "NaN or infinity named in words; an overflow or a skipped step",
    "echo": "the batch system's words that are not about the job of the log: they name another job, or an end that accounting contradicts",
    "xid": "text that looks like an XID in a job's own output: hearsay, never proof",
    "storage": "no space left, quota exceeded, read-only or stale file system, I/O error",
    "network": "hub, download, DNS or connection trouble outside the process group",
    "interrupt": "KeyboardInterrupt or a handler that says which signal it caught",
    "throttle": "a program says that clocks are lowered or power is capped",
    "warning": "a warning worth keeping",
}

CHECKPOINT_NAMES = ("saving", "saved", "took", "loading", "loaded", "resumed", "none_found", "from_scratch", "failed")


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class LogRun(JobRow):
    """One of several runs whose output stands in one file, one after the other: requeued, started anew by a script or by hand.

    A file of one run has no row here. A log's rows are shown under the attempt of the run in whose lines they stand.
    """

    TABLE: ClassVar[str] = "log_run"

    file: Annotated[str | None, col("path relative to what was imported")] = None
    run: Annotated[int | None, col("number of the run in its file, from 1")] = None
    first_line: Annotated[int | None, col("its first line")] = None
    last_line: Annotated[int | None, col("its last line")] = None
    sign: Annotated[
        str | None,
        col(
            "what shows that it begins: head (the file's first lines again), start (a program's word), steps (they go back)"
        ),
    ] = None
    certain: Annotated[bool | None, col("false where it may be a later part of the run before it")] = None
    ended_by: Annotated[str | None, col("what is told of its end: an exception's type, or an event's name")] = None
    ended_line: Annotated[int | None, col("line of that")] = None
    ended_how: Annotated[
        str | None,
        col("who tells of the end: job (Slurm of the job), launcher, program (it failed), finished (it had done)"),
    ] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(RankRow):
    """One printed line, cleaned of ANSI codes and control characters; a carriage-return bar is kept in its last state."""

    TABLE: ClassVar[str] = "log_line"
    OF_RUN: ClassVar[bool] = True

    file: Annotated[str | None, col("path relative to what was imported")] = None
    stream: Annotated[str | None, col("out, err, or NULL where both are in one file")] = None
    line_no: Annotated[int | None, col("line in the file, from 1")] = None
    ts_kind: Annotated[
        str | None,
        col(
            "embedded: printed in the line; carried: from an earlier line; file: the file's own bounds; written: when the kernel was given it"
        ),
    ] = None
    text: Annotated[str | None, col("the line")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedLine(LogLine):
    """A line that a process of a job wrote to its standard output or error, as the kernel was given it: not yet read as a log."""

    TABLE: ClassVar[str] = "captured_line"
    OF_RUN: ClassVar[bool] = False


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent(RankRow):
    """Something that a parser recognised."""

    TABLE: ClassVar[str] = "log_event"
    OF_RUN: ClassVar[bool] = True

    file: Annotated[str | None, col("path relative to what was imported")] = None
    stream: Annotated[str | None, col("out, err or NULL")] = None
    line_no: Annotated[int | None, col("first line, from 1")] = None
    line_end: Annotated[int | None, col("last line")] = None
    ts_kind: Annotated[str | None, col("embedded, carried or file")] = None
    kind: Annotated[str | None, col("one of EVENT_KINDS")] = None
    name: Annotated[str | None, col("exception's type as printed; or the event's own short name (see the parser)")] = (
        None
    )
    message: Annotated[str | None, col("text, at most 2,000 characters")] = None
    severity: Annotated[str | None, col("fatal, error, warning, info")] = None
    parser: Annotated[str | None, col("who recognised it")] = None
    framework: Annotated[str | None, col("framework or component that spoke")] = None
    frame: Annotated[str | None, col("innermost frame: file:line in function")] = None
    user_frame: Annotated[str | None, col("innermost frame outside installed packages")] = None
    entry_frame: Annotated[str | None, col("outermost frame")] = None
    cause_name: Annotated[str | None, col("root of a chain of exceptions: its type")] = None
    cause_message: Annotated[str | None, col("root of a chain of exceptions: its text")] = None
    pid: Annotated[int | None, col("process that is named")] = None
    host: Annotated[str | None, col("host that is named")] = None
    peer: Annotated[str | None, col("other end: address, rank or file that is named")] = None
    exit_code: Annotated[int | None, col("exit status that is named")] = None
    signal: Annotated[int | None, col("signal that is named")] = None
    gpu: Annotated[int | None, col("GPU that is named, as the process numbers it")] = None
    requested_bytes: Annotated[int | None, col("cuda_oom: size of the request", "B")] = None
    total_bytes: Annotated[int | None, col("cuda_oom: what the card has", "B")] = None
    free_bytes: Annotated[int | None, col("cuda_oom: what was free", "B")] = None
    allocated_bytes: Annotated[int | None, col("cuda_oom: what the process had allocated", "B")] = None
    reserved_bytes: Annotated[int | None, col("cuda_oom: what the process had reserved", "B")] = None
    collective: Annotated[str | None, col("collective that is named")] = None
    seq: Annotated[int | None, col("its sequence number")] = None
    last_enqueued_seq: Annotated[int | None, col("last enqueued, as the watchdog prints it")] = None
    last_completed_seq: Annotated[int | None, col("last completed, as the watchdog prints it")] = None
    elapsed_ms: Annotated[float | None, col("how long it ran", "ms")] = None
    timeout_ms: Annotated[float | None, col("limit that was hit", "ms")] = None
    world_size: Annotated[int | None, col("world size that is named")] = None
    joined: Annotated[int | None, col("rendezvous: how many had joined")] = None
    xid: Annotated[int | None, col("XID that is named")] = None
    step: Annotated[int | None, col("training step that is named")] = None
    total_steps: Annotated[int | None, col("planned steps")] = None
    total_epochs: Annotated[float | None, col("planned epochs")] = None
    happened_ts: Annotated[
        datetime | None, col("time inside the message itself, when it differs from the line's (UTC)")
    ] = None
    detail: Annotated[str | None, col("further fields as a JSON object")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainStep(RankRow):
    """One completed step (or logging window) that the job reported. Start lines and configuration echoes are not progress."""

    TABLE: ClassVar[str] = "train_step"
    OF_RUN: ClassVar[bool] = True

    file: Annotated[str | None, col("path relative to what was imported")] = None
    stream: Annotated[str | None, col("out, err or NULL")] = None
    line_no: Annotated[int | None, col("line in the file, from 1")] = None
    in_line: Annotated[
        int | None,
        col("carriage returns before it in its line, by which reports of one line follow another; NULL for 0"),
    ] = None
    ts_kind: Annotated[str | None, col("embedded, carried or file")] = None
    framework: Annotated[
        str | None, col("hf-trainer, trl, llama-factory, axolotl, unsloth, megatron, nemo, deepspeed, lightning, keras")
    ] = None
    split: Annotated[str | None, col("train or eval")] = None
    step: Annotated[int | None, col("optimizer step; NULL where only the epoch is printed")] = None
    total_steps: Annotated[int | None, col("planned steps")] = None
    epoch: Annotated[float | None, col("epoch, with fraction")] = None
    total_epochs: Annotated[float | None, col("planned epochs")] = None
    loss: Annotated[float | None, col("loss as printed; NaN and infinity stay what they are")] = None
    loss_name: Annotated[str | None, col("name under which it was printed")] = None
    grad_norm: Annotated[float | None, col("gradient norm")] = None
    learning_rate: Annotated[float | None, col("learning rate")] = None
    step_time_s: Annotated[float | None, col("time per step", "s")] = None
    samples_per_s: Annotated[float | None, col("samples per second", "1/s")] = None
    tokens_per_s: Annotated[float | None, col("tokens per second", "1/s")] = None
    skipped: Annotated[bool | None, col("the step was skipped (loss scaling)")] = None
    objective: Annotated[str | None, col("sft, pretrain, dpo, grpo, ppo, reward, ... when it shows")] = None
    metrics: Annotated[str | None, col("further numbers as a JSON object")] = None
