from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.families import a4_never_started
from agent_tools.families.f2_requeue import assess
from store.rows import LogEvent, SlurmJob, SlurmJobEvent, SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge

PREEMPTED = "*** JOB 4812 ON n1 CANCELLED AT 2026-03-01T10:30:00 DUE TO PREEMPTION ***"


def again(folder: Path, last: str, first: str = "PREEMPTED") -> World:
    world = World(folder).job(first, 30, exit_code=0)
    return world.job(last, 60, attempt=2, restarts=1, start_ts=T + timedelta(minutes=33))


def test_a_preempted_job_that_completed_is_a_preemption_that_recovered(tmp_path: Path) -> None:
    a = judge(again(tmp_path, "COMPLETED"), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "preemption", "scheduler")
    assert "completed" in a.headline
    assert a.confidence >= 0.9


@pytest.mark.parametrize(
    ("first", "restarts", "later_min", "status"),
    [
        ("FAILED", 0, 33, "ruled_out"),
        ("COMPLETED", None, 3 * 24 * 60, "ruled_out"),
        ("FAILED", 1, 33, "confirmed"),
        ("FAILED", None, 33, "confirmed"),
        ("NODE_FAIL", None, 3 * 24 * 60, "confirmed"),
        ("REQUEUED", 0, 33, "confirmed"),
    ],
    ids=["never restarted", "days later", "restarted", "nobody says", "kept for days", "sent back"],
)
def test_an_older_job_whose_id_was_given_again_is_no_attempt_of_this_one(
    first: str, restarts: int | None, later_min: float, status: str, tmp_path: Path
) -> None:
    """Ids wrap at MaxJobId, and begin anew where the controller's state is lost; accounting keeps both under the one id."""
    later = T + timedelta(minutes=later_min)
    world = World(tmp_path).job(first, 30, exit_code=0)
    world.job("COMPLETED", 60, attempt=2, restarts=restarts, submit_ts=later, start_ts=later)
    world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="requeued", ts=later))
    assert judge(world, assess).status == status


def test_a_requeue_that_waits_again_is_open(tmp_path: Path) -> None:
    world = again(tmp_path, "PENDING", "REQUEUED")
    world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="requeued", ts=T + timedelta(minutes=30)))
    a = judge(world, assess)
    assert (a.status, a.mode) == ("confirmed", "requeue")
    assert "outcome is open" in a.implies[1].text


@pytest.mark.parametrize(
    ("states", "told", "times"),
    [
        (("REQUEUED", "PENDING"), (1,), 1),  # the state and the event of one requeue
        (("REQUEUED", "PENDING"), (), 1),
        (("REQUEUED", "PENDING"), (None,), 1),
        (("NODE_FAIL", "REQUEUED", "PENDING"), (1,), 2),
        (("REQUEUED", "REQUEUED", "PENDING"), (1, 2, 2), 2),
    ],
)
def test_one_requeue_that_several_sources_tell_is_counted_once(
    states: tuple[str, ...], told: tuple[int | None, ...], times: int, tmp_path: Path
) -> None:
    world = World(tmp_path)
    for n, state in enumerate(states, 1):
        start = None if state == "PENDING" else T + timedelta(minutes=40 * n)
        world.job(state, 30, attempt=n, exit_code=0, start_ts=start)
    for attempt in told:
        world.add(SlurmJobEvent(job_id=JOB, attempt=attempt, event="requeued", ts=T + timedelta(minutes=30)))
    row = world.facts().table("requeue_history").first
    assert row is not None and row.number("requeue_events") == times and not row.has("last_start_ts")


@pytest.mark.parametrize(
    ("last", "reason", "said"),
    [
        ("PENDING", None, "it waits to run again"),
        ("PENDING", "job requeued in held state", "it is held there"),
        ("RUNNING", None, "it runs again"),
        ("REQUEUED", None, ""),
    ],
)
def test_what_became_of_the_job_is_said_as_it_is_known(
    tmp_path: Path, last: str, reason: str | None, said: str
) -> None:
    """Of a run whose successor nobody has seen yet nothing is said: it may wait, be held, or run."""
    world = World(tmp_path).job("REQUEUED", 30, exit_code=0)
    if last != "REQUEUED":
        world.job(last, 1, attempt=2, restarts=1, start_ts=None if last == "PENDING" else T, state_reason=reason)
    a = judge(world, assess)
    assert a.headline.startswith("The job was sent back to the queue")
    assert (said in a.headline) if said else ", and" not in a.headline
    assert any("is held" in m.text for m in a.missing) is (not said)


