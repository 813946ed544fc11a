"""Hosts, cgroups, inference servers, our own sources, and the verdicts that were given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from store.rows.base import JobRow, Row, col, table


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class HostSample(Row):
    """One sample of a host."""

    TABLE: ClassVar[str] = "host_sample"

    load1: Annotated[float | None, col("one-minute load")] = None
    cpu_busy: Annotated[float | None, col("share of CPU time not idle", "ratio")] = None
    memory_total_bytes: Annotated[int | None, col("memory", "B")] = None
    memory_available_bytes: Annotated[int | None, col("memory available", "B")] = None
    swap_used_bytes: Annotated[int | None, col("swap in use", "B")] = None
    psi_cpu_some: Annotated[float | None, col("PSI cpu some, ten seconds", "%")] = None
    psi_memory_full: Annotated[float | None, col("PSI memory full, ten seconds", "%")] = None
    psi_io_full: Annotated[float | None, col("PSI io full, ten seconds", "%")] = None
    oom_kills: Annotated[int | None, col("kernel OOM kills, running count")] = None
    filesystem: Annotated[str | None, col("mount point of the two fields that follow")] = None
    disk_total_bytes: Annotated[int | None, col("size of that file system", "B")] = None
    disk_free_bytes: Annotated[int | None, col("free for users", "B")] = None
    disk_read_bytes: Annotated[int | None, col("read from disks, running count", "B")] = None
    disk_written_bytes: Annotated[int | None, col("written to disks, running count", "B")] = None
    net_rx_bytes: Annotated[int | None, col("received on all interfaces, running count", "B")] = None
    net_tx_bytes: Annotated[int | None, col("sent on all interfaces, running count", "B")] = None
    boot_ts: Annotated[datetime | None, col("boot (UTC)")] = None
    clock_offset_s: Annotated[float | None, col("clock's offset from its reference", "s")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class HostEvent(JobRow):
    """A discrete event of a host from its kernel log: OOM kill, hung task, machine check, storage stall, segfault, panic."""

    TABLE: ClassVar[str] = "host_event"

    event: Annotated[
        str | None,
        col(
            "oom_kill, oom_task, segfault, trap, hung_task, mce, storage, filesystem, panic, boot, link, thermal, clock_step"
        ),
    ] = None
    pid: Annotated[int | None, col("process that is named")] = None
    process_name: Annotated[str | None, col("its name")] = None
    cgroup: Annotated[str | None, col("cgroup that is named")] = None
    constraint: Annotated[str | None, col("oom_kill: CONSTRAINT_MEMCG, CONSTRAINT_NONE, ...")] = None
    rss_bytes: Annotated[int | None, col("oom_kill: victim's resident memory", "B")] = None
    message: Annotated[str | None, col("text as printed")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupSample(JobRow):
    """A job's (or step's, or task's) cgroup at a moment."""

    TABLE: ClassVar[str] = "cgroup_sample"

    step_id: Annotated[str | None, col("Slurm step")] = None
    cgroup: Annotated[str | None, col("path")] = None
    memory_current_bytes: Annotated[int | None, col("memory.current", "B")] = None
    memory_max_bytes: Annotated[int | None, col("memory.max; NULL when unlimited", "B")] = None
    memory_peak_bytes: Annotated[int | None, col("memory.peak", "B")] = None
    oom_kills: Annotated[int | None, col("memory.events oom_kill, running count")] = None
    oom_group_kills: Annotated[int | None, col("memory.events oom_group_kill, running count")] = None
    shmem_bytes: Annotated[int | None, col("shared memory, /dev/shm included", "B")] = None
    psi_memory_full: Annotated[float | None, col("PSI memory full, ten seconds", "%")] = None
    psi_io_full: Annotated[float | None, col("PSI io full, ten seconds", "%")] = None
    cpu_usage_s: Annotated[float | None, col("CPU time, running count", "s")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceSample(JobRow):
    """An inference server at a moment."""

    TABLE: ClassVar[str] = "inference_sample"

    engine: Annotated[str | None, col("vllm, tgi, triton, ...")] = None
    model: Annotated[str | None, col("model's name")] = None
    ttft_p50_s: Annotated[float | None, col("time to first token, median", "s")] = None
    ttft_p99_s: Annotated[float | None, col("time to first token, 99th percentile", "s")] = None
    inter_token_p50_s: Annotated[float | None, col("time between tokens, median", "s")] = None
    inter_token_p99_s: Annotated[float | None, col("time between tokens, 99th percentile", "s")] = None
    tokens_per_s: Annotated[float | None, col("generated tokens per second", "1/s")] = None
    requests_running: Annotated[int | None, col("requests running")] = None
    requests_waiting: Annotated[int | None, col("requests waiting")] = None
    kv_cache_used: Annotated[float | None, col("KV cache in use", "ratio")] = None
    kv_cache_hit: Annotated[float | None, col("prefix cache hits", "ratio")] = None
    preemptions: Annotated[int | None, col("requests evicted, running count")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHealth(JobRow):
    """Was this source looking, on this node (or at this job), from `ts` to `end_ts`? Absence of a row proves nothing unless it was.

    An importer writes one for each file that it read: `source` is then the importer's name, `origin` the file.
    """

    TABLE: ClassVar[str] = "source_health"

    source: Annotated[str | None, col("source or importer")] = None
    covers: Annotated[str | None, col("table that it would have filled")] = None
    end_ts: Annotated[datetime | None, col("end of the window (UTC)")] = None
    ok: Annotated[bool | None, col("it worked")] = None
    rows: Annotated[int | None, col("rows that it gave")] = None
    missing_fields: Annotated[str | None, col("columns that it cannot fill here, comma-separated")] = None
    message: Annotated[str | None, col("why not, or what was left out")] = None
    duration_s: Annotated[float | None, col("how long it took", "s")] = None
    bytes_read: Annotated[int | None, col("bytes that it read", "B")] = None
    bytes_total: Annotated[int | None, col("bytes that there were", "B")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSample(Row):
    """What a node's collector cost and did; counts run from its start."""

    TABLE: ClassVar[str] = "collector_sample"

    cpu_s: Annotated[float | None, col("CPU time, running count", "s")] = None
    seal_cpu_s: Annotated[float | None, col("CPU time of the children that seal, running count", "s")] = None
    rss_bytes: Annotated[int | None, col("resident memory", "B")] = None
    threads: Annotated[int | None, col("threads")] = None
    rows: Annotated[int | None, col("rows that the sources gave, running count")] = None
    rows_per_s: Annotated[float | None, col("rows per second since the last sample", "1/s")] = None
    rows_dropped: Annotated[int | None, col("rows given up for want of memory or disk, running count")] = None
    late_rounds: Annotated[int | None, col("times a source hung, running count")] = None
    spool_bytes: Annotated[int | None, col("spooled and not yet in the lake", "B")] = None


@table
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(JobRow):
    """A verdict that was given, as it was sealed."""

    TABLE: ClassVar[str] = "verdict"

    family: Annotated[str | None, col("code: A1, B1, ...")] = None
    mode: Annotated[str | None, col("sub-mode")] = None
    confidence: Annotated[float | None, col("calibrated probability that the family is right", "ratio")] = None
    attribution: Annotated[str | None, col("job, infrastructure, scheduler, user, none, undetermined")] = None
    headline: Annotated[str | None, col("one sentence")] = None
    gpu_hours_held: Annotated[float | None, col("GPU time held", "h")] = None
    gpu_hours_wasted: Annotated[float | None, col("GPU time wasted", "h")] = None
    model: Annotated[str | None, col("who reasoned")] = None
    document: Annotated[str | None, col("the sealed bundle as JSON")] = None
    sha256: Annotated[str | None, col("digest of the document")] = None
