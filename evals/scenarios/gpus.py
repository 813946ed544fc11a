"""GPU samples of a made-up job: what a healthy card shows while it starts, trains, evaluates and ends, then the changes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from evals.scenarios.plan import Gpu, Plan, Values
from store.rows import GpuDevice, GpuSample, Row

GIB = 1 << 30
MAX_SAMPLES = 8_000
"""Samples of one job at most: a larger job is sampled less often."""


def every_s(plan: Plan) -> float:
    """Seconds between two samples of a GPU."""
    most = 60.0 if len(plan.gpus) <= 256 else 120.0
    return max(plan.site.gpu_every_s, min(most, plan.minutes * 60 * len(plan.gpus) / MAX_SAMPLES))


def rows(plan: Plan) -> Iterator[Row]:
    """Devices and samples of every GPU, with gaps; a stale exporter repeats what it last read."""
    step = every_s(plan) / 60
    card = plan.site.card
    late = plan.site.late_min if plan.minutes > 40 else -9.0
    stuck = plan.nodes[0] if plan.site.stale and plan.minutes > 30 else None
    for gpu in (*plan.gpus, *plan.beside):
        rng = Random(plan.rng.getrandbits(64))
        yield GpuDevice(
            cluster=plan.cluster, node=gpu.node, ts=plan.at(-30), **identity(plan, gpu), pci_bus_id=gpu.pci,
            model=card.model, driver_version="570.124.06", fb_total_bytes=int(card.gib * GIB),
            power_limit_w=card.power_w, sm_clock_max_mhz=card.clock_mhz,
        )  # fmt: skip
        stale = rng.uniform(0.2, 0.6) * plan.minutes if gpu.node == stuck else 1e9
        last: Values = {}
        named = identity(plan, gpu)
        changes = plan.beside_changes if gpu in plan.beside else plan.gpu_changes
        gap = rng.uniform(0.1, 0.8) * plan.minutes if rng.random() < 0.3 else -9.0
        minute = rng.uniform(-2, -2 + step)
        while minute < plan.minutes + (0 if plan.state == "RUNNING" else 2):
            if not gap <= minute <= gap + 2.5 and minute >= late:
                values = _healthy(plan, gpu, minute, rng)
                for change in changes:
                    change(values, gpu, minute)
                last = last if stale <= minute <= stale + 3 and last else values
                yield GpuSample(
                    cluster=plan.cluster, node=gpu.node, ts=plan.clock(minute, gpu.node), origin="metrics", **named,
                    activity_source=plan.site.activity, fb_total_bytes=int(card.gib * GIB), power_limit_w=card.power_w, **last,
                )  # fmt: skip
            minute += step * rng.uniform(0.97, 1.03)


def identity(plan: Plan, gpu: Gpu) -> Values:
    """What this site's metrics call a GPU."""
    if plan.site.identity == "both":
        return {"gpu": gpu.index, "gpu_uuid": gpu.uuid}
    return {"gpu_uuid": gpu.uuid} if plan.site.identity == "uuid" else {"gpu": gpu.index}


def _healthy(plan: Plan, gpu: Gpu, minute: float, rng: Random) -> Values:
    watts = plan.site.card.power_w
    inside = 0 <= minute <= plan.minutes
    busy = inside and plan.setup_min <= minute <= plan.minutes - 0.2
    pause = busy and (minute % 17.0) > 16.3
    duty = plan.duty * (1 + gpu.bias) * (0.5 if pause else 1.0) if busy else 0.0
    engine = min(0.999, (0.72 if pause else 0.955) + gpu.bias + rng.gauss(0, 0.012)) if busy else 0.0
    used = plan.memory_gib + rng.gauss(0, 0.2) if busy else (0.6 if inside else 0.0)
    return {
        "engine_active": max(0.0, engine),
        "sm_active": max(0.0, duty + rng.gauss(0, 0.03)) if busy else 0.0,
        "tensor_active": max(0.0, duty * 0.6 + rng.gauss(0, 0.02)) if busy else 0.0,
        "dram_active": max(0.0, duty * 0.5 + rng.gauss(0, 0.02)) if busy else 0.0,
        "fb_used_bytes": int(used * GIB),
        "temp_c": round((62 if busy else 34) + rng.gauss(0, 1.5), 0),
        "memory_temp_c": round((72 if busy else 40) + rng.gauss(0, 1.5), 0),
        "power_w": watts * (max(0.09, 0.17 + 0.74 * duty + rng.gauss(0, 0.02)) if busy else 0.11 + rng.gauss(0, 0.003)),
        "sm_clock_mhz": plan.site.card.clock_mhz - abs(rng.gauss(0, 25)) if busy else 345.0,
        "throttle_reasons": (0x4 if duty > 0.75 and rng.random() < 0.3 else 0) if busy else 0x1,
        "ecc_sbe_total": 0,
        "ecc_dbe_total": 0,
        "remapped_correctable": 0,
        "remapped_uncorrectable": 0,
        "remap_pending": False,
        "remap_failure": False,
        "nvlink_errors": 0,
        "pcie_replays": 0,
        "last_xid": 0,
        "health": "ok",
        "processes": 1 if inside and minute > 0.3 else 0,
    }
