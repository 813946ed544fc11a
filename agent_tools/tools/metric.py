"""One measure over time, of GPUs, hosts or ranks."""

from __future__ import annotations

from typing import Any

from pydantic_ai import ModelRetry, RunContext

from agent_tools.tools.base import Deps, ask
from store.cells import microseconds

GPU = (
    "fb_used_bytes",
    "engine_active",
    "sm_active",
    "tensor_active",
    "dram_active",
    "temp_c",
    "memory_temp_c",
    "power_w",
    "sm_clock_mhz",
    "throttle_reasons",
    "ecc_sbe_total",
    "ecc_dbe_total",
    "nvlink_errors",
    "pcie_replays",
    "pcie_tx_bytes_s",
    "pcie_rx_bytes_s",
)
HOST = (
    "load1",
    "cpu_busy",
    "memory_available_bytes",
    "swap_used_bytes",
    "psi_cpu_some",
    "psi_memory_full",
    "psi_io_full",
    "oom_kills",
    "disk_free_bytes",
    "disk_read_bytes",
    "disk_written_bytes",
    "net_rx_bytes",
    "net_tx_bytes",
    "clock_offset_s",
)
RANK = (
    "launches",
    "api_time_s",
    "sync_time_s",
    "max_launch_gap_s",
    "h2d_bytes",
    "d2h_bytes",
    "collectives_enqueued",
    "collectives_completed",
    "collectives_in_flight",
    "collective_ms",
    "loss",
    "grad_norm",
    "learning_rate",
    "step_time_s",
    "samples_per_s",
    "tokens_per_s",
)
BUCKETS = 16
"""Buckets that a window is cut into unless a width is given."""


async def metric(
    ctx: RunContext[Deps],
    name: str,
    node: str | None = None,
    gpu: int | None = None,
    rank: int | None = None,
    since: str | None = None,
    until: str | None = None,
    bucket_s: int | None = None,
    together: bool | None = None,
    detail: bool = False,
) -> str:
    """One measure over time of the job's GPUs, hosts or ranks, or of a node. Medium. An unknown name lists all. Empty: not
    sampled.

    Args:
        ctx: The run.
        name: sm_active, temp_c, psi_io_full, loss, ...
        node: Only it.
        gpu: Its index.
        rank: Only it.
        since: UTC; default the start.
        until: Default the end.
        bucket_s: Default: sixteen in the window.
        together: One series, or one for each GPU or rank.
        detail: Of GPUs, the samples around an alarm, a second or less apart, where the column `detail` counts any.
    """
    deps = ctx.deps
    scope: dict[str, Any] = _scope(deps, node, since)
    scope.update({k: v for k, v in (("nodes", node), ("from_ts", since), ("to_ts", until)) if v is not None})
    bucket = bucket_s if bucket_s is not None else _width(scope["from_ts"], scope["to_ts"])
    if bucket < 1:
        raise ModelRetry("bucket_s is a whole number of seconds, one or more")
    # Side by side they would fill the answer with the run's first minutes.
    apart = together is False or (together is None and (gpu is not None or rank is not None))
    if name in GPU:
        job = None if node is not None else deps.job()
        return ask(
            deps,
            "gpu_metric",
            "metric",
            metric=name,
            job_id=job,
            gpu=gpu,
            bucket_s=bucket,
            by_gpu=apart,
            detail=detail,
            **scope,
        )
    if name in HOST:
        return ask(deps, "host_metric", "metric", metric=name, bucket_s=bucket, **scope)
    if name in RANK:
        del scope["nodes"]
        return ask(
            deps,
            "rank_metric",
            "metric",
            metric=name,
            job_id=deps.job(),
            attempt=deps.attempt,
            rank=rank,
            bucket_s=bucket,
            by_rank=apart,
            **scope,
        )
    return (
        f"No measure of that name. Of GPUs: {', '.join(GPU)}. Of hosts: {', '.join(HOST)}. Of ranks: {', '.join(RANK)}."
    )


def _scope(deps: Deps, node: str | None, since: str | None) -> dict[str, Any]:
    """The open job's nodes and time; without one, a node and a time must be named."""
    if deps.job_id or node is None or since is None:
        return dict(deps.facts().scope)
    return {"nodes": None, "from_ts": None, "to_ts": None}


def _width(since: Any, until: Any) -> int:
    """Seconds of a bucket, so that the window has `BUCKETS`; a minute where it is not known."""
    try:
        start, end = microseconds(since), microseconds(until)
    except ValueError as error:
        raise ModelRetry(f"{error}: write a time as 2026-03-01T10:00:00Z") from error
    if start is None or end is None or end <= start:
        return 60
    return max(1, round((end - start) / 1_000_000 / BUCKETS))