@pytest.mark.parametrize(
    ("name", "message", "mode"),
    [
        ("preempted", PREEMPTED, "preemption"),
        ("requeued", PREEMPTED.replace("PREEMPTION", "JOB REQUEUE"), "requeue"),
    ],
)
def test_slurms_words_in_the_log_are_enough_and_the_outcome_is_missing(
    tmp_path: Path, name: str, message: str, mode: str
) -> None:
    a = judge(World(tmp_path).train([3.0, 2.9]).say("slurm", name, message), assess)
    assert (a.status, a.mode) == ("confirmed", mode)
    assert any("slurm_job" in m.signal for m in a.missing)


@pytest.mark.parametrize("reason", ["launch_failed_requeued_held", "launch failed requeued held"])
def test_a_launch_that_failed_and_was_requeued_never_ran(tmp_path: Path, reason: str) -> None:
    world = World(tmp_path).job("PENDING", 0, restarts=1, state_reason=reason, start_ts=None, end_ts=None)
    assert judge(world, assess).confidence <= 0.3
    a4 = judge(world, a4_never_started.assess)
    assert (a4.status, a4.mode) == ("confirmed", "launch")


def test_a_last_attempt_that_failed_by_itself_is_not_a_requeue(tmp_path: Path) -> None:
    world = again(tmp_path, "FAILED").say("exception", "ValueError", "bad sample", attempt=2)
    a = judge(world, assess)
    assert (a.status, a.confidence <= 0.25) == ("suspected", True)
    assert a.warnings


def test_one_attempt_without_such_words_rules_it_out(tmp_path: Path) -> None:
    assert judge(World(tmp_path).job("FAILED").say("exception", "ValueError", "x"), assess).status == "ruled_out"


def test_a_cancelled_job_is_not_requeued(tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED", cancelled_by="ada")
    assert judge(world.say("slurm", "cancelled", "*** JOB 4812 ON n1 CANCELLED AT X ***"), assess).status == "ruled_out"


def test_without_accounting_and_its_words_nothing_is_claimed(tmp_path: Path) -> None:
    world = again(tmp_path, "COMPLETED").train([3.0, 2.9]).say("slurm", "preempted", PREEMPTED)
    a = judge(world.without(SlurmJob, LogEvent), assess)
    assert a.status == "ruled_out"
    assert "slurm_job" in a.missing[0].signal


@pytest.mark.parametrize("known", [True, False])
def test_a_rerun_that_outlived_a_node_names_it(tmp_path: Path, known: bool) -> None:
    """Slurm ran it again because a node failed: the rerun is what became of it, and the node is what has to be looked at."""
    world = again(tmp_path, "COMPLETED", "NODE_FAIL")
    if known:
        world.node("n2", "DOWN", 29.5, 50, reason="Not responding")
    a = judge(world, assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "requeue", "infrastructure")
    assert a.headline.endswith("failed under an earlier attempt, and the rerun completed; it did not fail by itself.")
    assert ("node [[" in a.headline) is known
    assert not any("asked for the requeue" in m.text for m in a.missing)
    assert any("Which node" in m.text for m in a.missing) is not known
    assert any("looked at" in c.text for c in a.actions)


@pytest.mark.parametrize(
    ("reason", "held"), [("job requeued in held state", True), ("JobHeldAdmin", True), ("BeginTime", False)]
)
def test_a_job_that_was_sent_back_and_held_is_not_waited_for(tmp_path: Path, reason: str, held: bool) -> None:
    world = World(tmp_path).job("REQUEUED", 30, exit_code=0)
    world.job("PENDING", 0, attempt=2, restarts=1, start_ts=None, end_ts=None, state_reason=reason)
    a = judge(world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="requeued", ts=T + timedelta(minutes=30))), assess)
    assert (a.status, a.mode) == ("confirmed", "requeue")
    assert ("until somebody releases it" in a.headline) is held
    assert any("scontrol release" in c.text for c in a.actions) is held


