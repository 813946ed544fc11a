"""What a batch script does to its programs: a limit by timeout, an end that waits for no step, a status of its own, a crash gone over;
unknown_sender: a signal of which nobody is known to have sent it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.families import a4_never_started as a4
from agent_tools.families import f4_cancelled as f4
from agent_tools.verdict import Draft
from store.rows import SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge

FALLING = [3 + 7 * 0.97**i for i in range(40)]


def drafted(world: World) -> Draft:
    return differential(world.facts()).draft


BATCH = SlurmStep(job_id=JOB, attempt=1, step_id="batch", state="FAILED")


def test_the_status_of_timeout_says_who_interrupted_the_program(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 30, exit_code=124).train(FALLING)
    a = judge(world.add(BATCH).say("exception", "KeyboardInterrupt"), f4.assess)
    assert (a.status, a.attribution) == ("confirmed", "job")
    assert "the command timeout" in a.headline
    assert not any(m.text.startswith("Who") for m in a.missing)


@pytest.mark.parametrize(("kind", "code", "sent", "said"), [("keyboard", 2, 0, "SIGINT"), (None, 0, 15, "by signal")])
def test_of_an_unknown_sender_the_signal_is_named(
    tmp_path: Path, kind: str | None, code: int, sent: int, said: str
) -> None:
    world = World(tmp_path).job("FAILED", 30, exit_code=code, exit_signal=sent).train(FALLING)
    world.add(BATCH)
    a = judge(world.say("interrupt", kind, "KeyboardInterrupt") if kind else world, f4.assess)
    assert said in a.headline
    assert "who asked for it is not known" in a.headline


@pytest.mark.parametrize(
    ("state", "by", "left"), [("CANCELLED", None, True), ("CANCELLED", "ada", False), ("COMPLETED", None, False)]
)
def test_a_step_that_the_script_did_not_wait_for_is_named(
    tmp_path: Path, state: str, by: str | None, left: bool
) -> None:
    world = World(tmp_path).job("COMPLETED", 10)
    step = SlurmStep(
        job_id=JOB, attempt=1, step_id="0", name="fit", state=state, exit_code=0, exit_signal=0, cancelled_by=by,
        start_ts=T, end_ts=T + timedelta(minutes=10), elapsed_s=600.0,
    )  # fmt: skip
    world.add(step).text("leaving").say(
        "slurm", "task_exit", "srun: error: n1: task 0: Terminated", exit_code=143, signal=15
    )
    assert (drafted(world).headline.startswith("The batch script ended while its step")) is left


@pytest.mark.parametrize(("text", "status"), [("packing shards", "suspected"), ("", "confirmed")])
def test_a_shells_status_for_a_missing_program_needs_the_shells_word_where_a_log_is_there(
    tmp_path: Path, text: str, status: str
) -> None:
    world = World(tmp_path).job("FAILED", 0.1, exit_code=126)
    assert judge(world.text(text) if text else world, a4.assess).status == status


def finished(folder: Path) -> World:
    world = World(folder).job().train(FALLING, every_s=40, total_steps=400)
    return world.say("train_end", "train_runtime", "training finished", severity="info")


@pytest.mark.parametrize(("number", "told"), [(11, True), (15, False)])
def test_a_crash_that_the_script_goes_over_is_told_beside_a_good_end(tmp_path: Path, number: int, told: bool) -> None:
    world = finished(tmp_path).say("signal", "shell", "run.sh: line 9: 412 ended ./export", signal=number)
    draft = drafted(world)
    assert draft.family == "G1"
    assert (draft.confidence <= 0.6) is told
    assert any("a program of the batch script was ended by" in w.text for w in draft.warnings) is told
