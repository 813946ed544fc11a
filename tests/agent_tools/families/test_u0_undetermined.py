"""Where nothing decides, the headline says the most that is known: the exit status, the failed step, the error that was printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_tools.differential import draft
from agent_tools.verdict import Draft
from store.rows import SlurmStep
from tests.agent_tools.families.logkit import drafted, facts_of
from tests.agent_tools.families.world import JOB, World


def step(number: str, **fields: object) -> SlurmStep:
    told = {"name": "prep.sh", "state": "FAILED", "exit_code": 2, "exit_signal": 0, "elapsed_s": 1.0, **fields}
    return SlurmStep(job_id=JOB, attempt=1, step_id=number, **told)  # type: ignore[arg-type]


def undetermined(world: World) -> Draft:
    found = draft(world.facts())
    assert found.family == "U0", found.headline
    return found


@pytest.mark.parametrize(("status", "means"), [(3, ""), (124, "timeout"), (143, "SIGTERM")])
def test_the_exit_status_is_told_and_what_it_means_by_convention(tmp_path: Path, status: int, means: str) -> None:
    found = undetermined(World(tmp_path).job("FAILED", exit_code=status).text("preparing"))
    assert "exit status [[" in found.headline
    assert "nothing that it printed says why" in found.headline
    assert [c.status for c in found.implies] == (["hypothesis"] if means else [])
    assert not means or means in found.implies[0].text


@pytest.mark.parametrize(("path", "told"), [("/dev/null", True), ("/home/ada/run/slurm-%j.out", False)])
def test_an_output_that_went_nowhere_is_not_asked_for_again(tmp_path: Path, path: str, told: bool) -> None:
    found = undetermined(World(tmp_path).job("FAILED", exit_code=3, stdout_path=path))
    assert "what it printed is not here" in found.headline
    assert any("nobody kept it" in c.text for c in found.shows) is told
    assert any("--output" in c.text for c in found.actions) is told


def test_of_a_failed_job_without_a_log_the_step_that_failed_is_the_headline(tmp_path: Path) -> None:
    found = undetermined(World(tmp_path).job("FAILED").add(step("0", state="COMPLETED", exit_code=0), step("1")))
    assert found.headline.startswith("The job failed: step [[")


def test_a_step_that_failed_in_a_short_job_is_not_lost_behind_its_shortness(tmp_path: Path) -> None:
    world = World(tmp_path).job(minutes=4 / 60).add(step("0"), step("1", state="COMPLETED", exit_code=0, elapsed_s=3.0))
    found = undetermined(world.text("preprocessing", "training"))
    assert "completed, but its step [[" in found.headline
    assert any("nothing shows that it did any work" in c.text for c in found.shows)


def test_an_error_that_was_printed_in_a_job_called_completed_is_the_headline(tmp_path: Path) -> None:
    """Workers in the background that all failed, and a script that waits for them and ends well."""
    world = World(tmp_path).job(minutes=4 / 60)
    for n in range(3):
        world.say("cuda_oom", "cuda", f"worker {n}: CUDA out of memory")
    found = undetermined(world)
    assert "completed, but by its log CUDA ran out of memory" in found.headline
    assert any("exit status is that of the batch script" in m.text for m in found.cannot_decide)


@pytest.mark.parametrize(("spent_s", "family"), [(0.0, "A1"), (1.0, "A1")])
def test_a_program_that_crashed_within_the_first_second_is_found_out(
    tmp_path: Path, spent_s: float, family: str
) -> None:
    """Accounting gives whole seconds: of a job over at once neither the whole nor the step took any time."""
    world = World(tmp_path).job(minutes=spent_s / 60).say("exception", "ValueError", "unknown scheduler")
    assert draft(world.add(step("0", elapsed_s=0.0)).facts()).family == family


@pytest.mark.parametrize("done", [True, False])
def test_an_abort_over_an_error_of_cuda_is_told_in_the_program_s_words(tmp_path: Path, done: bool) -> None:
    """It printed why it failed; whether the training was over by then says how much is lost."""
    world = World(tmp_path).job("FAILED", exit_code=134).train([3.0 - 0.1 * i for i in range(20)])
    if done:
        world.say("train_end", "finished", "train_runtime 2812.5", severity="info")
    world.say("warning", "cuda_error", "what(): CUDA error: driver shutting down")
    found = undetermined(world.say("signal_kill", "terminate", "terminate called", signal=6))
    assert "aborted itself over an error of CUDA's: [[" in found.headline
    assert ("its training had finished" in found.headline) is done
    assert not any("gives no reason" in m.text for m in found.cannot_decide)


REPORT = "reading parts\n\nSender: LSF System <lsf@n7>\nSubject: Job 71: <fit> in cluster <c2> Exited\n\nExited with exit code 1.\n\nabove\n\n"


def test_who_tells_of_an_end_is_named_and_the_last_line_is_counted_as_an_editor_does(tmp_path: Path) -> None:
    found = drafted(REPORT, tmp_path)
    assert found.family == "U0"
    told = [re.sub(r"\[\[.*?\]\]", "·", c.text) for c in found.shows]
    assert "LSF reports it: ·." in told
    assert any(m.text.startswith("LSF, in the log: ") for m in found.timeline)
    assert told[0] == "The log · ends at line · with: ·."
    facts = facts_of(REPORT, tmp_path / "again")
    extent = facts.table("log_extent").first
    assert extent is not None
    assert extent.number("last_line") == 8
