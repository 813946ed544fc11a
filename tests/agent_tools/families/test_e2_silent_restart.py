from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.families.base import Assessment
from agent_tools.families.e2_silent_restart import assess
from store.rows import LogEvent, SlurmJob, TrainStep
from tests.agent_tools.families.world import T, World, judge

FRESH = [10.9 - 0.1 * i for i in range(40)]
LOADED = "successfully loaded checkpoint from /scratch/run at iteration 400"


def parent(folder: Path) -> World:
    """Job 4811 trained 400 steps from 10.9 to 5.0 and saved; job 4812 depends on it."""
    world = World(folder)
    end = T - timedelta(minutes=10)
    world.add(
        SlurmJob(job_id="4811", attempt=1, name="pretrain", user="ada", work_dir="/home/ada/run", state="COMPLETED",
                 start_ts=T - timedelta(hours=2), end_ts=end, ts=end),
        LogEvent(job_id="4811", kind="checkpoint", name="saved", file="slurm-4811.out", line_no=90, ts=end),
        *(
            TrainStep(job_id="4811", file="slurm-4811.out", line_no=i, split="train", step=10 * i, loss=10.9 - 0.1475 * i, ts=end)
            for i in range(1, 41)
        ),
    )  # fmt: skip
    return world


def resume(folder: Path) -> World:
    return parent(folder).job(submit_line="sbatch --dependency=afterany:4811 train.sh --resume", dependency="")


def test_a_resume_without_a_marker_whose_loss_is_back_at_the_start_is_silent(tmp_path: Path) -> None:
    a = judge(resume(tmp_path).train(FRESH), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "silent", "job")
    assert a.confidence >= 0.85


def test_bars_in_another_file_do_not_hide_the_losses_at_the_start(tmp_path: Path) -> None:
    """The bar goes to standard error, whose file comes first, and the losses to standard output."""
    world = resume(tmp_path).train([None] * 20, file="slurm-4812.err").train(FRESH, step=None)
    a = judge(world, assess)
    assert (a.status, a.confidence >= 0.85) == ("confirmed", True)


@pytest.mark.parametrize(
    ("traced", "status"),
    [
        ("+ python train.py --resume_from_checkpoint out/last", "confirmed"),
        ("0: ++ srun --label python -u train.py --resume auto", "confirmed"),
        ("+ python train.py --resume none", "ruled_out"),
        ("+ echo 'resume by hand if this fails'", "ruled_out"),
        ("to go on: python train.py --resume out/last", "ruled_out"),
    ],
)
def test_a_shell_that_traces_its_commands_tells_of_the_flag(tmp_path: Path, traced: str, status: str) -> None:
    """Older Slurm keeps no submit line; the run before is known by its name and folder."""
    world = parent(tmp_path).job(submit_line=None, dependency="").text(traced).train(FRESH)
    assert judge(world, assess).status == status


def test_a_dependency_on_a_run_that_trained_is_a_resume_even_without_a_flag(tmp_path: Path) -> None:
    world = parent(tmp_path).job(dependency="afterok:4811").train(FRESH)
    assert judge(world, assess).status == "confirmed"


def test_a_resume_that_prints_its_marker_is_ruled_out(tmp_path: Path) -> None:
    world = resume(tmp_path).say("checkpoint", "loaded", LOADED, severity="info", step=400)
    assert judge(world.train([5.0 - i / 50 for i in range(40)], first_step=410), assess).status == "ruled_out"


def test_a_resume_without_a_marker_whose_loss_goes_on_did_load(tmp_path: Path) -> None:
    a = judge(resume(tmp_path).train([5.0 - i / 50 for i in range(40)], first_step=410), assess)
    assert (a.status, a.confidence < 0.1) == ("ruled_out", True)


def after(
    folder: Path, losses: list[float], first_step: int = 10, fresh: str = "", asks: str = " --resume", **parent: Any
) -> Assessment:
    """Job 4811 left no log; job 4812 follows it with --resume and prints no marker."""
    end = T - timedelta(minutes=10)
    known: dict[str, Any] = {"name": "pretrain", "state": "TIMEOUT", "elapsed_s": 86400.0, **parent}
    before = SlurmJob(
        job_id="4811", attempt=1, user="ada", start_ts=end - timedelta(days=1), end_ts=end, ts=end, **known
    )
    line = f"sbatch --dependency=afterany:4811 t.sh{asks}"
    world = World(folder).add(before).job(submit_line=line, dependency="")
    if fresh:
        world.say("checkpoint", "from_scratch", fresh, severity="info")
    return judge(world.train(losses, first_step=first_step), assess)


