"""unexplained: an undetermined verdict tells the worst that the log says, and calls it no cause."""

from __future__ import annotations

from pathlib import Path

from agent_tools import differential
from agent_tools.families import f4_cancelled as f4
from tests.agent_tools.families.world import World, judge

ALSO = "without telling what came of it"


def test_what_the_log_complains_of_is_told_where_nothing_decides(tmp_path: Path) -> None:
    world = World(tmp_path).text("a line of output", "another one")
    world.say("launcher_event", "shell_error", "The following module(s) are unknown:", severity="warning")
    world.say(
        "warning", "on_cpu", "Skipping registering GPU devices...", severity="info", detail='{"code": "tensorflow"}'
    )
    world.text("a last line")
    told = differential.draft(world.facts())
    assert told.family == "U0" and sum(ALSO in c.text for c in told.shows) == 2


def test_nothing_is_added_to_a_verdict_or_said_twice(tmp_path: Path) -> None:
    quiet = World(tmp_path / "quiet").text("a line of output")
    sure = World(tmp_path / "sure").job("FAILED", minutes=2).say("exception", "KeyError", "'labels'")
    sure.say("launcher_event", "shell_error", "module: command not found", severity="warning")
    for world in (quiet, sure):
        assert not any(ALSO in c.text for c in differential.draft(world.facts()).shows)


def test_the_rest_of_a_step_that_srun_ended_is_no_cancel_and_the_first_task_is_named(tmp_path: Path) -> None:
    world = World(tmp_path).text("reading boundary data from file lbc.nc")
    world.say("slurm", "task_exit", "n2: task 5: Exited with exit code 255", exit_code=255)
    world.say("slurm", "force_terminated", "srun: Terminating StepId=4812.0", severity="warning")
    world.say("slurm", "cancelled", "*** STEP 4812.0 ON n1 CANCELLED AT 2026-03-01T10:40:00 ***", severity="fatal")
    world.say("slurm", "task_exit", "n1: task 1: Exited with exit code 1", exit_code=1)
    assert judge(world, f4.assess).status == "ruled_out"
    told = differential.draft(world.facts())
    first = told.headline
    assert told.family == "U0" and "nothing that is here says why" in first
    shown = world.facts().table("slurm_messages").rows
    assert "task 5" in shown[0].text("message") and ":1.message" not in first
    assert any(c.text.startswith("The last line before that is") for c in told.shows)
