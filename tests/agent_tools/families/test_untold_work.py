"""Metrics that would have looked the same in a slow run prove no health: it is unsure, and what would tell is named."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from store.rows import GpuSample, SourceHealth
from tests.agent_tools.families.world import JOB, T, World


def ran(folder: Path, gpus: int, **fields: Any) -> World:
    world = World(folder).job(gpus=gpus, node_list="n1").train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    return world.add(
        *(
            GpuSample(job_id=JOB, attempt=1, node="n1", gpu=gpu, ts=T + timedelta(minutes=m), **fields)
            for gpu in range(gpus)
            for m in range(60)
        )
    )


@pytest.mark.parametrize(
    ("gpus", "fields", "sure", "open_"),
    [
        (4, {"temp_c": 60.0, "fb_used_bytes": 2**35}, False, "How busy the GPUs were"),
        (1, {"temp_c": 60.0, "fb_used_bytes": 2**35}, False, "How busy the GPUs were"),
        (4, {"engine_active": 0.97}, False, "waited for each other"),
        (1, {"engine_active": 0.97}, True, ""),  # a single GPU waits for no other
        (4, {"engine_active": 0.97, "sm_active": 0.6}, True, ""),
        (4, {"engine_active": 0.97, "dram_active": 0.5}, True, ""),
    ],
)
def test_health_needs_a_metric_that_tells_work_from_waiting(
    gpus: int, fields: dict[str, float], sure: bool, open_: str, tmp_path: Path
) -> None:
    draft = differential.draft(ran(tmp_path, gpus, **fields).facts())
    assert (draft.family, draft.confidence >= 0.7) == ("G1", sure)
    asked = [m.text for m in draft.cannot_decide if m.signal.startswith("SM activity of every GPU")]
    assert [open_ in text for text in asked] == ([] if sure else [True])


@pytest.mark.parametrize(
    ("ended_min", "ok", "sure"),
    [
        (-1, True, False),
        (-59, True, False),
        (-61, True, True),  # whatever that was, it had nothing to do with this run
        (-1, False, True),  # it had told nothing before, either
    ],
)
def test_metrics_that_end_just_before_a_run_leave_its_health_open(
    ended_min: int, ok: bool, sure: bool, tmp_path: Path
) -> None:
    world = World(tmp_path).job(node_list="n1").train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    ended = T + timedelta(minutes=ended_min)
    for table in ("gpu_sample", "gpu_device"):
        world.add(
            SourceHealth(
                node="n1", ts=ended - timedelta(hours=2), end_ts=ended, source="prometheus_json", covers=table, ok=ok
            )
        )
    draft = differential.draft(world.facts())
    assert (draft.family, draft.confidence >= 0.7) == ("G1", sure)
    asked = [m.text for m in draft.cannot_decide if "lapsed_ts" in m.text]
    assert len(asked) == (0 if sure else 1)


def test_a_source_that_looked_into_the_run_has_not_lapsed(tmp_path: Path) -> None:
    world = World(tmp_path).job(node_list="n1").train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    for begin, end in ((-120, -1), (-1, 30)):
        times = {"ts": T + timedelta(minutes=begin), "end_ts": T + timedelta(minutes=end)}
        world.add(SourceHealth(node="n1", source="nvml", covers="gpu_sample", ok=True, **times))
    rows = world.facts().table("coverage_nodes")
    assert [(r.get("watched"), r.get("lapsed_ts")) for r in rows if r.text("table") == "gpu_sample"] == [(True, None)]