def test_a_run_that_learns_from_the_start_after_one_that_was_stopped_did_not_resume(tmp_path: Path) -> None:
    steep, level = [10.9 - 0.2 * i for i in range(40)], [3.1 - 0.005 * i for i in range(40)]
    found = after(tmp_path / "a", steep)
    assert (found.status, found.mode, 0.5 < found.confidence < 0.7) == ("confirmed", "silent", True)
    assert found.missing
    others: dict[str, dict[str, Any]] = {
        "the loss is where a trained model has it": {"losses": level},
        "the steps go on": {"losses": steep, "first_step": 4010},
        "another job prepared the data": {"losses": steep, "name": "tokenize"},
        "the run before failed, and may have saved nothing": {"losses": steep, "state": "FAILED"},
        "the run before was short": {"losses": steep, "elapsed_s": 300.0},
    }
    for i, (why, told) in enumerate(others.items()):
        assert after(tmp_path / str(i), **told).status != "confirmed", why


def test_a_run_that_finds_no_checkpoint_after_one_of_its_name_that_was_stopped_was_to_resume(tmp_path: Path) -> None:
    """A script that loads from where it saves asks for nothing; in its first run it says the same."""
    found: dict[str, Any] = {
        "losses": FRESH,
        "asks": "",
        "fresh": "will not load any checkpoints and will start from random",
    }
    silent = after(tmp_path / "a", **found)
    assert (silent.status, silent.mode) == ("confirmed", "silent") and silent.missing
    assert silent.confidence < after(tmp_path / "asks", **(found | {"asks": " --resume"})).confidence
    others: dict[str, dict[str, Any]] = {
        "it had done its work": {"state": "COMPLETED"},
        "it may have saved nothing": {"elapsed_s": 300.0},
        "another program": {"name": "tokenize"},
        "nobody looked for a checkpoint": {"fresh": ""},
    }
    for i, (why, told) in enumerate(others.items()):
        assert after(tmp_path / str(i), **(found | told)).status != "confirmed", why


def test_a_first_run_that_says_so_is_healthy(tmp_path: Path) -> None:
    world = World(tmp_path).job().say("checkpoint", "from_scratch", "Training from scratch", severity="info")
    assert judge(world.train(FRESH), assess).status == "ruled_out"


def test_the_same_script_run_again_without_a_flag_is_no_resume(tmp_path: Path) -> None:
    assert judge(parent(tmp_path).job().train(FRESH), assess).status == "ruled_out"


def test_a_requeued_attempt_that_starts_anew_is_silent(tmp_path: Path) -> None:
    world = World(tmp_path).job("PREEMPTED", 30).job("COMPLETED", 60, attempt=2, start_ts=T + timedelta(minutes=35))
    world.train([10.9 - 0.15 * i for i in range(40)], attempt=1, file="a1.out")
    world.say("checkpoint", "saved", "saved", attempt=1, file="a1.out", severity="info")
    a = judge(world.train(FRESH, attempt=2, file="a2.out"), assess)
    assert (a.status, a.mode) == ("confirmed", "silent")


def test_a_run_that_starts_anew_and_then_fails_of_something_else_did_not_end_because_of_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("PREEMPTED", 30).job("FAILED", 60, attempt=2, start_ts=T + timedelta(minutes=35))
    world.train([10.9 - 0.15 * i for i in range(40)], attempt=1, file="a1.out")
    world.say("checkpoint", "saved", "saved", attempt=1, file="a1.out", severity="info")
    world.train(FRESH, attempt=2, file="a2.out").say("exception", "KeyError", "'labels'", attempt=2, file="a2.out")
    a = judge(world, assess)
    assert (a.status, a.mode) == ("suspected", "silent")
    assert a.confidence <= 0.5


def test_a_requeued_job_that_appends_to_its_log_is_silent_where_loss_and_steps_begin_again(tmp_path: Path) -> None:
    world = World(tmp_path).train([10.9 - 0.15 * i for i in range(40)])
    world.rows.insert(
        5, LogEvent(job_id="4812", kind="checkpoint", name="saved", file="slurm-4812.out", line_no=5, ts=T)
    )
    world.say("slurm", "requeued", "*** JOB 4812 ON n1 CANCELLED AT X DUE TO JOB REQUEUE ***")
    assert judge(world.train(FRESH), assess).mode == "silent"


