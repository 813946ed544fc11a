"""A time limit that was reached beside what made the run slow: the confirmed cause of the slowness is told, and the wall is its end.

Where slowness has no cause that is confirmed the wall stays the verdict, and says what to do first; a hang goes before both.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from agent_tools.verdict import Draft
from store.rows import GpuSample
from tests.agent_tools.families.world import JOB, T, World

Fields = Callable[[int, int], dict[str, Any]]


def _hot(gpu: int, minute: int) -> dict[str, Any]:
    slow = gpu == 1 and minute >= 10
    return {"throttle_reasons": 0x40 if slow else 0, "sm_clock_mhz": 1000.0 if slow else 1900.0, "temp_c": 90.0}


def _straggles(gpu: int, minute: int) -> dict[str, Any]:
    return {"engine_active": 0.98, "sm_active": 0.75 if gpu == 1 else 0.1}


def _starves(gpu: int, minute: int) -> dict[str, Any]:
    return {"engine_active": 0.1, "sm_active": 0.05}


def _good(gpu: int, minute: int) -> dict[str, Any]:
    return {}


def _walled(folder: Path, fields: Fields, until: int = 118) -> Draft:
    """Two hours on four GPUs to the wall; the last report of training is that of the minute `until`."""
    world = World(folder).job("TIMEOUT", 120.0, gpus=4, node_list="n1", node_count=1, exit_code=0)
    world.train([2.0 - 0.005 * i for i in range(until)], every_s=60.0, total_steps=9000)
    for gpu in range(4):
        for minute in range(120):
            values = {"engine_active": 0.95, "sm_active": 0.7, "dram_active": 0.5, **fields(gpu, minute)}
            if minute > until:
                values |= {"engine_active": 1.0, "sm_active": 0.01, "dram_active": 0.0}
            at = T + timedelta(minutes=minute)
            world.add(GpuSample(node="n1", gpu=gpu, job_id=JOB, attempt=1, ts=at, **values))
    return differential.draft(world.facts())


@pytest.mark.parametrize(("fields", "family"), [(_hot, "B3"), (_straggles, "D3"), (_starves, "F3"), (_good, "F3")])
def test_a_confirmed_cause_of_slowness_is_told_before_the_wall(fields: Fields, family: str, tmp_path: Path) -> None:
    told = _walled(tmp_path, fields)
    assert told.family == family
    if family != "F3":
        wall = next(r for r in told.ruled_out if r.family == "F3")
        assert wall.text.startswith("Present, and explained by the verdict")
        assert told.headline.endswith("The time limit then ended the run.")
        assert any("under a limit of" in c.text for c in told.shows)
        assert told.actions[-1].text.startswith(("Resume", "Its log announces no saved checkpoint"))


def test_a_run_whose_gpus_did_little_is_to_be_made_faster_before_it_is_made_longer(tmp_path: Path) -> None:
    assert _walled(tmp_path / "starves", _starves).actions[0].text.startswith("Make it faster before it is made longer")
    assert not any("Make it faster" in a.text for a in _walled(tmp_path / "good", _good).actions)


def test_a_hang_goes_before_the_wall_and_what_made_the_run_slow(tmp_path: Path) -> None:
    told = _walled(tmp_path, _hot, until=70)
    assert told.family == "C2"
    assert {r.family: r.status for r in told.ruled_out}["F3"] == "secondary"
