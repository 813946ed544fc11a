"""A part that an exception ended while the other parts of the job worked on: steps side by side, tasks of one step."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.verdict import Draft
from store.rows import SlurmStep
from tests.agent_tools.families.world import JOB, T, World

FALLING = [3 + 7 * 0.97**i for i in range(40)]


def step(number: str, begins: float, ends: float, **fields: object) -> SlurmStep:
    """A step with its minutes after the job's start."""
    told = {"name": "python3", "state": "COMPLETED", "exit_code": 0, "exit_signal": 0, "tasks": 1, **fields}
    begun, over = T + timedelta(minutes=begins), T + timedelta(minutes=ends)
    return SlurmStep(
        job_id=JOB, attempt=1, step_id=number, start_ts=begun, end_ts=over, elapsed_s=(ends - begins) * 60, **told
    )  # type: ignore[arg-type]


def crashed(world: World, *, exits: bool = True) -> World:
    """Reports, the traceback of a part among them, srun's word of that part, and the other part's reports to their end."""
    world.train(FALLING, every_s=5, total_steps=800)
    world.say(
        "exception", "IndexError", "list index out of range", entry_frame="fit.py:41 in <module>", parser="traceback"
    )
    if exits:
        world.say(
            "slurm", "task_exit", "srun: error: n1: task 1: Exited with exit code 1", severity="error", exit_code=1
        )
    world.train(FALLING, every_s=40, first_step=410, total_steps=800)
    return world.say("train_end", "train_runtime", "training finished", severity="info")


def drafted(world: World) -> Draft:
    return differential(world.facts()).draft


FAILED = {"state": "FAILED", "exit_code": 1}


@pytest.mark.parametrize(
    "world",
    [
        lambda w: crashed(w.job()).add(step("0", 0, 60), step("1", 0, 4, **FAILED)),
        lambda w: crashed(w.job("FAILED")).add(step("0", 0, 60), step("1", 0, 4, **FAILED)),
        lambda w: crashed(w.job("FAILED")).add(step("0", 0, 60, tasks=3, **FAILED)),
        lambda w: crashed(w.job("FAILED")).add(step("0", 0, 60, tasks=3)),
    ],
    ids=["beside another, completed", "beside another", "a task of a step", "a task whose status accounting lost"],
)
def test_the_exception_is_the_cause_whatever_others_report_after_it(tmp_path: Path, world) -> None:
    draft = drafted(world(World(tmp_path)))
    assert draft.family == "A3"
    assert "The program crashed while training" in draft.headline


@pytest.mark.parametrize(
    "world",
    [
        lambda w: crashed(w.job()).add(step("0", 0, 4, **FAILED), step("1", 5, 60)),
        lambda w: crashed(w.job()).add(step("0", 0, 60), step("1", 0, 4, name="exporter", **FAILED)),
        lambda w: crashed(w.job(), exits=False).add(step("0", 0, 60, tasks=3)),
    ],
    ids=["tried again", "another program beside it", "caught"],
)
def test_where_it_may_have_been_caught_or_repeated_it_is_not(tmp_path: Path, world) -> None:
    assert drafted(world(World(tmp_path))).family != "A3"


def test_one_before_the_last_may_have_been_printed_by_a_program_that_went_on(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(FALLING[:9], every_s=5, total_steps=800)
    world.say("exception", "OSError", "cannot read shard", entry_frame="fit.py:30 in <module>", parser="traceback")
    draft = drafted(crashed(world).add(step("0", 0, 60, tasks=3, **FAILED)))
    assert draft.family == "A3"
    assert "OSError" not in " ".join(c.text for c in draft.shows[:1])
