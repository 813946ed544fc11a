"""e2_silent_restart where nothing had been saved (nothing_saved): a run before that told of no checkpoint, or no run before at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families.base import Assessment
from agent_tools.families.e2_silent_restart import assess
from store.rows import LogEvent, LogLine, SlurmJob, TrainStep
from tests.agent_tools.families.world import T, World, judge

FRESH = [10.9 - 0.1 * i for i in range(40)]
NONE = "no checkpoint found, starting from scratch"


def follows(folder: Path, *, saves: bool = False, log: bool = True, depends: bool = True) -> World:
    """Job 4811 was stopped after two hours; job 4812 has its name and folder, and asks to resume."""
    end = T - timedelta(minutes=10)
    world = World(folder).add(
        SlurmJob(
            job_id="4811", attempt=1, name="pretrain", user="ada", work_dir="/home/ada/run", state="TIMEOUT",
            start_ts=end - timedelta(hours=2), end_ts=end, ts=end, elapsed_s=7200.0,
        )
    )  # fmt: skip
    if log:
        world.add(
            *(
                TrainStep(
                    job_id="4811", file="slurm-4811.out", line_no=i, split="train", step=10 * i, loss=10.9 - 0.1475 * i, ts=end
                )
                for i in range(1, 41)
            )
        )  # fmt: skip
    if saves:
        world.add(LogEvent(job_id="4811", kind="checkpoint", name="saved", file="slurm-4811.out", line_no=90, ts=end))
    chained = "sbatch --dependency=afterany:4811 t.sh --resume auto" if depends else "sbatch t.sh --resume auto"
    return world.job(submit_line=chained, dependency="")


def again(folder: Path, *, saves: bool) -> World:
    """A preempted job that ran again and began anew; each attempt has its log."""
    world = World(folder).job("PREEMPTED", 30).job("COMPLETED", 60, attempt=2, start_ts=T + timedelta(minutes=35))
    world.train([10.9 - 0.15 * i for i in range(40)], attempt=1, file="a1.out")
    if saves:
        world.say("checkpoint", "saved", "saved", attempt=1, file="a1.out", severity="info")
    return world


def finds_none(world: World, **fields: object) -> World:
    return world.say("checkpoint", "none_found", NONE, severity="info", **fields)


def told(found: Assessment) -> str:
    return " ".join(c.text for c in (*found.speaks_for, *found.implies, *found.actions))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_run_before_that_told_of_no_save_leaves_open_whether_there_was_anything_to_go_on_from(
    tmp_path: Path, fresh: bool
) -> None:
    world = finds_none(follows(tmp_path)) if fresh else follows(tmp_path)
    found = judge(world.train(FRESH), assess)
    assert (found.status, found.mode, found.confidence) == ("confirmed", "silent", 0.8)
    assert "no checkpoint is known" in found.headline and "silently" not in found.headline
    assert "not honoured" not in told(found) and "stopped before its first save" in told(found)
    assert ("this one found none" in told(found)) is fresh
    assert any("saved anything at all" in m.text for m in found.missing)


def test_an_earlier_attempt_that_told_of_no_save_is_the_same(tmp_path: Path) -> None:
    for saves, confidence in ((False, 0.8), (True, 0.93)):
        world = finds_none(again(tmp_path / str(saves), saves=saves), attempt=2, file="a2.out")
        found = judge(world.train(FRESH, attempt=2, file="a2.out"), assess)
        assert (found.mode, found.confidence) == ("silent", confidence)
        assert ("not honoured" in told(found)) is saves


def test_a_run_before_that_saved_was_not_honoured(tmp_path: Path) -> None:
    found = judge(finds_none(follows(tmp_path, saves=True)).train(FRESH), assess)
    assert found.confidence == 0.93 and "not honoured" in told(found)
    assert "silently" in found.headline


def test_a_checkpoint_that_is_named_by_its_step_was_saved_by_somebody(tmp_path: Path) -> None:
    world = follows(tmp_path)
    world.text("args: --resume_from_checkpoint /scratch/out/checkpoint-400")
    assert judge(world.train(FRESH), assess).confidence == 0.93


@pytest.mark.parametrize("asks", ["--resume auto", "--auto-resume", "--resume-from-checkpoint out/latest"])
def test_a_script_that_always_asks_to_resume_is_healthy_in_its_first_run(tmp_path: Path, asks: str) -> None:
    world = finds_none(World(tmp_path).job(submit_line=f"sbatch t.sh {asks}")).train(FRESH)
    found = judge(world, assess)
    assert found.status == "undecidable" and "in its first run" in found.counterfactual
    assert differential.draft(world.facts()).family == "G1"


@pytest.mark.parametrize("asks", ["--resume out/checkpoint-500", "--resume-from-checkpoint=/scratch/run/step_2000.pt"])
def test_a_checkpoint_of_a_step_that_is_not_there_is_no_first_run(tmp_path: Path, asks: str) -> None:
    world = finds_none(World(tmp_path).job(submit_line=f"sbatch t.sh {asks}")).train(FRESH)
    assert (judge(world, assess).status, differential.draft(world.facts()).family) == ("confirmed", "E2")


def test_a_file_without_a_step_may_be_named_from_the_start(tmp_path: Path) -> None:
    world = finds_none(World(tmp_path).job(submit_line="sbatch t.sh --resume out/model.pth")).train(FRESH)
    assert judge(world, assess).status == "suspected"


def test_a_run_before_that_is_known_by_its_name_alone_is_less_sure_than_one_that_it_depends_on(tmp_path: Path) -> None:
    sure = {
        depends: judge(
            finds_none(follows(tmp_path / str(depends), log=False, depends=depends)).train(FRESH), assess
        ).confidence
        for depends in (True, False)
    }
    assert sure == {True: 0.85, False: 0.62}


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("Restarted by Slurm: SLURM_RESTART_COUNT=1", True),
        ("slurm has requeued this job", True),
        ("SLURM_RESTART_COUNT=0", False),
        ("restart count of the loader: 1", False),
    ],
)
def test_a_log_that_says_that_slurm_restarted_the_job_is_of_no_first_run(
    tmp_path: Path, line: str, again: bool
) -> None:
    world = finds_none(World(tmp_path).job(submit_line="sbatch t.sh --resume")).train(FRESH)
    world.rows.append(LogLine(job_id="4812", attempt=1, ts=T, file="train.log", line_no=2, text=line))
    found = judge(world, assess)
    assert (found.status, found.confidence) == (("confirmed", 0.72) if again else ("undecidable", 0.2))
    assert ("restart_message" in told(found)) is again


def test_a_record_that_counts_a_restart_is_of_no_first_run(tmp_path: Path) -> None:
    world = finds_none(World(tmp_path).job(submit_line="sbatch t.sh --resume", restarts=1)).train(FRESH)
    assert judge(world, assess).confidence == 0.72


def test_a_run_that_failed_of_something_else_is_not_said_to_have_looked_for_what_it_did_not(tmp_path: Path) -> None:
    world = follows(tmp_path, saves=True)
    world.rows = [r for r in world.rows if not (isinstance(r, SlurmJob) and r.job_id == "4812")]
    world.job("FAILED", submit_line="sbatch --dependency=afterany:4811 t.sh --resume auto", dependency="")
    found = judge(world.train(FRESH).say("exception", "KeyError", "'labels'"), assess)
    assert found.confidence <= 0.5 and "looked for" not in found.headline
