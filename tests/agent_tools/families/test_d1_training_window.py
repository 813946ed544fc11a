"""Only what the GPUs did while the run trained is its duty cycle."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

from agent_tools import differential
from agent_tools.families import d1_under_utilization as d1
from store.rows import GpuSample, TrainStep
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


def test_a_loop_that_waits_by_its_own_clock_too_is_starved(tmp_path: Path) -> None:
    """A third of a GPU may be a small model's share; that the loop says that it waited decides it."""
    for waits, family in ((0.8, "D1"), (0.1, "G1")):
        world = _trained(tmp_path / family)
        world.rows = [
            dataclasses.replace(r, step_time_s=1.0, metrics=f'{{"data_time": {waits}}}')
            if isinstance(r, TrainStep)
            else r
            for r in world.rows
        ]
        assert differential.draft(_samples(world, {(0, 60): 0.25}).facts()).family == family


def test_the_highest_of_eight_means_does_not_hide_that_all_of_them_stood_idle(tmp_path: Path) -> None:
    for folder, busiest, others, family in (
        ("a", 0.15, 0.09, "D1"),
        ("b", 0.15, 0.14, "G1"),
        ("c", 0.25, 0.09, "G1"),
        ("d", 0.95, 0.95, "G1"),
    ):
        world = _trained(tmp_path / folder).text("Training completed.")
        for n in range(120):
            now = T + timedelta(seconds=30 * n)
            world.add(
                *(
                    GpuSample(
                        ts=now, node="n1", gpu=g, engine_active=busiest if g == 3 else others, activity_source="smi"
                    )
                    for g in range(8)
                )
            )
        draft = differential.draft(world.facts())
        assert draft.family == family, folder
        # without SM activity an engine that stands idle most of the time leaves health open
        assert (draft.mode == "healthy_but_slow") == (folder == "b"), folder
        assert draft.confidence < 0.7 or folder != "b"
