"""What a run that its time limit ended is told; data_waits: that it waited for its data."""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.families.f3_timeout import assess
from store.rows import GpuSample, LogLine, SlurmJob, TrainStep
from tests.agent_tools.families.logkit import among, drafted, facts_of
from tests.agent_tools.families.world import JOB, T, World, judge

LIMIT = "*** JOB 4812 ON n1 CANCELLED AT 2026-03-01T12:00:00 DUE TO TIME LIMIT ***"


def falling(n: int) -> list[float]:
    return [9 - 5 * i / n for i in range(n)]


def test_progress_up_to_the_wall_is_healthy_but_slow(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train(falling(119), every_s=60, total_steps=5000)
    a = judge(world.say("slurm", "time_limit", LIMIT), assess)
    assert (a.status, a.attribution, a.confidence >= 0.9) == ("confirmed", "job", True)
    assert "needed_h" in a.implies[0].text


def test_a_run_that_stood_still_before_the_wall_was_hung(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("TIMEOUT", 120).train(falling(40), every_s=60), assess)
    assert (a.status, a.confidence < 0.5) == ("suspected", True)
    assert "most likely it was hung" in a.headline
    assert any("a save, an evaluation" in m.text for m in a.missing), "what was silent may have been at work"


def test_a_collective_that_timed_out_before_is_the_cause(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train(falling(40), every_s=60)
    world.say("nccl_watchdog", "timeout", "Watchdog caught collective operation timeout", severity="fatal")
    a = judge(world, assess)
    assert (a.status, a.confidence <= 0.3) == ("suspected", True)


def test_the_log_alone_names_the_wall_and_leaves_the_pace_open(tmp_path: Path) -> None:
    a = judge(World(tmp_path).text("starting").say("slurm", "time_limit", LIMIT), assess)
    assert a.status == "confirmed"
    assert "gpu_sample" in a.missing[0].signal
    assert 0.5 < a.confidence < 0.7, "so few lines leave open whether it ever was under way"


def test_without_progress_lines_slow_and_stuck_are_not_told_apart(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train(falling(119), every_s=60).without(TrainStep)
    a = judge(world, assess)
    assert any("slow or stuck" in m.text for m in a.missing)


@pytest.mark.parametrize("state", ["FAILED", "COMPLETED", "CANCELLED", "NODE_FAIL"])
def test_another_end_rules_it_out(tmp_path: Path, state: str) -> None:
    assert judge(World(tmp_path).job(state).train(falling(30), every_s=60), assess).status == "ruled_out"


def test_an_exception_before_the_wall_is_the_cause(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).say("exception", "ValueError", "bad sample")
    assert judge(world.say("slurm", "time_limit", LIMIT), assess).confidence <= 0.3


def test_with_neither_accounting_nor_words_it_is_ruled_out_with_what_would_tell(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train(falling(30), every_s=60).without(SlurmJob)
    a = judge(world, assess)
    assert (a.status, "slurm_job" in a.missing[0].signal) == ("ruled_out", True)


def test_a_run_of_fast_steps_that_stopped_two_minutes_before_the_wall_was_hung(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("TIMEOUT", 4).train(falling(100), every_s=1), assess)
    assert (a.status, a.attribution) == ("suspected", "undetermined")


@pytest.mark.parametrize(("minutes", "silent_s", "moved"), [(60, 40, True), (12, 55, False), (60, 110, False)])
def test_fast_steps_that_end_as_long_before_as_ending_a_run_takes_went_on(
    tmp_path: Path, minutes: int, silent_s: int, moved: bool
) -> None:
    """Slurm takes up to a minute from the limit to the end. In a short run, or for longer, as much silence tells nothing."""
    world = World(tmp_path).job("TIMEOUT", minutes, time_limit_s=minutes * 60.0)
    world.train(falling((minutes * 60 - silent_s) // 4), every_s=4, total_steps=90_000)
    assert judge(world, assess).headline.startswith("The run was still making progress") is moved


def test_a_pause_no_longer_than_those_before_is_an_evaluation(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 8).train(falling(100), every_s=1)
    world.add(*(dataclasses.replace(r, step=2000 + i, line_no=500 + i, ts=T + timedelta(seconds=320 + i))
                for i, r in enumerate([r for r in world.rows if isinstance(r, TrainStep)][:30])))  # fmt: skip
    assert judge(world, assess).status == "confirmed"


def test_reports_without_times_do_not_say_that_it_moved_until_the_wall(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("TIMEOUT", 120).train(falling(40)).say("slurm", "time_limit", LIMIT), assess)
    assert (a.status, a.confidence) == ("confirmed", 0.6)
    assert "slow or stuck by then is not known" in a.headline


def test_a_busy_engine_alone_does_not_say_that_a_run_without_times_moved_until_the_wall(tmp_path: Path) -> None:
    """A wait in a collective keeps the engine as busy as work does; SM activity tells them apart."""
    for folder, sm, moving in (("a", 0.6, True), ("b", 0.05, False), ("c", None, False)):
        world = (
            World(tmp_path / folder)
            .job("TIMEOUT", 60, gpus=2, node_list="n1")
            .train(falling(40))
            .say("slurm", "time_limit", LIMIT)
        )
        for minute in range(2, 60):
            now = T + timedelta(minutes=minute)
            world.add(*(GpuSample(node="n1", gpu=g, ts=now, engine_active=0.99, sm_active=sm) for g in (0, 1)))
        a = judge(world, assess)
        assert ("still making progress" in a.headline) is moving, sm
        assert moving or a.confidence < 0.7, sm


WARNED = {"submit_line": "sbatch --time=2:00:00 --signal=B:USR1@600 train.sh", "exit_code": 0}


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_a_run_that_stops_itself_when_it_is_warned_of_the_wall_needed_more_time(tmp_path: Path, state: str) -> None:
    world = World(tmp_path).job(state, 110, **WARNED).train(falling(108), every_s=60, total_steps=5000)
    a = judge(world.say("interrupt", "signal_received", "caught USR1, saving checkpoint", signal=10), assess)
    assert (a.status, a.attribution, a.confidence >= 0.8) == ("confirmed", "job", True)
    assert "warning" in a.headline


@pytest.mark.parametrize(("saved", "said"), [("after", True), ("before", False), ("never", False)])
def test_a_checkpoint_that_is_saved_at_the_warning_says_that_the_run_is_to_go_on(
    tmp_path: Path, saved: str, said: bool
) -> None:
    world = World(tmp_path).job("COMPLETED", 110, **WARNED).train(falling(108), every_s=60, total_steps=5000)
    if saved == "before":
        world.say("checkpoint", "saved", "saved checkpoint to ckpt/step_40.pt", severity="info", step=40)
    world.say("interrupt", "signal_received", "caught USR1, saving checkpoint", signal=10)
    if saved == "after":
        world.say("checkpoint", "saved", "saved checkpoint to ckpt/step_40.pt", severity="info", step=40)
    a = judge(world, assess)
    assert a.status == "confirmed"
    assert a.headline.startswith("The run saved a checkpoint and stopped itself") is said
    assert any(c.text.startswith("It saved a checkpoint then") for c in a.speaks_for) is said


def test_a_warning_that_was_asked_for_shows_in_the_time_alone(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED", 109.5, **WARNED).train(falling(108), every_s=60, total_steps=5000)
    assert judge(world, assess).confidence >= 0.6


def test_a_handler_that_speaks_late_in_the_limit_is_enough(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED", 110).train(falling(108), every_s=60, total_steps=5000)
    a = judge(world.say("interrupt", "signal_received", "Received SIGUSR1", signal=10), assess)
    assert a.confidence >= 0.6


@pytest.mark.parametrize("minutes", [60.0, 118.0])
def test_who_asked_for_a_warning_and_did_all_its_steps_was_not_stopped(tmp_path: Path, minutes: float) -> None:
    world = World(tmp_path).job("COMPLETED", minutes, **WARNED).train(falling(50), every_s=60, total_steps=500)
    assert judge(world, assess).status == "ruled_out"


def test_a_run_that_ends_long_before_its_warning_ended_for_another_reason(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED", 60, **WARNED).train(falling(58), every_s=60, total_steps=5000)
    assert judge(world, assess).status == "ruled_out"


def test_a_failure_that_nobody_explains_is_not_the_warning_s_because_it_was_due(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 112, **{**WARNED, "exit_code": 1})
    assert judge(world.train(falling(108), every_s=60, total_steps=5000), assess).status == "ruled_out"


def test_a_warning_longer_than_the_limit_makes_no_early_end_its_own(tmp_path: Path) -> None:
    asked = {"submit_line": "sbatch --time=2:00:00 --signal=USR1@7200 train.sh", "exit_code": 0}
    world = World(tmp_path).job("COMPLETED", 30, **asked).train(falling(28), every_s=60, total_steps=5000)
    assert judge(world, assess).status == "ruled_out"


def test_a_crash_after_the_warning_is_a_crash(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 110, **{**WARNED, "exit_code": 1})
    world.train(falling(108), every_s=60, total_steps=5000)
    world.say("interrupt", "signal_received", "Received SIGUSR1", signal=10)
    world.say("exception", "OSError", "[Errno 28] No space left on device")
    assert judge(world, assess).status == "ruled_out"


@pytest.mark.parametrize(
    ("bar", "family"),
    [
        ("Evaluating:  57%|█████     | 516/900 [1:40:02<1:12:36, 11.61s/it]", "F3"),
        ("Validation DataLoader 0:  12%|█▏        | 12/100 [1:41:10<9:10:01, 500.1s/it]", "F3"),
        ("Evaluating:  57%|█████     | 516/900 [0:20:02<0:13:36, 2.01s/it]", "C2"),
        ("Evaluating: 100%|██████████| 900/900 [1:40:02<00:00, 6.61s/it]", "C2"),
        ("  3%|▎         | 516/20000 [1:40:02<62:13:36, 11.61s/it]", "C2"),
    ],
    ids=["its bar moved to the end", "of Lightning", "it stood still", "it was over", "a bar of no evaluation"],
)
def test_an_evaluation_that_went_on_until_the_limit_is_no_hang(tmp_path: Path, bar: str, family: str) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train([5 - 0.1 * n for n in range(20)], every_s=60).text(bar)
    world.say("slurm", "time_limit", "slurmstepd: error: *** JOB 4812 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***")
    assert among(world.facts(), "C2", "F3").family == family


@pytest.mark.parametrize(
    ("text", "minute", "family"),
    [
        ("INFO validation batch 231/400", 119.5, "F3"),
        ("mmengine - INFO - Epoch(val)  [3][ 231/5000]    eta: 2:01:10  time: 1.3  data_time: 0.1", 119.0, "F3"),
        ("INFO validation batch 231/400", 40.0, "C2"),
        ("INFO monitor: 8/8 GPUs busy, test ok", 119.5, "C2"),
    ],
)
def test_an_evaluation_without_a_bar_is_told_by_the_times_of_its_counter(
    tmp_path: Path, text: str, minute: float, family: str
) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train([5 - 0.1 * n for n in range(20)], every_s=60)
    number = world.line()
    own = {"ts": T + timedelta(minutes=minute), "ts_kind": "embedded"}
    world.add(LogLine(job_id=JOB, file="slurm-4812.out", line_no=number, text=text, **own))
    world.say("slurm", "time_limit", "slurmstepd: error: *** JOB 4812 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***")
    assert differential(world.facts()).draft.family == family


@pytest.mark.parametrize("asked", ["TERM", "B:TERM", "B:SIGTERM", "R:15", "USR1"])
def test_the_signal_that_ends_a_program_is_told_of_by_slurmstepd(tmp_path: Path, asked: str) -> None:
    """The batch script caught it, saved and left well; of USR1 slurmstepd prints nothing, so that line is another's."""
    line = f"sbatch --signal={asked}@120 train.sbatch"
    world = World(tmp_path).job("COMPLETED", 58, time_limit_s=3600.0, submit_line=line)
    world.train(falling(50), every_s=60, total_steps=5000)
    a = judge(world.say("slurm", "cancelled", LIMIT.replace(" DUE TO TIME LIMIT", "")), assess)
    assert (a.status, a.confidence) == ("confirmed", 0.7 if asked == "USR1" else 0.85)


def test_at_a_deadline_a_longer_limit_is_no_help(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("DEADLINE", 120).train(falling(119), every_s=60, total_steps=5000), assess)
    assert "deadline" in a.headline
    assert "--deadline" in a.actions[0].text


def test_a_job_that_slurm_ended_before_it_ran_has_reached_no_limit(tmp_path: Path) -> None:
    """Its time limit reached past its deadline: Slurm gives such a job a start at the moment in which it ends it."""
    world = World(tmp_path).job("DEADLINE", 0, exit_code=0, exit_signal=1, submit_line="sbatch --deadline=now+90 t.sh")
    draft = differential(world.facts()).draft
    assert (draft.family, draft.mode, draft.attribution) == ("A4", "pending", "user")
    assert "never ran" in draft.headline


@pytest.mark.parametrize(
    ("what", "minutes", "state", "status"),
    [
        ("JOB 999 ON n01", 20.0, "FAILED", "ruled_out"),
        ("JOB 999 ON n01", 20.0, "COMPLETED", "ruled_out"),
        ("JOB 999 ON n01", 60.5, "FAILED", "ruled_out"),
        ("JOB 4812 ON n01", 20.0, "FAILED", "ruled_out"),
        ("JOB 4812 ON n01", 60.5, "FAILED", "confirmed"),
        ("JOB 4812 ON n01", 60.5, "TIMEOUT", "confirmed"),
        ("STEP 4812.0 ON n01", 20.0, "FAILED", "confirmed"),
    ],
)
def test_a_limit_that_a_log_tells_of_long_before_the_job_s_own_is_another_job_s(
    tmp_path: Path, what: str, minutes: float, state: str, status: str
) -> None:
    world = World(tmp_path).job(state, minutes=minutes, time_limit_s=3600.0, job_id_raw=JOB)
    scope, job = what.lower().replace(".", " ").split()[:2]
    message = f"slurmstepd: error: *** {what} CANCELLED AT 2026-03-01T10:20:00 DUE TO TIME LIMIT ***"
    world.say("slurm", "time_limit", message, detail=json.dumps({"job": job, "scope": scope}))
    assert judge(world.train(falling(20)), assess).status == status


@pytest.mark.parametrize(("took_s", "pace"), [(6900, "slow"), (6400, "slow"), (3000, "open"), (14000, "odd")])
def test_a_bar_tells_by_its_own_clock_whether_a_run_trained_to_the_wall(tmp_path: Path, took_s: int, pace: str) -> None:
    """No line has a time of day: what the bar had counted by its last report is what is known."""
    world = (
        World(tmp_path).job("TIMEOUT", 120).say("train_plan", "progress_bar", detail=json.dumps({"elapsed_s": took_s}))
    )
    world.train(falling(50)).say("slurm", "time_limit", LIMIT)
    a = judge(world, assess)
    told = any("reports' own clock" in c.text for c in a.speaks_for)
    assert (a.status, "still making progress" in a.headline) == ("confirmed", pace == "slow")
    assert told == (pace != "odd")
    assert (a.confidence < 0.5) == (pace == "open")


def test_step_times_that_add_up_to_the_wall_are_a_clock_too(tmp_path: Path) -> None:
    def at_wall(folder: str, step_time_s: float) -> bool:
        (tmp_path / folder).mkdir()
        world = World(tmp_path / folder).job("TIMEOUT", 120).train(falling(60), step_time_s=step_time_s)
        return "still making progress" in judge(world.say("slurm", "time_limit", LIMIT), assess).headline

    assert at_wall("whole", 11.7)
    assert not at_wall("half", 6.0)


def test_a_loop_s_own_clock_is_one_too_and_its_mean_over_all_steps_is_no_step_s_time(tmp_path: Path) -> None:
    """modded-nanogpt gives the time since the beginning, and that time over the steps."""
    world = World(tmp_path).job("TIMEOUT", 120)
    for i, loss in enumerate(falling(60)):
        clock = {"elapsed_s": 115.0 * (i + 1), "step_avg_s": 2.0 + i / 20}
        world.train([loss], first_step=10 * (i + 1), metrics=json.dumps(clock))
    assert "still making progress" in judge(world.say("slurm", "time_limit", LIMIT), assess).headline
    log = "".join(f"step:{n}/1000 train_time:{n * n}ms step_avg:{n}ms\n" for n in range(1, 900))
    pace = facts_of(log, tmp_path / "log").table("save_pace").first
    assert pace is not None and pace.has("reports") and not pace.has("early_s") and not pace.has("times_early")


@pytest.mark.parametrize(("wait", "told"), [(0.9, True), (0.02, False)])
def test_a_loop_that_waited_for_its_data_is_told_to_feed_it_first(tmp_path: Path, wait: float, told: bool) -> None:
    log = "".join(
        f"step {n}/9000 loss {9 - n / 900:.3f} lr 0.001 step_time 1.25s data_time {wait}s\n" for n in range(300)
    )
    made = drafted(f"{log}slurmstepd: error: {LIMIT}\n", tmp_path)
    assert made.family == "F3"
    assert made.actions[0].text.startswith("Feed it faster") == told
    assert any(w.text.startswith("Waiting for data") for w in made.warnings) == told


@pytest.mark.parametrize(
    ("asked", "signal", "minutes", "of_it"),
    [
        ("B:USR1@600", 10, 110, True),
        ("12@600", 12, 110, True),
        ("SIGUSR1@600", 12, 110, False),
        ("USR1@600", 10, 40, False),
    ],
    ids=["by name", "by number", "another signal", "not due"],
)
def test_a_warning_that_nothing_handles_ends_the_run_itself(
    tmp_path: Path, asked: str, signal: int, minutes: float, of_it: bool
) -> None:
    """asked_signal: the signal is the one that the job had asked for, and the time for it had come."""
    line = f"sbatch --time=2:00:00 --signal={asked} train.sh"
    world = World(tmp_path).job("FAILED", minutes, exit_code=0, exit_signal=signal, submit_line=line)
    world.train(falling(int(minutes) - 2), every_s=60, total_steps=5000)
    a = judge(world, assess)
    assert (a.status == "confirmed") is of_it
    assert ("nothing in it handled the signal" in a.headline) is of_it
    assert (differential(world.facts()).draft.family == "F3") is of_it
