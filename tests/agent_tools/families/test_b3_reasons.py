"""b3_clock_throttle names why clocks were lowered, in the driver's words, for how long and on which GPU."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.facts import Facts
from agent_tools.families import b3_clock_throttle as b3
from agent_tools.families import d3_straggler as d3
from agent_tools.families.base import Assessment
from store.rows import GpuDevice, GpuSample, TrainStep
from tests.agent_tools.families.world import JOB, T, World, check

HW, SW_THERMAL, THERMAL, BRAKE, CAP = 0x8, 0x20, 0x40, 0x80, 0x4


def throttled(folder: Path, bits: int, gpus: tuple[int, ...] = (1,), nodes: int = 1, slow: float = 900.0) -> World:
    """A run of an hour on cards of four a node, of which some set these bits from its twentieth minute on."""
    names = [f"n{n + 1}" for n in range(nodes)]
    world = World(folder).job("COMPLETED", gpus=4 * nodes, node_list=",".join(names), node_count=nodes)
    world.train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    for name in names:
        for g in range(4):
            for m in range(60):
                bad = g in gpus and m >= 20
                world.add(
                    GpuSample(
                        node=name, gpu=g, job_id=JOB, attempt=1, ts=T + timedelta(minutes=m), engine_active=0.95,
                        throttle_reasons=bits if bad else CAP, sm_clock_mhz=slow if bad else 1900.0, temp_c=88.0,
                    )
                )  # fmt: skip
    return world


def judged(world: World) -> tuple[Assessment, Facts]:
    facts = world.facts()
    found = b3.assess(facts)
    check(facts, found)
    return found, facts


def shown(facts: Facts, text: str) -> str:
    """A sentence with its cells filled in."""
    return re.sub(
        r"\[\[(E\d+)(?::(\d+))?\.(\w+)\]\]", lambda m: str(facts.ledger.get(m[1]).value(m[3], int(m[2] or 0))), text
    )


@pytest.mark.parametrize(
    ("bits", "cause", "words", "look_at"),
    [
        (THERMAL | HW, "heat", ["hardware thermal slowdown"], "the cooling"),
        (SW_THERMAL, "heat", ["software thermal slowdown"], "the cooling"),
        (BRAKE | HW, "power", ["hardware power brake slowdown"], "the power supply"),
        (THERMAL | BRAKE, "heat and power", ["hardware thermal slowdown", "hardware power brake slowdown"], "cooling and power"),
        (HW, "heat or power", ["hardware slowdown"], "cooling and power"),
    ],
)  # fmt: skip
def test_the_reason_is_named_with_its_gpu_and_how_long_it_held(
    bits: int, cause: str, words: list[str], look_at: str, tmp_path: Path
) -> None:
    found, facts = judged(throttled(tmp_path, bits))
    head = shown(facts, found.headline)
    assert found.status == "confirmed" and head == f"GPU 1 of n1 lowered its clocks for {cause}: {words[0]}."
    told = [shown(facts, c.text) for c in found.speaks_for if "driver's reason" in c.text]
    assert [t.split(" was ")[1].split(" in ")[0] for t in told] == words
    assert all("in 40 of 60 watched" in t and "10:20:00" in t and "10:59:00" in t for t in told)
    assert look_at in found.actions[0].text


def test_several_gpus_are_told_with_how_many_had_each_reason(tmp_path: Path) -> None:
    found, facts = judged(throttled(tmp_path, THERMAL | HW, (1, 2), nodes=3))
    assert shown(facts, found.headline) == "6 GPUs on 3 nodes lowered their clocks for heat: hardware thermal slowdown."
    said = [shown(facts, c.text) for c in found.speaks_for]
    assert any("hardware thermal slowdown on 6, hardware slowdown on 6" in s for s in said)


@pytest.mark.parametrize("bits", [CAP, 0x1, 0x2, 0x10, 0x100, CAP | 0x1])
def test_a_cap_a_setting_or_an_idle_card_names_no_reason(bits: int, tmp_path: Path) -> None:
    """A run at its power limit, or at clocks that somebody set, is as slow as that: the driver names no trouble."""
    assert judged(throttled(tmp_path, bits))[0].status == "ruled_out"


def test_reasons_without_lower_clocks_are_not_told_as_lowered_clocks(tmp_path: Path) -> None:
    found, facts = judged(throttled(tmp_path, SW_THERMAL, slow=1890.0))
    assert found.status == "suspected" and "not seen to be down" in found.headline
    assert "had reasons of heat to lower its clocks: software thermal slowdown" in shown(facts, found.headline)


@pytest.mark.parametrize(
    ("bits", "slowed", "status"),
    [
        (CAP, (1,), "suspected"),
        (CAP, (1, 2, 3), "undecidable"),
        (CAP, (), "undecidable"),
        (THERMAL, (1,), "undecidable"),
    ],
)
def test_a_lone_card_at_a_low_clock_without_a_severe_reason_may_hold_the_others_up(
    bits: int, slowed: tuple[int, ...], status: str, tmp_path: Path
) -> None:
    """Throttling is B3's; of a clock that is low on all cards nobody knows that it is."""
    facts = throttled(tmp_path, bits, slowed).facts()
    found = d3.assess(facts)
    check(facts, found)
    assert (found.status, bool(found.warnings)) == (status, status == "suspected")
    assert found.attribution in ("undetermined", "none")