@pytest.mark.parametrize(
    "message",
    [
        "Error(s) in loading state_dict for GPT: size mismatch for embed.weight: copying a param with shape [50304, 768]",
        "PytorchStreamReader failed reading zip archive: failed finding central directory",
        "invalid load key, '\\x00'.",
    ],
)
def test_a_crash_at_the_load_of_a_resume_is_a_load_crash(tmp_path: Path, message: str) -> None:
    world = resume(tmp_path)
    world.rows = [r for r in world.rows if not (isinstance(r, SlurmJob) and r.job_id == "4812")]
    world.job("FAILED", 1, submit_line="sbatch --dependency=afterany:4811 train.sh --resume")
    a = judge(world.say("exception", "RuntimeError", message), assess)
    assert (a.status, a.mode, a.confidence >= 0.9) == ("confirmed", "load_crash", True)


def test_no_valid_checkpoint_found_is_a_resume_by_its_own_words(tmp_path: Path) -> None:
    a = judge(
        World(tmp_path).say("exception", "ValueError", "No valid checkpoint found in output directory (out)"), assess
    )
    assert (a.status, a.mode) == ("confirmed", "load_crash")


def test_a_base_model_whose_shapes_do_not_fit_is_not_a_resume(tmp_path: Path) -> None:
    message = "Error(s) in loading state_dict for Llama: size mismatch for model.embed_tokens.weight"
    a = judge(World(tmp_path).say("exception", "RuntimeError", message), assess)
    assert (a.status, a.confidence < 0.3) == ("undecidable", True)


def test_without_the_parents_losses_it_is_left_open(tmp_path: Path) -> None:
    a = judge(resume(tmp_path).train(FRESH).without(TrainStep, LogEvent), assess)
    assert a.status == "undecidable"
    assert "run before" in a.missing[0].signal


@pytest.mark.parametrize(
    ("printed", "status"),
    [
        ("args: --resume_from_checkpoint /scratch/out/checkpoint-1500 --lr 3e-4", "confirmed"),
        ("arguments: train.py --lr 3e-4", "undecidable"),
        ("warning: --resume_from_checkpoint /scratch/out/checkpoint-1500 was not given", "undecidable"),
    ],
)
def test_printed_arguments_that_name_a_later_checkpoint_tell_a_run_that_begins_anew(
    tmp_path: Path, printed: str, status: str
) -> None:
    """The submit line says no more than `--resume auto`."""
    world = resume(tmp_path).text(printed).train(FRESH).without(TrainStep, LogEvent).train(FRESH)
    assert judge(world, assess).status == status


def test_a_load_that_fails_after_the_run_said_what_it_resumes_from_is_a_load_crash(tmp_path: Path) -> None:
    """Some print the word before they load, others after it."""
    mismatch = "Error(s) in loading state_dict for Net: size mismatch for head.weight: copying a param with shape"
    world = (
        World(tmp_path)
        .job("FAILED")
        .say("checkpoint", "resumed", "Resuming from checkpoint /out/last", severity="info")
    )
    a = judge(world.say("exception", "RuntimeError", mismatch), assess)
    assert (a.status, a.mode) == ("confirmed", "load_crash")


@pytest.mark.parametrize(("name", "saves", "sure"), [("pretrain", 1, True), ("warmup", 1, True), ("warmup", 0, False)])
def test_a_dependency_alone_does_not_say_that_a_run_goes_on_from_another(
    tmp_path: Path, name: str, saves: int, sure: bool
) -> None:
    """Jobs are chained to take turns as well: what ties this one to the other is its name, or checkpoints to go on from."""
    other = parent(tmp_path)
    other.rows = [dataclasses.replace(r, name=name) if isinstance(r, SlurmJob) else r for r in other.rows]
    if not saves:
        other = other.without(LogEvent)
    a = judge(other.job(dependency="afterany:4811").train(FRESH), assess)
    assert (a.confidence >= 0.85) is sure
    assert sure or a.confidence <= 0.4
    assert sure or "whether it should have gone on from there is not known" in a.headline


@pytest.mark.parametrize(
    ("state", "saves", "sure"), [("COMPLETED", False, False), ("COMPLETED", True, True), ("TIMEOUT", False, True)]
)
def test_jobs_of_one_name_that_take_turns_need_not_go_on_from_each_other(
    tmp_path: Path, state: str, saves: bool, sure: bool
) -> None:
    """A sweep in which one job runs at a time: the one before came to its end, and saved nothing to go on from."""
    other = parent(tmp_path) if saves else parent(tmp_path).without(LogEvent)
    other.rows = [dataclasses.replace(r, state=state) if isinstance(r, SlurmJob) else r for r in other.rows]
    a = judge(other.job(dependency="singleton").train(FRESH), assess)
    assert (a.confidence > 0.4) is sure
