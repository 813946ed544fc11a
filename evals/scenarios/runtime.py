"""CUDA and NCCL activity of a made-up job, by rank: launches, time in calls, collectives."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from evals.scenarios.plan import Gpu, Plan, Values
from store.rows import CudaSample, NcclSample, Row

MAX_SAMPLES = 4_000
"""Samples of one job at most, as long as five minutes hold one."""


def rows(plan: Plan) -> Iterator[Row]:
    """Samples of every rank; a job of one GPU has no collectives. Ranks go through the same collectives in lock-step."""
    per_minute = plan.rng.randrange(9_000, 60_000)
    collectives = plan.rng.randrange(120, 900)
    sync = plan.rng.uniform(0.05, 0.25)
    every = min(300.0, max(plan.site.runtime_every_s, plan.minutes * 60 * len(plan.gpus) / MAX_SAMPLES)) / 60
    for gpu in plan.gpus:
        rng = Random(plan.rng.getrandbits(64))
        minute, done = every, 0
        while minute <= plan.minutes:
            busy = plan.setup_min <= minute - every / 2 and minute <= plan.minutes - 0.2
            yield _cuda(plan, gpu, minute, every, int(per_minute * every) if busy else 0, sync, rng)
            if len(plan.gpus) > 1 and minute > plan.setup_min:
                count = int(collectives * every) if busy else 0
                row = _nccl(plan, gpu, minute, every, count, done, rng)
                done += count
                if row is not None:
                    yield row
            minute += every


def _cuda(plan: Plan, gpu: Gpu, minute: float, every: float, launches: int, sync: float, rng: Random) -> Row:
    interval = every * 60.0
    values: Values = {
        "interval_s": interval,
        "attached": True,
        "launches": launches + (rng.randrange(-40, 40) if launches else 0),
        "graph_launches": 0,
        "api_time_s": round(interval * (0.12 + sync) * rng.uniform(0.95, 1.05), 2) if launches else 0.01,
        "sync_time_s": round(interval * sync * rng.uniform(0.95, 1.05), 2) if launches else 0.0,
        "max_launch_gap_s": round(rng.uniform(0.05, 0.9), 2) if launches else interval,
        "h2d_bytes": launches * 9000,
        "d2h_bytes": launches * 10,
    }
    for change in plan.cuda_changes:
        change(values, gpu, minute)
    return CudaSample(
        cluster=plan.cluster, node=gpu.node, ts=plan.clock(minute, gpu.node), job_id=plan.job_id, attempt=1 + len(plan.attempts), step_id="0",
        rank=gpu.rank, local_rank=gpu.index, pid=gpu.pid, gpu_uuid=gpu.uuid, **values,
    )  # fmt: skip


def _nccl(plan: Plan, gpu: Gpu, minute: float, every: float, count: int, done: int, rng: Random) -> NcclSample | None:
    values: Values = {
        "enqueued": count,
        "completed": count,
        "in_flight": 0 if rng.random() < 0.6 else 1,
        "done": done,
        "seq": done + count,
        "duration_ms": round(rng.uniform(2, 30), 2),
        "collective": "all_reduce",
    }
    if values["in_flight"]:
        values["seq"] += 1
    for change in plan.nccl_changes:
        change(values, gpu, minute)
    if values.pop("gone", False):
        return None
    del values["done"]
    return NcclSample(
        cluster=plan.cluster, node=gpu.node, ts=plan.clock(minute, gpu.node), job_id=plan.job_id, attempt=1 + len(plan.attempts), step_id="0",
        rank=gpu.rank, local_rank=gpu.index, pid=gpu.pid, comm="0", comm_size=len(plan.gpus), comm_rank=gpu.rank,
        interval_s=every * 60.0, **values,
    )  # fmt: skip
