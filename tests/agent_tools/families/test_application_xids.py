"""a3_midrun_crash beside an XID that applications cause (application_xids): the program's, unless one GPU reports it again and again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import a3_midrun_crash as a3
from agent_tools.families import b2_gpu_fault as b2
from store.rows import GpuEvent
from tests.agent_tools.families.world import T, World, judge

ERROR = "CUDA error: an illegal memory access was encountered"


def fault(hours: float, gpu: int = 3, node: str = "n1", xid: int = 31) -> GpuEvent:
    return GpuEvent(
        node=node, gpu=gpu, ts=T + timedelta(hours=hours), event="xid", xid=xid, message=f"NVRM: Xid: {xid}, MMU Fault"
    )


def crashed(folder: Path, *events: GpuEvent) -> World:
    world = World(folder).job("FAILED").train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    return world.say("exception", "RuntimeError", ERROR).add(*events)


def test_a_lone_page_fault_is_the_programs_and_the_driver_is_quoted(tmp_path: Path) -> None:
    world = crashed(tmp_path, fault(0.9))
    found = judge(world, a3.assess)
    assert (found.status, found.attribution) == ("confirmed", "job")
    assert any("Applications cause this code" in c.text for c in found.speaks_for)
    assert any("in other jobs too" in m.text for m in found.missing)
    assert judge(world, b2.assess).status == "ruled_out"


@pytest.mark.parametrize(("error", "told"), [("CUDA error: device-side assert triggered", True), (ERROR, False)])
def test_the_kernels_own_check_is_quoted_beside_the_error_that_it_makes(error: str, told: bool, tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    world.say("warning", "device_assert", "Assertion `srcIndex < srcSelectDimSize` failed.")
    found = judge(world.say("exception", "RuntimeError", error), a3.assess)
    assert any("own check says why" in c.text for c in found.speaks_for) is told


@pytest.mark.parametrize(
    ("events", "open_"),
    [
        ([fault(-30), fault(-60)], True),
        ([fault(-30)], False),
        ([fault(-30), fault(-29.99)], False),
        ([fault(-30), fault(-60), fault(-40, gpu=5)], False),
        ([fault(-30, gpu=5), fault(-60, gpu=5)], False),
        ([fault(-30, node="n2"), fault(-60, node="n2")], False),
        ([fault(-30, xid=13), fault(-60, xid=13)], False),
        ([fault(-24 * 20), fault(-24 * 25)], False),
    ],
    ids=["twice", "once", "at once", "other gpus too", "another gpu", "another node", "another code", "long ago"],
)
def test_the_same_code_on_the_same_gpu_before_the_run_leaves_it_open(
    tmp_path: Path, events: list[GpuEvent], open_: bool
) -> None:
    found = judge(crashed(tmp_path, fault(0.9), *events), a3.assess)
    assert ((found.confidence, found.attribution) == (0.6, "undetermined")) is open_
    assert any("have it looked at" in w.text for w in found.warnings) is open_


def test_an_error_of_the_program_that_has_nothing_to_do_with_a_gpu_stays_what_it_is(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    world.say("exception", "KeyError", "'labels'").add(fault(0.9), fault(-30))
    found = judge(world, a3.assess)
    assert found.confidence == 0.92 and found.attribution == "job"
    assert not any("XID" in c.text for c in found.speaks_for)
    assert differential.draft(world.facts()).family == "A3"
