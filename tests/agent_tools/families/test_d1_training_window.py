"""Only what the GPUs did while the run trained is its duty cycle."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agent_tools.families import d1_under_utilization as d1
from store.rows import GpuSample
from tests.agent_tools.families.world import T, World, judge

LOSSES = [3 - i / 40 for i in range(60)]


def _samples(world: World, loads: dict[tuple[float, float], float]) -> World:
    """Samples every half minute; `loads` maps minutes from start (from, to) to the engine's activity."""
    for (begin, end), load in loads.items():
        for n in range(int(begin * 2), int(end * 2)):
            world.add(
                GpuSample(ts=T + timedelta(seconds=30 * n), node="n1", gpu=0, engine_active=load, activity_source="smi")
            )
    return world


def _trained(tmp_path: Path) -> World:
    """Sixty reports a minute apart, the last of them at the end of the job."""
    return World(tmp_path).job(minutes=120, start_ts=T - timedelta(minutes=50)).train(LOSSES, every_s=60)


def test_gpus_that_waited_for_a_long_start_only_are_not_idle(tmp_path: Path) -> None:
    """Loading took most of the time; while it trained the GPU was full."""
    world = _samples(_trained(tmp_path), {(-45, 0): 0.0, (0, 60): 0.95})
    assert judge(world, d1.assess).status == "ruled_out"


def test_samples_from_before_the_training_decide_nothing(tmp_path: Path) -> None:
    assert judge(_samples(_trained(tmp_path), {(-45, -5): 0.0}), d1.assess).status == "undecidable"


def test_gpus_that_idle_while_the_run_trains_are_named(tmp_path: Path) -> None:
    assert judge(_samples(_trained(tmp_path), {(0, 60): 0.03}), d1.assess).status == "confirmed"
