"""b3_clock_throttle: severe reasons of a GPU shortly before it failed are a warning, however short they were against the run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agent_tools import differential
from agent_tools.families import b3_clock_throttle as b3
from store.rows import GpuEvent, GpuSample
from tests.agent_tools.families.world import JOB, T, World, check

BUS = "00000000:3B:00.0"


def lost(folder: Path, first: int, last: int, gpu: int = 2, xid: int = 79) -> World:
    """A run of ten hours that ends with GPU 2's loss; this GPU has hardware thermal bits in these minutes."""
    world = World(folder).job("FAILED", 600, gpus=4, node_list="n1", node_count=1, time_limit_s=90000.0)
    world.train([2.0 - 0.005 * i for i in range(100)], every_s=356.0)
    for minute in range(600):
        for g in range(4):
            bad = g == gpu and first <= minute < last
            world.add(
                GpuSample(
                    node="n1", gpu=g, job_id=JOB, attempt=1, ts=T + timedelta(minutes=minute),
                    engine_active=0.95, throttle_reasons=0x48 if bad else 0, sm_clock_mhz=760.0 if bad else 1800.0, temp_c=90.0 if bad else 66.0,
                )
            )  # fmt: skip
    text = f"NVRM: Xid (PCI:0000:3b:00): {xid}, pid=812, name=python, GPU has fallen off the bus."
    at = T + timedelta(minutes=599)
    return world.add(GpuEvent(node="n1", gpu=2, pci_bus_id=BUS, ts=at, event="xid", xid=xid, message=text))


def said(world: World) -> list[str]:
    facts = world.facts()
    found = b3.assess(facts)
    check(facts, found)
    return [w.text for w in found.warnings if "watched before" in w.text]


def test_minutes_of_throttling_before_the_loss_are_told_beside_it(tmp_path: Path) -> None:
    world = lost(tmp_path, 588, 598)
    assert len(said(world)) == 1
    draft = differential.draft(world.facts())
    assert draft.family == "B2" and any("cooling and power" in w.text for w in draft.warnings)


def test_hours_before_or_on_another_gpu_or_of_a_programs_own_fault_it_is_not(tmp_path: Path) -> None:
    assert said(lost(tmp_path / "early", 100, 110)) == []
    assert said(lost(tmp_path / "other", 588, 598, gpu=1)) == []
    assert said(lost(tmp_path / "own", 588, 598, xid=31)) == []


def test_faults_of_several_kinds_on_one_gpu_are_one_question(tmp_path: Path) -> None:
    world = lost(tmp_path, 588, 598)
    for n, xid in enumerate((48, 95)):
        world.add(GpuEvent(node="n1", gpu=2, pci_bus_id=BUS, ts=T + timedelta(minutes=100 + n), event="xid", xid=xid))
    assert len(said(world)) == 1
    assert [e.query for e in world.facts().ledger.all()].count("gpu_throttle_reasons") == 1
