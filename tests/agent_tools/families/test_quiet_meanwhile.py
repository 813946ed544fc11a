"""What is said of a job that has not ended: since when it is quiet, and no end that it does not have."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import c2_collective_hang as c2
from agent_tools.families import c3_idle_gpu as c3
from agent_tools.families import f1_node_down as f1
from agent_tools.families import f2_requeue as f2
from agent_tools.families import f4_cancelled as f4
from store.rows import GpuSample
from tests.agent_tools.families.world import T, World, judge

LOSSES = [2.0, 1.9, 1.8, 1.7, 1.6]


@pytest.mark.parametrize(("timed", "sure"), [(True, 0.82), (False, 0.72)])
def test_a_run_that_still_runs_says_since_when_it_reported_nothing(timed: bool, sure: float, tmp_path: Path) -> None:
    """Its log carries times: then they need not be asked for. The silence counts to the last sample, as there is no end."""
    world = World(tmp_path).job("RUNNING", 120, end_ts=None, exit_code=None, gpus=4, node_list="n1")
    world.train(LOSSES, every_s=30) if timed else world.train(LOSSES)
    for minute in range(2, 120):
        for g in range(4):
            sm = 0.03 if minute > 30 else 0.7
            at = T + timedelta(minutes=minute)
            world.add(GpuSample(node="n1", gpu=g, gpu_uuid=f"GPU-{g}", ts=at, engine_active=1.0, sm_active=sm))
    found = judge(world, c2.assess)
    assert (found.status, found.confidence) == ("confirmed", sure)
    assert ("quiet_now" in found.headline or "has stood still" in found.headline) == timed
    assert any("a log with times" in m.signal for m in found.missing) != timed


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_a_job_that_has_not_ended_is_told_no_end(state: str, tmp_path: Path) -> None:
    world = World(tmp_path).job(state, 30, end_ts=None, exit_code=None, gpus=4, node_list="n1").train(LOSSES)
    told = [judge(world, family.assess).counterfactual or "" for family in (f1, f2, f4)]
    assert all("state" in text for text in told)
    assert not any("ended as" in text or "recorded the end" in text for text in told)


@pytest.mark.parametrize(("began", "verb"), [(T, "held"), (None, "asked for")])
def test_gpus_are_held_from_the_start_on(began: object, verb: str, tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED", 0, start_ts=began, gpus=4)
    assert f"The job {verb} several GPUs" in (judge(world, c3.assess).counterfactual or "")
