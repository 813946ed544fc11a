"""The CUDA and NCCL runtime as seen from outside the process, and flight-recorder dumps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from store.rows.base import RankRow, col, table


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class CudaSample(RankRow):
    """What one process asked of CUDA within an interval that ends at `ts`."""

    TABLE: ClassVar[str] = "cuda_sample"

    pid: Annotated[int | None, col("process id on its node")] = None
    gpu_uuid: Annotated[str | None, col("GPU, when known")] = None
    interval_s: Annotated[float | None, col("length of the interval", "s")] = None
    attached: Annotated[bool | None, col("the process has a CUDA context")] = None
    launches: Annotated[int | None, col("kernels launched in the interval")] = None
    graph_launches: Annotated[int | None, col("CUDA graphs launched in the interval")] = None
    api_time_s: Annotated[float | None, col("time inside API calls", "s")] = None
    sync_time_s: Annotated[float | None, col("time inside synchronising calls", "s")] = None
    max_launch_gap_s: Annotated[float | None, col("longest time between two launches", "s")] = None
    h2d_bytes: Annotated[int | None, col("copied to the device", "B")] = None
    d2h_bytes: Annotated[int | None, col("copied to the host", "B")] = None
    d2d_bytes: Annotated[int | None, col("copied on the device", "B")] = None
    cpu_wait_s: Annotated[
        float | None, col("scheduling delay: its main thread was ready and waited for a CPU in the interval", "s")
    ] = None
    estimated: Annotated[
        str | None,
        col("launches, calls (graphs, copies, times) or both: counted in windows, not one by one; NULL: exact"),
    ] = None
    launches_error: Annotated[float | None, col("standard error of estimated launches", "ratio")] = None
    calls_error: Annotated[float | None, col("standard error of what other calls add up to", "ratio")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class IoWait(RankRow):
    """Calls of a process on one file, or requests of one block device, that took longer than a tenth of a second, up to `ts`.

    Without a job they are the node's: what the kernel wrote back, for whom is not known.
    """

    TABLE: ClassVar[str] = "io_wait"

    pid: Annotated[int | None, col("process id on its node")] = None
    call: Annotated[str | None, col("read, write, sync, open, stat; block: requests of a device")] = None
    file: Annotated[str | None, col("the file as the process sees it; of a device its major:minor")] = None
    mount: Annotated[str | None, col("mount point of its file system")] = None
    fs_type: Annotated[str | None, col("nfs4, lustre, fuse, ext4, ...; NULL of a device")] = None
    count: Annotated[int | None, col("slow calls or requests")] = None
    total_s: Annotated[float | None, col("time in them", "s")] = None
    max_s: Annotated[float | None, col("the longest", "s")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class NcclSample(RankRow):
    """A rank's collectives in one communicator: over an interval that ends at `ts`, or from one flight-recorder entry."""

    TABLE: ClassVar[str] = "nccl_sample"

    pid: Annotated[int | None, col("process id on its node")] = None
    comm: Annotated[str | None, col("communicator or process group")] = None
    comm_size: Annotated[int | None, col("ranks in it")] = None
    comm_rank: Annotated[int | None, col("this rank's number in it")] = None
    interval_s: Annotated[float | None, col("length of the interval", "s")] = None
    collective: Annotated[
        str | None, col("all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send, recv, ...")
    ] = None
    seq: Annotated[int | None, col("sequence number of the (last) collective")] = None
    enqueued: Annotated[int | None, col("collectives enqueued in the interval")] = None
    completed: Annotated[int | None, col("collectives completed in the interval")] = None
    in_flight: Annotated[int | None, col("enqueued and not completed at the end")] = None
    bytes: Annotated[int | None, col("message size", "B")] = None
    duration_ms: Annotated[float | None, col("time in flight", "ms")] = None
    state: Annotated[str | None, col("flight recorder: scheduled, started, completed")] = None
    last_enqueued_seq: Annotated[int | None, col("flight recorder: last enqueued of the process group")] = None
    last_completed_seq: Annotated[int | None, col("flight recorder: last completed of the process group")] = None
    sizes: Annotated[str | None, col("flight recorder: input and output sizes")] = None
    frames: Annotated[str | None, col("flight recorder: innermost Python frames, one a line")] = None
    started_ts: Annotated[datetime | None, col("flight recorder: started (UTC)")] = None
    completed_ts: Annotated[datetime | None, col("flight recorder: completed (UTC)")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class Process(RankRow):
    """A process of a job and the chain container, pod, job, step, rank, GPU that it stands in. `ts` is its start."""

    TABLE: ClassVar[str] = "process"
    KEY: ClassVar[tuple[str, ...]] = ("node", "pid", "ts")

    pid: Annotated[int | None, col("process id on its node")] = None
    ppid: Annotated[int | None, col("its parent")] = None
    comm: Annotated[str | None, col("command name as the kernel has it")] = None
    command: Annotated[str | None, col("command line, secrets redacted")] = None
    world_size: Annotated[int | None, col("ranks in the job")] = None
    end_ts: Annotated[datetime | None, col("ended (UTC)")] = None
    exit_code: Annotated[int | None, col("exit status")] = None
    exit_signal: Annotated[int | None, col("signal that ended it, 0 for none")] = None
    signal_sender: Annotated[
        str | None, col("who sent it: kernel-oom, kernel, slurmstepd, itself, or PID:COMMAND user:NAME")
    ] = None
    oom_killed: Annotated[bool | None, col("chosen by the kernel's OOM killer")] = None
    cgroup: Annotated[str | None, col("cgroup path")] = None
    container: Annotated[str | None, col("container: its id, image or name in the pod")] = None
    pod: Annotated[str | None, col("pod's UID")] = None
    gpu_uuids: Annotated[str | None, col("visible GPUs, comma-separated")] = None
    host_stack: Annotated[str | None, col("stack that was taken when it was stuck, innermost first")] = None
