"""b2_gpu_fault: a fault of the job's GPU that lies outside of its run is a hint, with its time, and never the cause."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import f2_requeue as f2
from store.rows import GpuEvent, GpuSample, SlurmJob
from tests.agent_tools.families.world import JOB, T, World, judge

TEXT = "NVRM: Xid (PCI:0000:2a:00): 79, pid=812, name=python, GPU has fallen off the bus."


def job(folder: Path, state: str = "FAILED", **fields: object) -> World:
    """A job of all eight GPUs of a node, of ninety minutes."""
    world = World(folder).job(state, 90, gpus=8, node_list="n1", node_count=1, **fields)
    world.train([2.0 - 0.01 * i for i in range(40)], every_s=120.0)
    return world.say("exception", "KeyError", "'label'") if state == "FAILED" else world


def fault(world: World, minute: float, xid: int = 79) -> World:
    at = T + timedelta(minutes=minute)
    return world.add(GpuEvent(node="n1", pci_bus_id="00000000:2A:00.0", ts=at, event="xid", xid=xid, message=TEXT))


def hints(world: World) -> list[str]:
    found = judge(world, b2.assess)
    assert found.status in ("ruled_out", "undecidable")
    return [w.text for w in found.warnings]


def test_a_fault_shortly_before_the_run_is_told_and_not_blamed(tmp_path: Path) -> None:
    world = fault(job(tmp_path), -40)
    assert any("before this run began" in w and "reset and tested" in w for w in hints(world))
    draft = differential.draft(world.facts())
    assert (draft.family, draft.attribution) == ("A3", "job") and any(
        "before this run began" in w.text for w in draft.warnings
    )


def test_a_healthy_run_is_told_of_the_fault_before_it_too(tmp_path: Path) -> None:
    world = fault(job(tmp_path, "COMPLETED"), -40)
    assert len(hints(world)) == 1 and differential.draft(world.facts()).family == "G1"


@pytest.mark.parametrize("hours", [-2.0, 1.0, 5.5])
def test_a_fault_whole_hours_off_the_end_may_be_of_another_zones_clock(tmp_path: Path, hours: float) -> None:
    assert any("--timezone" in w for w in hints(fault(job(tmp_path), 88 + 60 * hours)))


@pytest.mark.parametrize(
    ("minute", "xid", "state"),
    [
        (-30 * 60, 79, "FAILED"),
        (-40, 13, "FAILED"),
        (90 + 72, 79, "FAILED"),
        (90 + 60, 79, "COMPLETED"),
        (90 + 20 * 60, 79, "FAILED"),
    ],
    ids=["the day before", "an application's", "no zone's difference", "after a success", "the day after"],
)
def test_what_has_nothing_to_do_with_the_run_is_not_told(tmp_path: Path, minute: float, xid: int, state: str) -> None:
    assert hints(fault(job(tmp_path, state), minute, xid)) == []


def test_a_neighbours_fault_before_the_run_is_not_told(tmp_path: Path) -> None:
    world = fault(job(tmp_path, gpu_indices="n1/0,n1/1"), -40)
    world.add(SlurmJob(job_id="4990", state="RUNNING", node_list="n1", node_count=1, gpus=2, start_ts=T, ts=T))
    assert hints(world) == []


def test_a_fault_in_an_earlier_attempt_is_told_as_such(tmp_path: Path) -> None:
    world = World(tmp_path).job("NODE_FAIL", 60, attempt=1, gpus=8, node_list="n1", node_count=1)
    world.job("FAILED", 90, attempt=2, gpus=8, node_list="n1", node_count=1, start_ts=T + timedelta(hours=40))
    world.say("exception", "KeyError", "'label'", attempt=2)
    assert any(w.startswith("In the time of an earlier attempt") for w in hints(fault(world, 58)))
    assert JOB


@pytest.mark.parametrize(
    ("minute", "state", "told"), [(58, "REQUEUED", True), (20, "REQUEUED", False), (58, "PREEMPTED", False)]
)
def test_a_requeue_right_after_a_fault_of_the_gpu_is_told_as_that(
    tmp_path: Path, minute: float, state: str, told: bool
) -> None:
    """An operator or a health check sent it back; a fault long before it, or a preemption, is another matter."""
    world = World(tmp_path).job(state, 60, attempt=1, gpus=8, node_list="n1", node_count=1)
    later = T + timedelta(minutes=70)
    world.job("COMPLETED", 90, attempt=2, gpus=8, node_list="n2", node_count=1, start_ts=later, restarts=1)
    found = judge(fault(world, minute), f2.assess)
    assert found.status == "confirmed"
    assert any("tested before it takes jobs again" in c.text for c in found.actions) is told
    assert any("most likely why the earlier attempt was ended" in c.text for c in found.implies) is told


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ([(-1200, "2A"), (-800, "2A"), (-90, "2A")], True),
        ([(-1200, "2A"), (-800, "3D"), (-90, "2A")], False),
        ([(-90, "2A"), (-89, "2A"), (-88, "2A")], False),
        ([], False),
    ],
    ids=["one-gpu", "several-gpus", "one-programs-burst", "never-before"],
)
def test_a_program_s_xid_that_comes_back_on_one_gpu_is_a_hint(
    tmp_path: Path, before: list[tuple[int, str]], told: bool
) -> None:
    """On different GPUs it is the software, and so it is within one program."""
    world = job(tmp_path)
    for minute, bus in [*before, (89, "2A")]:
        at = T + timedelta(minutes=minute)
        text = f"NVRM: Xid (PCI:0000:{bus.lower()}:00): 31, pid={9000 + minute}, name=python, MMU Fault"
        world.add(GpuEvent(node="n1", pci_bus_id=f"00000000:{bus}:00.0", ts=at, event="xid", xid=31, message=text))
    found = [w for w in judge(world, b2.assess).warnings if "may be the GPU" in w.text]
    assert [w.status for w in found] == (["hypothesis"] if told else [])


@pytest.mark.parametrize(
    ("state", "failed", "told"), [("FAILED", True, True), ("FAILED", False, False), ("COMPLETED", True, False)]
)
def test_a_mark_that_a_gpu_keeps_is_told_where_nobody_looked_before(
    state: str, failed: bool, told: bool, tmp_path: Path
) -> None:
    """marked_after: nvidia-smi was asked an hour after a run of which nothing else is there."""
    world = World(tmp_path).job(state, 90, gpus=8, node_list="n1", node_count=1)
    world.add(
        GpuSample(node="n1", gpu=4, ts=T + timedelta(minutes=150), remap_failure=failed, remapped_uncorrectable=3)
    )
    draft = differential.draft(world.facts())
    assert any("bears a mark of bad memory" in w.text for w in draft.warnings) is told
    assert draft.attribution != "infrastructure"
