"""switch_faults: a fatal error of an NVSwitch as the job ended is the hardware's, and every other one is a warning and no more."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families.switch_faults import is_fatal
from store.rows import GpuDevice, GpuEvent
from tests.agent_tools.families.world import T, World, judge

LOSSES = [2.0 - 0.01 * i for i in range(58)]
MANAGER = "nv-fabricmanager: detected NVSwitch {} error 22013 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 8 port 41"
KERNEL = "nvidia-nvswitch1: SXid (PCI:0000:c1:00.0): 22013, {}, Link 41 Minion Link DLREQ interrupt"


def _event(words: str, minutes: float = 59.5, **fields: Any) -> GpuEvent:
    values = {"node": "n1", "event": "sxid", "xid": 22013, "pci_bus_id": "00000000:C1:00.0", "message": words}
    return GpuEvent(ts=T + timedelta(minutes=minutes), **(values | fields))


def _failed(folder: Path, error: str = "CUDA error: unspecified launch failure", state: str = "FAILED") -> World:
    world = World(folder).job(state).train(LOSSES, every_s=60.0)
    if "CUDA" in error:
        world.say("warning", "cuda_error", error, detail='{"code": "launch_failure"}', ts=T + timedelta(minutes=59.6))
    return world.say("exception", "RuntimeError", error, ts=T + timedelta(minutes=59.6))


@pytest.mark.parametrize("words", [MANAGER.format("fatal"), KERNEL.format("Fatal")])
def test_a_fatal_error_of_a_switch_as_the_job_ended_is_the_hardwares(words: str, tmp_path: Path) -> None:
    world = _failed(tmp_path).add(_event(words))
    found = judge(world, b2.assess)
    assert (found.status, found.attribution, found.confidence) == ("confirmed", "infrastructure", 0.85)
    told = differential.draft(world.facts())
    assert told.family == "B2" and "NVSwitch of" in told.headline
    assert any(m.text.startswith("NVSwitch") for m in told.timeline)


@pytest.mark.parametrize("words", [MANAGER.format("non-fatal"), KERNEL.format("Non-fatal")])
def test_what_is_not_fatal_is_a_warning_and_blames_nothing(words: str, tmp_path: Path) -> None:
    world = _failed(tmp_path).add(_event(words), _event(words, minutes=20))
    found = judge(world, b2.assess)
    assert found.status in ("ruled_out", "undecidable")
    assert any("not fatal by its driver's word" in w.text for w in found.warnings)
    assert differential.draft(world.facts()).attribution != "infrastructure"


def test_a_switch_does_not_explain_what_the_program_raised_by_itself(tmp_path: Path) -> None:
    world = _failed(tmp_path, "shape '[4, 8]' is invalid for input of size 31").add(_event(MANAGER.format("fatal")))
    found = judge(world, b2.assess)
    assert (found.status, found.attribution, found.confidence) == ("suspected", "undetermined", 0.45)
    told = differential.draft(world.facts())
    assert told.family == "A3" and any("NVSwitch" in w.text for w in told.warnings)


def test_a_run_that_trained_on_after_it_or_completed_was_not_ended_by_it(tmp_path: Path) -> None:
    early = judge(_failed(tmp_path).add(_event(MANAGER.format("fatal"), minutes=10)), b2.assess)
    done = World(tmp_path).job().train(LOSSES, every_s=60.0).add(_event(MANAGER.format("fatal")))
    assert early.status != "confirmed" and judge(done, b2.assess).status == "ruled_out"
    assert any("Have that switch looked at" in w.text for w in judge(done, b2.assess).warnings)


def test_what_comes_well_after_the_end_is_no_cause_of_it(tmp_path: Path) -> None:
    found = judge(_failed(tmp_path).add(_event(MANAGER.format("fatal"), minutes=63)), b2.assess)
    assert found.status != "confirmed"


def test_a_hang_is_explained_by_a_switch_that_failed_as_it_began(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES[:45], every_s=60.0)
    end = T + timedelta(minutes=59)
    world.say("nccl_watchdog", "collective_timeout", "Watchdog caught collective operation timeout", rank=1, ts=end)
    told = differential.draft(world.add(_event(MANAGER.format("fatal"), minutes=46)).facts())
    assert told.family == "B2"
    assert any(r.family == "C2" and "explained by the verdict" in r.text for r in told.ruled_out)


def test_a_switch_is_heard_where_every_gpus_address_is_known(tmp_path: Path) -> None:
    world = _failed(tmp_path).add(_event(MANAGER.format("fatal")))
    world.add(*(GpuDevice(node="n1", gpu=i, gpu_uuid=f"GPU-{i}", pci_bus_id=f"00000000:1{i}:00.0") for i in range(8)))
    assert judge(world, b2.assess).status == "confirmed"


def test_only_its_drivers_word_makes_it_fatal(tmp_path: Path) -> None:
    rows = World(tmp_path).job().add(_event("SXid (PCI:0000:c1:00.0): 22013, Severity 1 Engine instance 41"))
    assert not any(is_fatal(r) for r in rows.facts().table("gpu_events"))


def test_a_fabric_that_had_not_come_up_is_told_beside_the_drivers_error(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", minutes=1)
    world.say(
        "exception", "RuntimeError", "Error 802: system not yet initialized", detail='{"user_frame": "train.py:4"}'
    )
    words = "systemd: Failed to start NVIDIA fabric manager service."
    world.add(_event(words, minutes=-20, event="fabric", xid=None, pci_bus_id=None))
    told = differential.draft(world.facts())
    assert (told.family, told.attribution) == ("A1", "infrastructure")
    assert any("had not come up" in c.text for c in told.shows)
