"""From which checkpoint a run can go on."""

from __future__ import annotations

from pathlib import Path

from agent_tools.say import resumption
from tests.agent_tools.families.world import World


def run(folder: Path) -> World:
    world = World(folder).job("FAILED")
    for step in (100, 200):
        world.train([2.0, 1.9], first_step=step - 10)
        world.say(
            "checkpoint", "saving", f"Saving to out/step-{step}", severity="info", step=step, peer=f"out/step-{step}"
        )
    return world


def test_a_save_that_an_exception_cut_off_is_not_the_one_to_go_on_from(tmp_path: Path) -> None:
    cut = run(tmp_path / "cut").say("exception", "OSError", "[Errno 28] No space left on device")
    facts = cut.facts()
    first, second = facts.table("checkpoints").rows
    assert resumption(facts) == (
        f"Resume from the checkpoint of step {first['step']}, {first['path']} (its saving is announced in line "
        f"{first['line_no']}); the writing of another one, begun in line {second['line_no']}, failed; see that it is whole."
    )
    whole = run(tmp_path / "whole").train([1.8] * 5, first_step=210).say("exception", "ValueError", "bad value").facts()
    second = whole.table("checkpoints").rows[1]
    assert resumption(whole).startswith(f"Resume from the checkpoint of step {second['step']}, {second['path']} (")


def test_a_failure_to_save_breaks_only_the_save_before_it(tmp_path: Path) -> None:
    facts = run(tmp_path).say("checkpoint", "failed", "Could not save the checkpoint").facts()
    first = facts.table("checkpoints").rows[0]
    assert resumption(facts).startswith(f"Resume from the checkpoint of step {first['step']}")


def test_where_the_only_save_was_cut_off_none_is_named(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train([2.0, 1.9])
    world.say("checkpoint", "saving", "Saving to out/step-20", severity="info", step=20)
    facts = world.say("exception", "OSError", "[Errno 28] No space left on device").facts()
    assert resumption(facts).startswith("Its log announces no saved checkpoint")
