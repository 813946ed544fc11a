"""A step that failed in a job that Slurm calls completed is named with its exit status, as a cited fact."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.families import f4_cancelled, step_limit
from store.rows import SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge


def step(number: str, **fields: object) -> SlurmStep:
    told = {"name": "train.sh", "state": "FAILED", "exit_code": 9, "exit_signal": 0, **fields}
    return SlurmStep(job_id=JOB, attempt=1, step_id=number, **told)  # type: ignore[arg-type]


def sentences(world: World) -> tuple[str, str, list[str], list[str]]:
    """Family, headline, what is shown, and warnings; each cell that they name exists."""
    facts = world.facts()
    draft = differential(facts).draft
    return draft.family, draft.headline, [c.text for c in draft.shows], [w.text for w in draft.warnings]


def test_where_nothing_else_is_known_it_is_the_headline(tmp_path: Path) -> None:
    world = World(tmp_path).job().add(step("0"), step("1", state="COMPLETED", exit_code=0))
    world.say("slurm", "task_exit", "srun: error: n1: task 0: Exited with exit code 9", severity="error", exit_code=9)
    family, headline, shows, _ = sentences(world)
    assert family == "U0"
    assert "completed, but its step" in headline
    about = [s for s in shows if s.startswith("By accounting, step")]
    assert len(about) == 1
    assert "exit_code]]" in about[0]


def test_a_healthy_run_is_warned_of_it(tmp_path: Path) -> None:
    world = World(tmp_path).job().train([3 + 7 * 0.97**i for i in range(100)], every_s=30, total_steps=1000)
    world.say("train_end", "train_runtime", "training finished", severity="info").add(
        step("1", exit_code=0, exit_signal=11)
    )
    family, _, _, warnings = sentences(world)
    assert family == "G1"
    assert any("step" in w and "by signal" in w for w in warnings)


def test_of_a_failed_job_without_a_log_the_step_is_shown(tmp_path: Path) -> None:
    """As of srun or salloc at a terminal, whose output nobody kept."""
    _, _, shows, _ = sentences(World(tmp_path).job("FAILED").add(step("0")))
    assert [s for s in shows if s.startswith("By accounting, step")]


def test_the_word_for_memory_is_no_signal(tmp_path: Path) -> None:
    """`0:125` is what Slurm gives a step that the out-of-memory killer struck: the state says it, and no signal does."""
    world = World(tmp_path).job().train([3 + 7 * 0.97**i for i in range(100)], every_s=30, total_steps=1000)
    world.add(step("1", state="OUT_OF_MEMORY", exit_code=0, exit_signal=125))
    _, _, _, warnings = sentences(world)
    (said,) = [w for w in warnings if w.startswith("Though the job completed, step")]
    assert "state]]" in said
    assert "by signal" not in said


@pytest.mark.parametrize(
    "world",
    [
        lambda w: w.job("FAILED").say("exception", "KeyError", "'labels'").add(step("0")),
        lambda w: w.job().add(step("batch"), step("extern", exit_code=0, exit_signal=126)),
        lambda w: w.job().add(step("0", state="COMPLETED", exit_code=0)),
    ],
    ids=["the job failed", "no step of its own", "none failed"],
)
def test_otherwise_no_step_is_named(tmp_path: Path, world) -> None:
    _, headline, shows, warnings = sentences(world(World(tmp_path)))
    assert not [
        s for s in (headline, *shows, *warnings) if "its step" in s or "By accounting" in s or "Though the job" in s
    ]


@pytest.mark.parametrize(
    ("failed_min", "worked_min", "family"),
    [((0, 1), (1, 59), "G1"), ((58, 59), (0, 58), "U0"), ((0, 1), (1, 5), "U0")],
    ids=["a check before the work", "a step after it", "hardly any work"],
)
def test_a_check_that_failed_before_the_work_is_no_failure_of_a_completed_job(
    tmp_path: Path, failed_min: tuple[int, int], worked_min: tuple[int, int], family: str
) -> None:
    def at(minutes: tuple[int, int]) -> dict[str, object]:
        start, end = (T + timedelta(minutes=m) for m in minutes)
        return {"start_ts": start, "end_ts": end, "elapsed_s": (end - start).total_seconds()}

    world = World(tmp_path).job()
    world.say("slurm", "task_exit", "srun: error: n1: task 0: Exited with exit code 1", severity="error", exit_code=1)
    world.train([3 + 7 * 0.97**i for i in range(100)], every_s=30, total_steps=1000)
    world.say("train_end", "train_runtime", "training finished", severity="info")
    world.add(step("0", name="check.sh", exit_code=1, **at(failed_min)))
    world.add(step("1", name="python", state="COMPLETED", exit_code=0, **at(worked_min)))
    found, _, _, warnings = sentences(world)
    assert found == family
    assert any("step" in w for w in warnings) is (family == "G1"), "elsewhere it is what is shown"


@pytest.mark.parametrize(
    ("spent_s", "steps", "finished", "family"),
    [
        (3000.0, 0, False, "A1"),
        (3000.0, 60, False, "A3"),
        (1200.0, 60, False, "other"),
        (3000.0, 60, True, "other"),
    ],
    ids=["at its start", "in training", "the lesser part of the job", "after the training had ended"],
)
def test_a_script_that_goes_on_to_a_good_end_does_not_hide_what_its_program_raised(
    tmp_path: Path, spent_s: float, steps: int, finished: bool, family: str
) -> None:
    """A batch script without `set -e`: its last command ends well, and Slurm calls the job completed."""
    world = World(tmp_path).job()
    if steps:
        world.train([3 + 7 * 0.97**i for i in range(steps)], every_s=30, total_steps=1000)
    if finished:
        world.say("train_end", "train_runtime", "training finished", severity="info")
    world.say("exception", "ValueError", "Unknown scheduler type: 'cosine_warm'")
    world.say("slurm", "task_exit", "srun: error: n1: task 0: Exited with exit code 1", severity="error", exit_code=1)
    found, _, _, warnings = sentences(world.add(step("0", name="python", exit_code=1, elapsed_s=spent_s)))
    assert found == family if family != "other" else found in ("G1", "U0")
    if family != "other":
        assert any(w.startswith("Though the job completed, step") for w in warnings)


@pytest.mark.parametrize(
    ("steps", "entry", "after", "family"),
    [
        (0, "/w/run/train.py:61 in <module>", ("finished at 11:00",), "A1"),
        (40, "/w/run/train.py:61 in <module>", ("finished at 11:00",), "A3"),
        (100, "/w/run/train.py:61 in <module>", ("finished at 11:00",), "other"),
        (0, "/w/run/check.py:9 in <module>", tuple(f"case {n}: ok" for n in range(30)), "other"),
        (0, "/venv/bin/tracker:8 in <module>", ("finished at 11:00",), "other"),
    ],
    ids=["at its start", "in training", "after the last step", "and other work went on", "of a tool beside it"],
)
def test_a_crash_that_is_the_programs_last_word_is_told_although_no_step_shows_it(
    tmp_path: Path, steps: int, entry: str, after: tuple[str, ...], family: str
) -> None:
    """`python train.py; echo finished`: accounting knows the script alone. Surer than the log it cannot be."""
    world = World(tmp_path).job()
    if steps:
        world.train([3 + 7 * 0.97**i for i in range(steps)], every_s=30, total_steps=1000)
    world.say("exception", "ValueError", "Unknown scheduler type: 'cosine_warm'", entry_frame=entry).text(*after)
    draft = differential(world.facts()).draft
    if family == "other":
        assert draft.family in ("G1", "U0")
    else:
        assert (draft.family, draft.confidence <= 0.65) == (family, True)
        assert any("exit status the program had" in m.text for m in draft.cannot_decide)


def test_another_log_may_be_that_of_work_that_went_well(tmp_path: Path) -> None:
    world = World(tmp_path).job()
    world.say(
        "exception", "ValueError", "no such device", file="check.err", entry_frame="/w/run/check.py:61 in <module>"
    )
    world.text(*(f"part {n} written" for n in range(40)))
    assert differential(world.facts()).draft.family in ("G1", "U0")


@pytest.mark.parametrize(
    ("after", "family"),
    [
        ((" 15%|█▌        | 900/6000 [31:30<2:58:30,  2.10s/it]",), "A3"),
        (tuple(f" {n}%|█▌        | {n * 60}/6000 [31:30<2:58:30,  2.10s/it]" for n in range(16, 30)), "G1"),
    ],
    ids=["drawn when it was closed", "went on"],
)
def test_a_bar_that_its_crash_closes_does_not_show_the_loop_going_on(
    tmp_path: Path, after: tuple[str, ...], family: str
) -> None:
    """tqdm draws a bar once more when it is closed, right behind the traceback; no loss says how many steps were planned."""
    world = World(tmp_path).job().train([3 + 7 * 0.97**i for i in range(60)], every_s=30, step=None)
    world.text(" 14%|█▍        | 890/6000 [31:10<2:59:30,  2.10s/it]")
    world.say("exception", "KeyError", "'input_ids'", entry_frame="/w/run/train.py:61 in <module>")
    world.text(*after, "copying results")
    draft = differential(world.facts()).draft
    assert draft.family == family
    assert draft.confidence <= 0.65, (
        "neither is sure: the exit status is the script's, and steps are missing on the bar"
    )


@pytest.mark.parametrize(
    ("steps", "finished", "after", "family"),
    [
        (60, False, ("job finished",), "A2"),
        (60, True, ("job finished",), "G1"),
        (97, False, ("job finished",), "G1"),
        (60, False, tuple(f"part {n} written" for n in range(40)), "G1"),
    ],
    ids=["in training", "it had said its end", "no step is missing", "and other work went on"],
)
def test_a_kill_that_is_the_last_word_of_a_run_is_told_although_its_script_ended_well(
    tmp_path: Path, steps: int, finished: bool, after: tuple[str, ...], family: str
) -> None:
    world = World(tmp_path).job().train([3 + 7 * 0.97**i for i in range(steps)], every_s=30, total_steps=1000)
    if finished:
        world.say("train_end", "train_runtime", "training finished", severity="info")
    world.say("signal", "shell", "line 12: 4411 Killed   python sft.py", signal=9, severity="fatal").text(*after)
    draft = differential(world.facts()).draft
    assert draft.family == family
    assert family == "G1" or draft.confidence <= 0.65


@pytest.mark.parametrize(
    ("failed_s", "steps", "family"), [(0.0, 100, "G1"), (0.0, 60, "U0"), (3000.0, 100, "U0")],
    ids=["all of its plan after it", "steps are missing", "it failed when the training was under way"],
)  # fmt: skip
def test_a_script_that_trains_by_itself_after_a_step_that_failed_is_judged_by_its_training(
    tmp_path: Path, failed_s: float, steps: int, family: str
) -> None:
    """No srun started the training, so its reports are what tells when it began, and that it came to its end."""
    world = World(tmp_path).job(minutes=60)
    world.say("slurm", "task_exit", "srun: error: n1: task 0: Exited with exit code 4", severity="error", exit_code=4)
    world.train([3 + 7 * 0.97**i for i in range(steps)], every_s=35, total_steps=1000)
    end = T + timedelta(seconds=failed_s)
    world.add(step("0", exit_code=4, start_ts=end, end_ts=end, elapsed_s=0.0))
    found, headline, _, warnings = sentences(world)
    assert found == family
    assert "step" in headline or any(w.startswith("Though the job completed, step") for w in warnings)


@pytest.mark.parametrize("numbered", [True, False], ids=["by its attempt", "by its time"])
def test_a_step_of_an_attempt_that_was_preempted_is_not_laid_to_the_one_that_completed(
    tmp_path: Path, numbered: bool
) -> None:
    world = World(tmp_path).job("PREEMPTED", minutes=30.0, restarts=0)
    world.job(
        "COMPLETED", attempt=2, start_ts=T + timedelta(minutes=40), submit_ts=T + timedelta(minutes=30), restarts=1
    )
    for number, state, signal, begin, end in ((1, "CANCELLED", 15, 0, 30), (2, "COMPLETED", 0, 40, 100)):
        world.add(
            SlurmStep(
                job_id=JOB, attempt=number if numbered else None, step_id=f"{0 if numbered else number}", name="torchrun",
                state=state, exit_code=0, exit_signal=signal,
                start_ts=T + timedelta(minutes=begin), end_ts=T + timedelta(minutes=end),
            )
        )  # fmt: skip
    _, _, shows, warnings = sentences(world)
    assert not [s for s in (*shows, *warnings) if "[step" in s or "step [[" in s]
    assert not [w for w in warnings if w.startswith("Though the job completed")]


@pytest.mark.parametrize(("state", "signal"), [("CANCELLED", 15), ("CANCELLED", 0), ("TIMEOUT", 15), ("TIMEOUT", 0)])
def test_a_step_that_was_ended_is_named_whatever_its_status(tmp_path: Path, state: str, signal: int) -> None:
    """A program that takes the signal well leaves with 0: the state tells."""
    ended = step("0", state=state, exit_code=0, exit_signal=signal, elapsed_s=60.0)
    world = World(tmp_path).job().train([3 + 7 * 0.97**i for i in range(100)], every_s=30, total_steps=1000)
    world.say("train_end", "train_runtime", "training finished", severity="info").add(ended)
    family, _, _, warnings = sentences(world)
    assert family == "G1"
    assert any(w.startswith("Though the job completed, step") for w in warnings)


CUT = "slurmstepd-n1: error: *** STEP 4812.0 ON n1 CANCELLED AT 2026-03-01T10:59:00 DUE TO TIME LIMIT ***"


@pytest.mark.parametrize(
    ("job", "spent_s", "log", "family", "said"),
    [
        ("COMPLETED", 3500.0, True, "F3", "limit of its own; its script then ended well"),
        ("COMPLETED", 3500.0, False, "F3", "limit of its own; its script then ended well"),
        ("FAILED", 3500.0, True, "F3", "limit of its own; the job failed with it"),
        ("COMPLETED", 600.0, True, "other", ""),
        ("TIMEOUT", 3500.0, True, "F3", "its time limit"),
    ],
    ids=["most of the job", "without a log", "the script ends with it", "the smaller part", "the job's own limit"],
)
def test_a_limit_that_a_step_was_given_is_the_steps(
    tmp_path: Path, job: str, spent_s: float, log: bool, family: str, said: str
) -> None:
    world = World(tmp_path).job(job, exit_code=143 if job == "FAILED" else 0)
    world.add(step("0", state="TIMEOUT", exit_code=0, exit_signal=15, elapsed_s=spent_s))
    if log:
        world.say("slurm", "time_limit", CUT, severity="fatal")
    found, headline, _, warnings = sentences(world)
    assert (found == "F3") is (family == "F3")
    assert (step_limit.of_step(world.facts()) is None) is (job == "TIMEOUT")
    assert said in headline
    assert family == "F3" or "its step" in headline or any("step" in w for w in warnings)


@pytest.mark.parametrize(
    ("scope", "first", "cancelled"),
    [("STEP 4812.0", True, False), ("JOB 4812", True, True), ("STEP 4812.0", False, True)],
    ids=["of the step", "of the job", "before it"],
)
def test_a_step_that_mpi_ended_is_nobodys_cancel(tmp_path: Path, scope: str, first: bool, cancelled: bool) -> None:
    aborts = ("launcher_event", "abort_called", "[n7:81] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will")
    ends = ("slurm", "cancelled", f"*** {scope} ON n1 CANCELLED AT 2026-03-01T10:40:00 ***")
    world = World(tmp_path)
    for said in (aborts, ends) if first else (ends, aborts):
        world.say(*said)
    assert (judge(world, f4_cancelled.assess).status != "ruled_out") == cancelled
