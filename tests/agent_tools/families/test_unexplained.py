"""unexplained: an undetermined verdict tells the worst that the log says, and calls it no cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import f4_cancelled as f4
from agent_tools.unexplained import CAUGHT
from tests.agent_tools.families.logkit import drafted, looped
from tests.agent_tools.families.world import World, judge

ALSO = "without telling what came of it"


def test_what_the_log_complains_of_is_told_where_nothing_decides(tmp_path: Path) -> None:
    world = World(tmp_path).text("a line of output", "another one")
    world.say("launcher_event", "shell_error", "job.sh: line 9: conda: command not found", severity="warning")
    world.say(
        "warning", "on_cpu", "Skipping registering GPU devices...", severity="info", detail='{"code": "tensorflow"}'
    )
    world.text("a last line")
    told = differential.draft(world.facts())
    assert told.family == "U0" and sum(ALSO in c.text for c in told.shows) == 2


LMOD = (
    'Lmod has detected the following error:  These module(s) or extension(s) exist but cannot be loaded as requested: "cuDNN/8.9.9"\n'
    '   Try: "module spider cuDNN/8.9.9" to see how to load the module(s).\n'
)


@pytest.mark.parametrize(
    ("after", "named"),
    [("", True), ("reading the corpus\n", True), ("ValueError: no corpus at lib/\n", False), (looped(10, 100), False)],
)
def test_a_module_that_was_not_loaded_is_the_headline_where_nothing_else_is_known(
    tmp_path: Path, after: str, named: bool
) -> None:
    told = drafted(LMOD + after, tmp_path)
    assert ("could not load a module" in told.headline) is named and (not named or told.family == "U0")
    assert not any(ALSO in c.text for c in told.shows), "it is not said twice"


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("WARNING: could not keep e1.pt in /data/mira/ckpt: [Errno 28] No space left on device\n", True),
        ("WARNING: could not read /data/mira/a.bin at once, took the copy\n", False),
    ],
)
def test_a_disk_without_room_is_told_beside_a_run_that_went_on(tmp_path: Path, line: str, warned: bool) -> None:
    told = drafted(looped(10, 300) + line + looped(300, 600), tmp_path)
    assert told.family == "G1"
    assert any("could not be written" in c.text for c in told.warnings) is warned
    assert any("leave behind is whole" in m.text for m in told.cannot_decide) is warned


SUMMARY = "----------------------\nError Message Summary:\n----------------------\n"


@pytest.mark.parametrize(
    "said",
    [
        SUMMARY + "ExternalError: NCCL error(5), invalid usage. \n  [Hint: Please search for the error code(5)] (at /paddle/NCCLTools.cc:9)\n",
        "Traceback (most recent call last):\n  File \"serve.py\", line 9, in <module>\n    start()\n"
        "RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)\n",
    ],
)  # fmt: skip
def test_a_call_of_nccl_that_was_wrong_is_no_echo_of_another_ranks_end(tmp_path: Path, said: str) -> None:
    told = drafted(said, tmp_path)
    assert (told.family, told.mode) == ("A1", "config"), told.headline


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


def test_an_error_that_is_caught_after_the_end_is_a_doubt_and_no_failure(tmp_path: Path) -> None:
    steps = "".join(
        f"{{'loss': {3 - 0.02 * n:.2f}, 'learning_rate': 1e-4, 'epoch': {n / 50:.2f}}}\n" for n in range(50)
    )
    done = "{'train_runtime': 100.0, 'train_steps_per_second': 0.5, 'train_loss': 2.5, 'epoch': 1.0}\n"
    told = drafted(
        f"{steps}{done}Error reading the log-in: [Errno 2] No such file or directory: '/home/ada/.netrc'\n", tmp_path
    )
    assert (told.family, told.confidence) == ("G1", CAUGHT)
    assert any("its log ends with" in m.text for m in told.cannot_decide)
