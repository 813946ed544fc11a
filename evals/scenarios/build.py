"""From a plan to a lake: every table's rows, then what telemetry suffers (skewed clocks, doubles, another order)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

from evals.scenarios import gpus, hosts, logs, runtime, scheduler
from evals.scenarios.plan import Plan
from evals.scratch import ONE_THREAD
from store import Writer
from store.rows import Row

_SKEWED = ("gpu_sample", "cuda_sample", "nccl_sample", "cgroup_sample", "host_sample", "gpu_event", "host_event")


def lake(plan: Plan, folder: Path) -> Path:
    """Write the job into a new throw-away lake below `folder`."""
    target = folder / "lake"
    Writer(target, durable=False, threads=ONE_THREAD).append(rows(plan, folder), batch="all")
    return target


def rows(plan: Plan, folder: Path) -> list[Row]:
    """Every row that is collected, in the order in which it arrives."""
    rng = Random(plan.rng.getrandbits(64))
    plan.skew = {node: timedelta(seconds=rng.gauss(0, plan.site.skew_s)) for node in plan.nodes}
    gone = plan.absent | plan.failing
    found = [row for row in _all(plan, folder) if row.TABLE not in gone and not _too_late(plan, row)]
    doubled = [r for r in found if r.TABLE in _SKEWED and rng.random() < plan.site.doubled]
    # A log's lines keep their order; everything else arrives when it does.
    kept = [r for r in found if r.TABLE not in _SKEWED]
    moving = [r for r in found if r.TABLE in _SKEWED and r.TABLE != "nccl_sample"] + [
        r for r in doubled if r.TABLE == "gpu_sample"
    ]
    moving += [r for r in found if r.TABLE == "nccl_sample"]
    rng.shuffle(moving)
    return kept + moving + list(hosts.health(plan))


def _all(plan: Plan, folder: Path) -> Iterator[Row]:
    yield from scheduler.rows(plan)
    if "gpu_sample" not in plan.absent | plan.failing:
        yield from gpus.rows(plan)
    if not {"cuda_sample", "nccl_sample"} <= plan.absent | plan.failing:
        yield from runtime.rows(plan)
    yield from hosts.rows(plan)
    if "log_line" not in plan.absent | plan.failing:
        yield from logs.rows(plan, folder)
    for row in plan.extra:
        skew = plan.skew.get(row.node or "") if row.TABLE in _SKEWED else None
        yield row if skew is None or row.ts is None else dataclasses.replace(row, ts=row.ts + skew)


def _too_late(plan: Plan, row: Row) -> bool:
    last = plan.until.get(row.TABLE)
    if last is None or row.ts is None:
        return False
    return row.ts > (plan.clock(last, row.node or "") if row.TABLE in _SKEWED else plan.at(last))
