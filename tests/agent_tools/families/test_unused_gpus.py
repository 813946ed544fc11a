"""GPUs that a job was given and never used: a warning with their names and their cost, and no part of any other GPU's measure;
other_hours: what is left open where all of them look unused."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import c3_idle_gpu as c3
from agent_tools.families import d1_under_utilization as d1
from agent_tools.families import d3_straggler as d3
from agent_tools.families import g1_healthy as g1
from store.rows import GpuSample
from tests.agent_tools.families.world import T, World, judge

GIB = 1 << 30
CITED = re.compile(r"\[\[(E\d+)(?::(\d+))?\.(\w+)\]\]")


def run(
    folder: Path,
    used: int,
    given: int = 8,
    state: str = "COMPLETED",
    sm: dict[int, float] | None = None,
    **more: object,
) -> World:
    """A run of an hour on one node, whose processes work on the first `used` of its GPUs; `more` is said of the others' samples."""
    world = World(folder).job(state, gpus=given, node_list="n1", node_count=1)
    world.train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    for gpu in range(given):
        works = gpu < used
        values: dict[str, object] = {
            "engine_active": 0.95 if works else 0.0,
            "sm_active": (sm or {}).get(gpu, 0.6) if works else 0.0,
            "fb_used_bytes": 60 * GIB if works else 4 << 20,
            **({} if works else more),
        }
        world.add(
            *(
                GpuSample(node="n1", gpu=gpu, gpu_uuid=f"GPU-{gpu}", ts=T + timedelta(minutes=m), **values)
                for m in range(60)
            )  # pyright: ignore
        )
    return world


def told(world: World) -> dict[str, object]:
    """The figures of the warning about unused GPUs, by their columns; empty where there is none."""
    facts = world.facts()
    text = next((w.text for w in differential.draft(facts).warnings if "never used" in w.text), "")
    return {column: facts.ledger.get(id_).value(column, int(row or 0)) for id_, row, column in CITED.findall(text)}


def test_a_healthy_run_that_left_gpus_unused_is_told_which_and_what_they_cost(tmp_path: Path) -> None:
    world = run(tmp_path, 4)
    said = told(world)
    assert (said["unused"], said["gpus_watched"], said["named_gpus"]) == (4, 8, "n1: 4, 5, 6, 7")
    assert said["gpu_hours_idle"] == pytest.approx(4.0) and said["watched_min"] == pytest.approx(59.0)
    draft = differential.draft(world.facts())
    assert draft.family == "G1" and draft.confidence > 0.9
    assert any("as many GPUs as the program uses" in a.text for a in draft.actions)


def test_what_the_used_gpus_did_is_not_measured_with_those_that_were_not(tmp_path: Path) -> None:
    world = run(tmp_path, 3)
    assert "did real work" in " ".join(c.text for c in judge(world, g1.assess).speaks_for)
    assert "were used at all. SM activity is even" in judge(world, d3.assess).counterfactual
    assert judge(world, d1.assess).status == "ruled_out"


def test_a_slow_rank_among_the_used_ones_is_seen(tmp_path: Path) -> None:
    found = judge(run(tmp_path, 4, sm={0: 0.6, 1: 0.14, 2: 0.14, 3: 0.14}), d3.assess)
    assert found.status == "confirmed"


def test_halves_that_work_unlike_are_not_called_even(tmp_path: Path) -> None:
    text = judge(run(tmp_path, 8, sm=dict.fromkeys(range(4), 0.2)), d3.assess).counterfactual
    assert "is even" not in text and "come near" in text


@pytest.mark.parametrize(
    "world",
    [
        lambda f: run(f, 8),
        lambda f: run(f, 4, fb_used_bytes=30 * GIB),
        lambda f: run(f, 4, engine_active=0.03),
        lambda f: run(f, 0, state="FAILED"),
        lambda f: run(f, 4, given=4).add(
            *(
                GpuSample(node="n1", gpu=6, gpu_uuid="GPU-6", ts=T + timedelta(minutes=m), engine_active=0.0)
                for m in range(60)
            )
        ),
    ],
    ids=["all used", "memory held", "a little work", "none, and it failed", "of a neighbour or nobody"],
)
def test_no_gpu_is_called_unused_that_was_used_or_may_not_have_been_the_jobs(tmp_path: Path, world: object) -> None:
    assert told(world(tmp_path)) == {}  # pyright: ignore


def test_a_run_that_completed_without_any_gpu_is_not_starved_of_input(tmp_path: Path) -> None:
    world = run(tmp_path, 0, given=1)
    assert judge(world, d1.assess).status == "ruled_out"
    assert told(world)["unused"] == 1
    draft = differential.draft(world.facts())
    assert draft.family == "G1" and draft.confidence < 0.7
    assert "was not stuck" in judge(world, c3.assess).counterfactual


def test_a_run_that_never_used_its_only_gpu_is_told_as_that_and_not_as_slow(tmp_path: Path) -> None:
    found = judge(run(tmp_path / "one", 0, given=1), g1.assess)
    assert "never used its only GPU" in found.headline and found.mode == "healthy" and found.confidence < 0.6
    said = " ".join(c.text for c in (*found.speaks_for, *found.implies, *found.warnings, *found.actions))
    assert "the CPU's" in said and "torch.cuda.is_available" in said
    assert "slow" not in said and "little used" not in said and "data loading" not in said
    several = judge(run(tmp_path / "all", 0), g1.assess)
    assert "never used any of its [[" in several.headline
    # By samples of other hours they look like that, too: what follows is no more than likely, and the zone is asked for.
    assert [c.status for c in several.implies if "was the CPU's" in c.text] == ["hypothesis"]
    assert any("--timezone" in m.signal for m in several.missing)


def test_gpus_that_were_used_a_little_or_in_part_are_not_said_to_be_never_used(tmp_path: Path) -> None:
    for name, world in (("little", run(tmp_path / "a", 1, 1, sm={0: 0.04})), ("part", run(tmp_path / "b", 4))):
        found = judge(world, g1.assess)
        assert "never used" not in found.headline, name
        assert not any("--timezone" in m.signal for m in found.missing), name
        assert (found.mode == "healthy_but_slow") is (name == "little")
