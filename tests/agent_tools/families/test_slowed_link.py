"""slowed_link: a run that grew slow for good in the minute in which one node's link did is the fabric's, and no healthy run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import d2_throughput_bound as d2
from store.rows import GpuSample, LinkEvent, LinkSample
from tests.agent_tools.families.world import T, World, judge

NODES = ("n1", "n2", "n3")


def slow(folder: Path, less: bool = True, late_s: float = 6.0) -> World:
    """Three nodes whose steps take two seconds for twenty minutes, and then longer; all of their GPUs do less from then on."""
    world = World(folder).job(node_list=",".join(NODES), gpus=6)
    for half in range(120):
        at = T + timedelta(minutes=half / 2)
        for node in NODES:
            for gpu in (0, 1):
                sm = 0.25 if half >= 40 and less else 0.75
                world.add(
                    GpuSample(node=node, gpu=gpu, ts=at, engine_active=0.98, sm_active=sm, activity_source="dcgm")
                )
    for i in range(60):
        world.train(
            [3.0 - i / 40],
            first_step=10 * (i + 1),
            step_time_s=2.0 if i < 20 else late_s,
            ts=T + timedelta(minutes=i),
            ts_kind="embedded",
        )
    return world


def rate(world: World, node: str = "n2", minute: int = 20) -> World:
    for n in NODES:
        for m in range(60):
            gbps = 100.0 if n == node and m >= minute else 400.0
            at = T + timedelta(minutes=m)
            world.add(
                LinkSample(node=n, device="ib2", port="1", fabric="infiniband", ts=at, state="ACTIVE", rate_gbps=gbps)
            )
    return world


def event(world: World, *told: tuple[str, str, float]) -> World:
    for node, what, minute in told:
        world.add(
            LinkEvent(node=node, device="ib2", event=what, ts=T + timedelta(minutes=minute), message=f"ib2: {what}")
        )
    return world


def test_steps_that_grew_long_as_a_link_grew_slow_are_its_doing(tmp_path: Path) -> None:
    found = judge(rate(slow(tmp_path)), d2.assess)
    assert (found.status, found.mode, found.attribution) == ("confirmed", "interconnect", "infrastructure")
    draft = differential.draft(rate(slow(tmp_path / "b")).facts())
    assert draft.family == "D2" and draft.attribution == "infrastructure"


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ([("n2", "speed_change", 20)], "confirmed"),
        ([("n2", "down", 20)], "confirmed"),
        ([("n2", "down", 20), ("n2", "up", 20.1)], "ruled_out"),  # it came back
        ([("n2", "speed_change", 20), ("n3", "speed_change", 20)], "ruled_out"),  # whose it is, is not told
        ([("n2", "speed_change", 45)], "ruled_out"),  # slow long before
        ([], "ruled_out"),
    ],
)
def test_the_kernels_word_of_a_link_does_where_nobody_sampled_it(
    told: list[tuple[str, str, float]], status: str, tmp_path: Path
) -> None:
    assert judge(event(slow(tmp_path), *told), d2.assess).status == status


def test_a_slow_link_that_cost_nothing_is_none_of_the_runs_troubles(tmp_path: Path) -> None:
    assert judge(rate(slow(tmp_path, less=False)), d2.assess).status == "ruled_out"
    assert judge(rate(slow(tmp_path / "b", late_s=2.2)), d2.assess).status == "ruled_out"


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ([("n2", "down", 20 + 4 * k) for k in range(6)], "suspected"),
        ([("n2", "down", 20 + k / 10) for k in range(6)], "ruled_out"),  # one reset
        ([(f"n{1 + k % 3}", "down", 20 + 4 * k) for k in range(6)], "ruled_out"),  # a switch's doing, or a scan's
        ([("n2", "down", 20), ("n2", "down", 50)], "ruled_out"),
    ],
)
def test_a_link_that_goes_down_again_and_again_is_told_though_no_gpu_was_sampled(
    told: list[tuple[str, str, float]], status: str, tmp_path: Path
) -> None:
    world = event(slow(tmp_path), *told, *[(n, "up", m + 0.05) for n, _, m in told])
    world.rows = [r for r in world.rows if not isinstance(r, GpuSample)]
    found = judge(world, d2.assess)
    assert found.status == status
    assert bool(found.warnings) == (status == "suspected")