def test_the_verdict_on_the_attempt_that_was_sent_back_knows_that_the_next_one_is_held(tmp_path: Path) -> None:
    """The watcher asks about the attempt that has ended, and the queue tells of the next."""
    for reason in ("job requeued in held state", "BeginTime"):
        world = World(tmp_path).job("REQUEUED", 30, exit_code=0)
        world.job("PENDING", 0, attempt=2, restarts=1, start_ts=None, end_ts=None, state_reason=reason)
        world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="requeued", ts=T + timedelta(minutes=30)))
        a = judge(world, assess, attempt=1)
        assert ("until somebody releases it" in a.headline) is (reason != "BeginTime")


def sent_back(folder: Path, code: int, status: str = "FAILED", script: int | None = None) -> World:
    """A first attempt with this exit status, sent back at its end, and its batch step."""
    world = World(folder).job("REQUEUED", 30, exit_code=code)
    world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="requeued", ts=T + timedelta(minutes=30)))
    step = SlurmStep(job_id=JOB, attempt=1, step_id="batch", state=status, exit_code=code if script is None else script)
    return world.add(step)


def test_a_job_that_was_sent_back_after_its_end_did_not_go_on_the_schedulers_account(tmp_path: Path) -> None:
    a = judge(sent_back(tmp_path, 85).train([3.0, 2.9, 2.8]), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "requeue", "job")
    assert "ended with exit status" in a.headline
    assert "did not fail" not in a.headline


def test_what_it_failed_of_before_it_was_sent_back_is_the_cause(tmp_path: Path) -> None:
    world = sent_back(tmp_path, 85).train([3.0, 2.9, 2.8]).say("exception", "IndexError", "list index out of range")
    a = judge(world, assess)
    assert (a.status, a.confidence) == ("suspected", 0.2)
    assert differential(world.facts()).draft.family == "A3"


@pytest.mark.parametrize(("code", "status"), [(0, "CANCELLED"), (85, "CANCELLED"), (0, "COMPLETED")])
def test_a_script_that_the_requeue_itself_ended_did_not_fail(tmp_path: Path, code: int, status: str) -> None:
    a = judge(sent_back(tmp_path, code, status).train([3.0, 2.9, 2.8]), assess)
    assert (a.status, a.attribution) == ("confirmed", "scheduler")
    assert "did not fail by itself" in a.headline


@pytest.mark.parametrize(("first", "load", "anew"), [(10, False, True), (310, False, False), (10, True, False)])
def test_a_rerun_that_began_anew_lost_what_was_trained_before_it(
    first: int, load: bool, anew: bool, tmp_path: Path
) -> None:
    world = again(tmp_path, "COMPLETED").train([10.9 - 0.15 * i for i in range(40)])
    world.say("slurm", "preempted", PREEMPTED)
    if load:
        world.say("checkpoint", "loaded", "loaded checkpoint from /ck", severity="info")
    found = judge(world.train([10.9 - 0.1 * i for i in range(40)], first_step=first), assess)
    assert any("began anew" in c.text for c in found.implies) == anew
    assert any("Nothing has to be done" in c.text for c in found.actions) != anew


@pytest.mark.parametrize(
    "line",
    ["[rank: 0] Requeued SLURM job: 4812", "INFO - requeued exp 4812", "Requeued job 4812 (2 remaining timeouts)"],
)
def test_a_program_that_asked_for_its_requeue_is_not_told_to_do_so(line: str, tmp_path: Path) -> None:
    a = judge(World(tmp_path).train([3.0, 2.9]).say("slurm", "requeued", line), assess)
    assert (a.status, a.mode) == ("confirmed", "requeue")
    assert any("asked for it itself" in c.text for c in a.implies)
    assert not any("Who asked" in m.text for m in a.missing) and not any("requeue itself" in c.text for c in a.actions)
