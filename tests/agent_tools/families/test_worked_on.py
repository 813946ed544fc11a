"""f3_timeout and c2_collective_hang: a log that falls silent while every GPU computes as before is no standstill."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agent_tools import differential
from agent_tools.families import c2_collective_hang as c2
from agent_tools.families import f3_timeout as f3
from store.rows import GpuSample
from tests.agent_tools.families.world import JOB, T, World, judge


def silent(folder: Path, late_sm: float, one: float | None = None, watched: bool = True) -> World:
    """Four hours to the limit, reports for two of them; then the GPUs do this, and the first of them perhaps another."""
    world = World(folder).job(
        "TIMEOUT", 240, gpus=4, node_list="n1", node_count=1, time_limit_s=14400.0, exit_code=0, exit_signal=15
    )
    world.train([2.0 - 0.01 * i for i in range(70)], every_s=100.0)
    for minute in range(240):
        for g in range(4):
            sm = 0.7 if minute < 117 else one if one is not None and g == 0 else late_sm
            world.add(
                GpuSample(
                    node="n1", gpu=g, job_id=JOB, attempt=1, ts=T + timedelta(minutes=minute), engine_active=0.99,
                    sm_active=sm if watched else None,
                )
            )  # fmt: skip
    return world


def test_gpus_that_compute_as_before_leave_it_open_what_the_run_did_and_a_hang_is_suspected_at_most(
    tmp_path: Path,
) -> None:
    world = silent(tmp_path, 0.66)
    hang = judge(world, c2.assess)
    assert (hang.status, hang.confidence < 0.5, len(hang.speaks_against)) == ("suspected", True, 1)
    found = judge(world, f3.assess)
    assert found.confidence <= 0.6 and any("computed to the end" in c.text for c in found.speaks_for)
    draft = differential.draft(world.facts())
    assert (draft.family, draft.attribution) == ("F3", "undetermined")


def test_gpus_that_spin_one_that_stands_apart_or_that_nobody_watched_are_a_standstill(tmp_path: Path) -> None:
    for n, world in enumerate(
        (silent(tmp_path / "a", 0.05), silent(tmp_path / "b", 0.66, 0.02), silent(tmp_path / "c", 0.66, watched=False))
    ):
        assert judge(world, c2.assess).status == "confirmed", n
        assert judge(world, f3.assess).status == "suspected", n
