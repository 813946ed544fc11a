"""GPU samples of a made-up job: what a healthy card shows while it starts, trains, evaluates and ends, then the changes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from evals.scenarios.plan import Gpu, Plan, Values
from store.rows import GpuDevice, GpuSample, Row

GIB = 1 << 30
MAX_SAMPLES = 20_000
"""Samples of one job at most: a larger job is sampled less often."""


def every_s(plan: Plan) -> float:
    """Seconds between two samples of a GPU."""
    usual = plan.rng.choice((10.0, 15.0, 30.0))
    return min(60.0, max(usual, plan.minutes * 60 * len(plan.gpus) / MAX_SAMPLES))


def rows(plan: Plan) -> Iterator[Row]:
    """Devices and samples of every GPU, with gaps."""
    step = every_s(plan) / 60
    source = plan.rng.choice(("dcgm", "gpm"))
    for gpu in plan.gpus:
        rng = Random(plan.rng.getrandbits(64))
        yield GpuDevice(
            cluster=plan.cluster, node=gpu.node, ts=plan.at(-30), gpu=gpu.index, gpu_uuid=gpu.uuid, pci_bus_id=gpu.pci,
            model="NVIDIA H100 80GB HBM3", driver_version="570.124.06", fb_total_bytes=int(plan.card_gib * GIB),
            power_limit_w=700.0, sm_clock_max_mhz=1980.0,
        )  # fmt: skip
        gap = rng.uniform(0.1, 0.8) * plan.minutes if rng.random() < 0.3 else -9.0
        minute = rng.uniform(-2, -2 + step)
        while minute < plan.minutes + (0 if plan.state == "RUNNING" else 2):
            if not gap <= minute <= gap + 2.5:
                yield _sample(plan, gpu, minute, rng, source)
            minute += step * rng.uniform(0.97, 1.03)


def _sample(plan: Plan, gpu: Gpu, minute: float, rng: Random, source: str) -> Row:
    values = _healthy(plan, gpu, minute, rng)
    for change in plan.gpu_changes:
        change(values, gpu, minute)
    return GpuSample(
        cluster=plan.cluster, node=gpu.node, ts=plan.at(minute), origin="metrics", gpu=gpu.index, gpu_uuid=gpu.uuid,
        activity_source=source, fb_total_bytes=int(plan.card_gib * GIB), power_limit_w=700.0, **values,
    )  # fmt: skip


def _healthy(plan: Plan, gpu: Gpu, minute: float, rng: Random) -> Values:
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
        "power_w": max(60.0, 120 + 520 * duty + rng.gauss(0, 12)) if busy else 75 + rng.gauss(0, 2),
        "sm_clock_mhz": 1980.0 - abs(rng.gauss(0, 25)) if busy else 345.0,
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