def _all_along(folder: Path, clock: float, maximum: float | None = 1980.0, bad_of_ten: int = 10) -> World:
    """A job of one GPU that sets these bits from its first minute on: nothing of its own or beside it to compare with."""
    world = World(folder).job("COMPLETED", gpus=1, node_list="n1", node_count=1)
    world.add(GpuDevice(node="n1", gpu=0, ts=T, sm_clock_max_mhz=maximum))
    for m in range(60):
        bits = THERMAL if m % 10 < bad_of_ten else 0
        world.add(
            GpuSample(
                node="n1", gpu=0, job_id=JOB, attempt=1, ts=T + timedelta(minutes=m), engine_active=0.95,
                throttle_reasons=bits, sm_clock_mhz=clock, temp_c=88.0,
            )
        )  # fmt: skip
    return world


def test_a_card_that_never_ran_free_is_held_against_its_own_highest_clock(tmp_path: Path) -> None:
    found, facts = judged(_all_along(tmp_path, 1290.0))
    assert (found.status, found.confidence) == ("confirmed", 0.65)
    told = [shown(facts, c.text) for c in found.speaks_for]
    assert "Its SM clock was 1290.0 in them; the highest that it can have is 1980.0." in told
    assert any(m.text.startswith("Which clock it has") for m in found.missing)


@pytest.mark.parametrize(
    ("clock", "maximum", "of_ten"), [(1465.0, 1980.0, 10), (1290.0, None, 10), (1290.0, 1980.0, 4)]
)
def test_a_clock_that_a_power_limit_would_give_too_is_a_suspicion(
    clock: float, maximum: float | None, of_ten: int, tmp_path: Path
) -> None:
    assert judged(_all_along(tmp_path, clock, maximum, of_ten))[0].status == "suspected"


@pytest.mark.parametrize(
    ("slow", "late_s", "status"),
    [
        (1670.0, 2.4, "confirmed"),  # an eighth of the clock, and a fifth more time
        (1670.0, 2.0, "suspected"),
        (1850.0, 2.4, "suspected"),
    ],
)
def test_clocks_that_are_a_little_down_are_throttling_where_the_steps_took_longer(
    slow: float, late_s: float, status: str, tmp_path: Path
) -> None:
    world = throttled(tmp_path, THERMAL, slow=slow)
    world.rows = [r for r in world.rows if not isinstance(r, TrainStep)]
    for half, step_s in ((0, 2.0), (1, late_s)):
        losses = [2.0 - 0.01 * i for i in range(20 * half, 20 * half + 20)]
        world.train(losses, every_s=60.0, first_step=10 + 200 * half, step_time_s=step_s)
    found, _ = judged(world)
    assert found.status == status
