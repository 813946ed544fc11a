"""Steps that a program counts anew in each epoch, below a heading for it: no restart, no end of the run, and training all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import e2_silent_restart as e2
from agent_tools.families import f2_requeue as f2
from agent_tools.families import g1_healthy as g1
from tests.agent_tools.families.world import World, judge

LOSSES = [2.5 * 0.985**i for i in range(50)]


def epochs(folder: Path, last: int = 10, of: int = 5, total: int | None = 500) -> World:
    """Five epochs of ten reports each; of the last one that is there only `last` reports."""
    world = World(folder)
    for e in range(of):
        world.text(f"=== Epoch {e + 1}/5 ===")
        here = LOSSES[10 * e : 10 * e + (last if e == of - 1 else 10)]
        world.train(here, stride=50, total_steps=total)
    return world


def test_a_log_that_stops_within_an_epoch_is_not_that_of_a_run_that_is_done(tmp_path: Path) -> None:
    found = judge(epochs(tmp_path, last=6, of=2), g1.assess)
    assert (found.status, found.confidence) == ("suspected", 0.48) and "its end is not in it" in found.headline
    assert "planned steps were reported" not in " ".join(c.text for c in found.speaks_for)


def test_the_steps_of_a_run_that_are_all_reported_are_its_end(tmp_path: Path) -> None:
    """One pass, which needs no word of an end; and a resumed run, whose steps go back a little and not to the beginning."""
    whole = World(tmp_path / "whole").train(LOSSES, stride=10, total_steps=500)
    assert judge(whole, g1.assess).status == "confirmed"
    again = World(tmp_path / "again").train(LOSSES[:48], stride=10, total_steps=500)
    again.train(LOSSES[44:], first_step=450, stride=10, total_steps=500)
    assert judge(again, g1.assess).status == "confirmed"


def test_ranks_that_report_the_last_steps_one_after_another_do_not_begin_anew(tmp_path: Path) -> None:
    world = World(tmp_path)
    for rank in (0, 1):
        world.train(LOSSES, stride=10, total_steps=500, rank=rank)
    assert judge(world, g1.assess).status == "confirmed"


@pytest.mark.parametrize("total", [500, None])
def test_steps_that_begin_anew_in_each_epoch_are_no_restart(tmp_path: Path, total: int | None) -> None:
    world = epochs(tmp_path, total=total).say("train_end", "completed", "Training complete.", severity="info").job()
    assert judge(world, e2.assess).status == judge(world, f2.assess).status == "ruled_out"
    assert differential.draft(world.facts()).family == "G1"


HEADINGS = ["=== Epoch 1/10 ===", "reading shards", "=== Epoch 2/10 ===", "reading shards", "=== Epoch 3/10 ==="]
SPELLED = ["Epoch 1 of 10", "reading shards", "Epoch 2 of 10", "reading shards", "Epoch 3 of 10"]
LOGGED = [f"2026-03-01 10:0{i}:00,100 INFO ===== {t} =====" if t[:1] == "E" else t for i, t in enumerate(SPELLED)]
REACHED = ["Epoch 1 of 10", "reached step 100", "reached step 200"]


@pytest.mark.parametrize("lines", [HEADINGS, SPELLED, LOGGED, REACHED], ids=["marked", "spelled", "logged", "reached"])
def test_a_crash_after_headings_of_later_epochs_or_steps_that_were_reached_came_while_it_trained(
    tmp_path: Path, lines: list[str]
) -> None:
    world = World(tmp_path).text(*lines).say("exception", "KeyError", "'labels'").job("FAILED")
    draft = differential.draft(world.facts())
    assert (draft.family, draft.attribution) == ("A3", "job")


@pytest.mark.parametrize(
    "lines",
    [
        ["=== Epoch 1/10 ==="],
        ["Epoch 1: lr 0.1", "Epoch 2: lr 0.01", "Epoch 3: lr 0.001"],
        ["Epoch 3 of 10", "reading shards"],
        ["will stop when it has reached step 4000", "max reached step: 10"],
    ],
    ids=["the first alone", "a schedule", "none before it", "a plan"],
)
def test_a_heading_or_a_plan_alone_is_no_progress(tmp_path: Path, lines: list[str]) -> None:
    world = World(tmp_path).text(*lines).say("exception", "KeyError", "'labels'").job("FAILED")
    assert differential.draft(world.facts()).family == "A1"
