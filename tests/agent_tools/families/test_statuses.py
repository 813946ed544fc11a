"""An exit status of 128 and a signal's number: as a shell tells of it, and as sacct's text prints it, without 128."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.differential import draft
from agent_tools.verdict import Draft
from tests.agent_tools.families.world import World


def failed(folder: Path, status: int, whole: bool | None, *lines: str, **fields: object) -> Draft:
    world = World(folder).job("FAILED", exit_code=status, exit_code_whole=whole, **fields)
    for text in lines or ("preparing",):
        world.text(text)
    return draft(world.facts())


def test_a_whole_137_is_a_kill_by_convention(tmp_path: Path) -> None:
    found = failed(tmp_path, 137, True)
    assert (found.family, found.confidence) == ("A2", 0.7)


def test_a_whole_9_is_a_status_like_any_other(tmp_path: Path) -> None:
    found = failed(tmp_path, 9, True)
    assert found.family == "U0"
    assert "full_code" not in found.headline + found.disposition


@pytest.mark.parametrize("status", [9, 11, 15])
def test_what_may_be_either_is_left_open_and_both_are_told(tmp_path: Path, status: int) -> None:
    found = failed(tmp_path, status, False)
    assert found.family == "U0"
    assert all(
        word in text for word in ("exit_code]] or", "full_code]]") for text in (found.headline, found.disposition)
    )
    assert any("scontrol show job" in m.signal for m in found.cannot_decide)


@pytest.mark.parametrize("status", [1, 3])
def test_a_status_that_programs_give_is_not_doubted(tmp_path: Path, status: int) -> None:
    found = failed(tmp_path, status, False)
    assert "full_code" not in found.headline + found.disposition


def test_what_the_shell_printed_decides_between_the_two(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", exit_code=9, exit_code_whole=False)
    world.say("signal", "shell", "slurm_script: line 2:   765 Killed   python train.py", signal=9)
    assert draft(world.facts()).family == "A2"


def test_127_may_be_255_unless_the_shell_says_what_it_did_not_find(tmp_path: Path) -> None:
    doubted = failed(tmp_path / "a", 127, False)
    assert (doubted.family, doubted.confidence) == ("A4", 0.4)
    assert "full_code" in doubted.disposition
    assert failed(tmp_path / "b", 127, True).confidence == 0.45, "a shell that finds no program says so"
    assert failed(tmp_path / "c", 127, False, "slurm_script: line 9: torchrun: command not found").confidence == 0.93
    assert failed(tmp_path / "d", 255, True).family == "U0"
    unread = World(tmp_path / "e").job("FAILED", exit_code=127, exit_code_whole=False)
    assert draft(unread.facts()).confidence == 0.55, "what it printed is not there"


@pytest.mark.parametrize(("status", "signal"), [(143, "SIGTERM"), (130, "SIGINT")])
def test_a_signal_that_somebody_sends_is_named_and_its_sender_left_open(
    tmp_path: Path, status: int, signal: str
) -> None:
    found = failed(tmp_path, status, True)
    assert found.family == "U0"
    assert f"was ended by {signal}" in found.headline
