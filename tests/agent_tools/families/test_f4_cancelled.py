from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from agent_tools.families import step_cancels
from agent_tools.families.f4_cancelled import assess
from store.rows import GpuSample, SlurmJob, SlurmJobEvent, SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge

CANCEL = "*** STEP 4812.0 ON n1 CANCELLED AT 2026-03-01T10:40:00 ***"
FALLING = [9 - i / 10 for i in range(40)]


@pytest.mark.parametrize(
    ("who", "mode", "attribution"),
    [("ada", "user", "user"), ("1000", "user", "user"), ("0", "operator", "infrastructure"), ("root", "operator", "infrastructure"), ("bob", "operator", "infrastructure")],
)  # fmt: skip
def test_the_record_tells_who_cancelled(tmp_path: Path, who: str, mode: str, attribution: str) -> None:
    a = judge(World(tmp_path).job("CANCELLED", 40, cancelled_by=who).train(FALLING, every_s=60), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", mode, attribution)
    assert a.confidence >= 0.9


def test_a_report_without_the_time_of_its_start_is_of_a_job_that_ran(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("CANCELLED", start_ts=None, elapsed_s=2400.0).train(FALLING), assess)
    assert not any("never started" in c.text for c in a.speaks_for)


def test_a_dependency_that_can_never_be_met(tmp_path: Path) -> None:
    world = World(tmp_path).job(
        "CANCELLED", start_ts=None, state_reason="DependencyNeverSatisfied", dependency="afterok:4811"
    )
    a = judge(world, assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "dependency", "scheduler")


NEVER: dict[str, Any] = {"start_ts": None, "end_ts": T, "elapsed_s": 0.0, "node_list": None}
AT_ONCE: dict[str, Any] = {**NEVER, "start_ts": T}
SUBMITTED = "sbatch --parsable --dependency=afternotok:4811 --kill-on-invalid-dep=yes train.sh"


@pytest.mark.parametrize(
    "told",
    [
        {**NEVER, "state_reason": "Dependency"},
        {**AT_ONCE, "state_reason": "Dependency"},
        {**NEVER, "submit_line": SUBMITTED},  # slurmdbd was away
        {**NEVER, "submit_line": "sbatch -d afterok:4811 train.sh"},
        {**NEVER, "dependency": "afternotok:4811(unfulfilled)", "state_reason": "Dependency"},  # seen while it waited
        {**AT_ONCE, "dependency": "afternotok:4811", "state_reason": "Dependency"},  # and accounting alone told the end
        {**AT_ONCE, "dependency": "afternotok:4811(failed)"},
    ],
    ids=["reason", "at-once", "submit-line", "short-option", "seen-waiting", "seen-waiting-then-accounted", "failed"],
)
def test_slurms_own_cancel_of_a_job_that_waited_in_vain(tmp_path: Path, told: dict[str, Any]) -> None:
    """slurmdbd never hears DependencyNeverSatisfied: it says CANCELLED and names nobody."""
    a = judge(World(tmp_path).job("CANCELLED", 0, **told), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "dependency", "scheduler")
    assert a.confidence >= 0.85
    assert not any("user" in c.text for c in a.speaks_for)


@pytest.mark.parametrize(
    "told",
    [
        {**AT_ONCE, "cancelled_by": "ada", "submit_line": SUBMITTED},
        {**AT_ONCE, "cancelled_by": "1000", "dependency": "afterok:4811(failed)"},
        {
            **AT_ONCE,
            "dependency": "afterok:4811(unfulfilled)",
            "state_reason": "Dependency",
        },  # the controller's word alone
        {"minutes": 3.0, "submit_line": SUBMITTED},
        {"minutes": 3.0, "dependency": "afterok:4811"},
        {**NEVER, "submit_line": "sbatch --parsable train.sh"},
        {**NEVER, "submit_line": "sbatch train.sh --data=after -debug"},
    ],
    ids=["named", "id", "controller", "ran", "ran-too", "no-dependency", "alike"],
)
def test_a_cancel_by_somebody_is_no_dependency(tmp_path: Path, told: dict[str, Any]) -> None:
    a = judge(World(tmp_path).job("CANCELLED", **{"minutes": 0, **told}), assess)
    assert (a.mode, a.attribution) == (("user", "user") if told.get("cancelled_by") else (None, "undetermined"))


@pytest.mark.parametrize(
    ("kind", "name", "signal"),
    [("exception", "KeyboardInterrupt", None), ("interrupt", "keyboard", 2), ("launcher_event", "death_signal", 1)],
)
def test_a_key_press_or_a_closed_session_is_the_users(tmp_path: Path, kind: str, name: str, signal: int | None) -> None:
    a = judge(World(tmp_path).train(FALLING).say(kind, name, "it was interrupted", signal=signal), assess)
    assert (a.status, a.mode, a.confidence >= 0.85) == ("confirmed", "user", True)


def test_a_plain_cancel_after_progress_is_a_cancel_by_somebody(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train(FALLING).say("slurm", "cancelled", CANCEL), assess)
    assert a.status == "confirmed"
    assert 0.6 <= a.confidence <= 0.85
    assert any("cancelled_by" in m.signal for m in a.missing)


def test_a_cancel_that_follows_an_error_is_its_consequence(tmp_path: Path) -> None:
    world = (
        World(tmp_path).train(FALLING).say("exception", "ValueError", "bad sample").say("slurm", "cancelled", CANCEL)
    )
    a = judge(world, assess)
    assert (a.status, a.confidence <= 0.3) == ("suspected", True)


def test_a_cancel_of_a_run_that_stood_still_says_so(tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED", 120, cancelled_by="ada").train(FALLING, every_s=60)
    a = judge(world, assess)
    assert any("no progress" in c.text for c in a.implies)
    assert a.confidence <= 0.6


@pytest.mark.parametrize(
    ("who", "uid", "mode", "attribution"),
    [("2101", "2001", "operator", "infrastructure"), ("2001", "2001", "user", "user"), ("2101", None, "user", "user")],
)
def test_an_operators_number_is_told_from_the_users_own(
    tmp_path: Path, who: str, uid: str | None, mode: str, attribution: str
) -> None:
    """sacct's text gives numbers: an operator who is not root looks like the user unless the job's own uid is known."""
    a = judge(World(tmp_path).job("CANCELLED", 40, cancelled_by=who, uid=uid).train(FALLING, every_s=60), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", mode, attribution)


def failed(folder: Path, actor: str | None = None, before_s: float = 1.0, **job: Any) -> World:
    """A batch job of uid 2001 that ended after ten minutes; `actor` had the controller signal it so long before."""
    values: dict[str, Any] = {"uid": "2001", "exit_code": 0, "exit_signal": 15, **job}
    world = World(folder).job("FAILED", 10, **values).add(SlurmStep(job_id=JOB, attempt=1, step_id="batch"))
    if actor is not None:
        at = T + timedelta(minutes=10, seconds=-before_s)
        line = f"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={JOB} uid {actor}"
        world.add(SlurmJobEvent(job_id=JOB, ts=at, event="signalled", actor=actor, message=line))
    return world.train(FALLING, every_s=10)


@pytest.mark.parametrize("line", [True, False], ids=["said-in-log", "silent"])
@pytest.mark.parametrize(
    ("actor", "mode", "attribution"),
    [("0", "operator", "infrastructure"), ("2101", "operator", "infrastructure"), ("2001", "user", "user")],
)
def test_the_controllers_log_tells_who_had_a_job_signalled(
    tmp_path: Path, actor: str, mode: str, attribution: str, line: bool
) -> None:
    world = failed(tmp_path, actor)
    a = judge(world.say("slurm", "cancelled", CANCEL) if line else world, assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", mode, attribution)
    assert a.confidence >= 0.9
    assert not any(m.text.startswith("Who") for m in a.missing)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("slurm", "cancelled"), ("exception", "KeyboardInterrupt")],
)
def test_a_batch_jobs_signal_of_unknown_origin_is_not_laid_to_its_user(tmp_path: Path, kind: str, name: str) -> None:
    """Accounting says FAILED, not CANCELLED, and a batch script has no keyboard."""
    a = judge(failed(tmp_path).say(kind, name, CANCEL if kind == "slurm" else name), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", None, "undetermined")
    assert any("Who" in m.text and "slurmctld" in m.signal for m in a.missing)
    assert "user" not in a.headline


@pytest.mark.parametrize(
    ("words", "code", "signal", "status"),
    [
        ("JOB 4812", 7, 0, "suspected"),
        ("JOB 4812", 143, 0, "confirmed"),
        ("JOB 4812", 0, 15, "confirmed"),
        ("STEP 4812.0", 7, 0, "confirmed"),
    ],
)
def test_slurms_words_of_a_cancel_beside_a_status_of_the_scripts_own_are_a_suspicion(
    tmp_path: Path, words: str, code: int, signal: int, status: str
) -> None:
    """Accounting would call a cancelled job CANCELLED; a program may have printed the words. A step's cancel it need not know."""
    world = failed(tmp_path, exit_code=code, exit_signal=signal)
    a = judge(world.say("slurm", "cancelled", CANCEL.replace("STEP 4812.0", words)), assess)
    assert (a.status, a.confidence < 0.5) == (status, status == "suspected")


def test_a_signal_that_only_accounting_knows_is_suspected(tmp_path: Path) -> None:
    a = judge(failed(tmp_path, exit_signal=10), assess)
    assert (a.status, a.mode, a.attribution, a.confidence < 0.5) == ("suspected", None, "undetermined", True)


@pytest.mark.parametrize(
    ("before_s", "job", "status"),
    [
        (3.0, {"exit_code": 7, "exit_signal": 0}, "confirmed"),  # it caught the signal and ended in its own way
        (60.0, {"exit_code": 7, "exit_signal": 0}, "ruled_out"),  # it went on after the signal, and failed later
        (400.0, {}, "suspected"),
    ],
)
def test_an_end_that_does_not_look_like_the_signals(
    tmp_path: Path, before_s: float, job: dict[str, Any], status: str
) -> None:
    a = judge(failed(tmp_path, "0", before_s, **job), assess)
    assert a.status == status
    assert a.confidence < 0.8


@pytest.mark.parametrize("job", [{"exit_signal": 54}, {"exit_signal": 0, "exit_code": 1}], ids=["prolog", "launch"])
def test_what_slurmd_asks_for_after_a_launch_that_failed_is_no_operators_signal(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    """It is root as well."""
    at_once: dict[str, Any] = {"elapsed_s": 0.0, "end_ts": T + timedelta(minutes=10), **job}
    assert judge(failed(tmp_path, "0", -0.1, **at_once), assess).status == "ruled_out"


def test_an_error_of_its_own_before_the_signal_is_the_cause(tmp_path: Path) -> None:
    world = failed(tmp_path, "0", exit_code=1, exit_signal=0).say("exception", "ValueError", "bad sample")
    assert judge(world, assess).confidence <= 0.3


@pytest.mark.parametrize("state", ["TIMEOUT", "NODE_FAIL", "PREEMPTED", "COMPLETED"])
def test_another_end_rules_it_out(tmp_path: Path, state: str) -> None:
    world = World(tmp_path).job(state).train(FALLING).say("slurm", "cancelled", CANCEL)
    assert judge(world, assess).status == "ruled_out"


@pytest.mark.parametrize(("name", "why"), [("time_limit", "TIME LIMIT"), ("preempted", "PREEMPTION")])
def test_a_cancel_with_a_reason_of_slurm_is_not_it(tmp_path: Path, name: str, why: str) -> None:
    world = World(tmp_path).train(FALLING).say("slurm", name, CANCEL.replace(" ***", f" DUE TO {why} ***"))
    assert judge(world, assess).status == "ruled_out"


@pytest.mark.parametrize("said", ["Caught signal SIGUSR1 on n1: this job is preempted.", CANCEL])
def test_what_a_handler_in_the_job_says_is_not_laid_to_the_scheduler(tmp_path: Path, said: str) -> None:
    a = judge(World(tmp_path).train(FALLING).say("slurm", "preempted", said), assess)
    assert a.status == "ruled_out"
    assert a.counterfactual and "scheduler" not in a.counterfactual


def test_sigterm_alone_is_a_weak_sign(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train(FALLING).say("launcher_event", "death_signal", "Received 15", signal=15), assess)
    assert (a.status, a.confidence < 0.5) == ("suspected", True)


def test_sigterm_at_the_start_of_a_run_that_goes_on_is_noise(tmp_path: Path) -> None:
    a = judge(World(tmp_path).say("interrupt", "received", "Received SIGTERM: 15", signal=15).train(FALLING), assess)
    assert a.confidence < 0.3


def test_without_the_record_who_cancelled_is_missing(tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED", 40, cancelled_by="0").train(FALLING).say("slurm", "cancelled", CANCEL)
    a = judge(world.without(SlurmJob), assess)
    assert (a.mode, a.attribution) == (None, "undetermined")
    assert a.confidence < 0.9
    assert any("slurm_job" in m.signal for m in a.missing)
    assert any("names the user id" in c.text for c in a.actions)


@pytest.mark.parametrize(("before", "sure"), [(0.6, 0.6), (0.08, 0.95)])
def test_gpus_that_only_spun_before_a_cancel_say_that_it_may_have_been_stuck(
    tmp_path: Path, before: float, sure: float
) -> None:
    """Also where the log has no times; on a slow transport they spin from the beginning."""
    world = World(tmp_path).job("CANCELLED", 60, cancelled_by="ada", gpus=4, node_list="n1").train(FALLING)
    for minute in range(2, 60):
        now, sm = T + timedelta(minutes=minute), before if minute < 30 else 0.05
        world.add(*(GpuSample(node="n1", gpu=g, ts=now, engine_active=0.99, sm_active=sm) for g in range(4)))
    found = judge(world, assess)
    assert found.confidence == sure
    assert any("stuck" in c.text for c in found.implies) is (sure < 0.9)


@pytest.mark.parametrize("actor", ["0", "2001"])
@pytest.mark.parametrize(
    ("steps", "before_s", "said", "status"),
    [
        (1000, 2.0, True, "confirmed"),
        (1000, 20.0, True, "confirmed"),
        (1000, 2.0, False, "confirmed"),
        (1000, 20.0, False, "ruled_out"),
        (105, 2.0, True, "ruled_out"),
    ],
    ids=["it said so", "it took its time", "at once", "unsaid, and later", "its work was done"],
)
def test_a_run_that_left_well_on_a_signal_with_work_to_do_was_stopped(
    tmp_path: Path, actor: str, steps: int, before_s: float, said: bool, status: str
) -> None:
    """`scancel --signal=USR1`, a handler that saves and ends with status zero: Slurm calls the job completed."""
    world = World(tmp_path).job("COMPLETED", 10, uid="2001").add(SlurmStep(job_id=JOB, attempt=1, step_id="batch"))
    at = T + timedelta(minutes=10, seconds=-before_s)
    world.add(SlurmJobEvent(job_id=JOB, ts=at, event="signalled", actor=actor, message="REQUEST_KILL_JOB"))
    world.train(FALLING, every_s=10, stride=1, first_step=1, total_steps=steps * len(FALLING) // 100)
    if said:
        world.say("interrupt", "received", "caught SIGUSR1, saving", signal=10, severity="warning")
    a = judge(world, assess)
    assert a.status == status
    if status == "confirmed":
        assert a.mode == ("operator" if actor == "0" else "user")
        assert a.confidence < 0.9
        draft = differential.draft(world.facts())
        assert draft.family == "F4", "and not a healthy run whose log stops early"


@pytest.mark.parametrize(
    ("by", "minutes", "last", "mode"),
    [("2001", 50.0, 40, "user"), ("0", 50.0, 40, "operator"), ("2001", 5.0, 40, None), ("2001", 50.0, 1000, None)],
    ids=["by its user", "by root", "the lesser part of the job", "its work was done"],
)
def test_the_cancel_of_the_step_that_did_the_work_shows_in_a_job_called_completed(
    tmp_path: Path, by: str, minutes: float, last: int, mode: str | None
) -> None:
    """`scancel JOB.0`, and a script that goes on to its end."""
    world = World(tmp_path).job("COMPLETED", 60, uid="2001")
    world.add(
        SlurmStep(job_id=JOB, attempt=1, step_id="0", name="python", state="CANCELLED", cancelled_by=by, exit_code=0,
                  exit_signal=9, start_ts=T, end_ts=T + timedelta(minutes=minutes), elapsed_s=minutes * 60)
    )  # fmt: skip
    world.train(FALLING, every_s=60, stride=1, first_step=last - len(FALLING) + 1, total_steps=1000)
    a = judge(world.say("slurm", "cancelled", CANCEL).text("copying results"), assess)
    assert (a.status, a.mode) == ("confirmed", mode) if mode else a.status == "ruled_out"
    assert not mode or a.attribution == ("user" if mode == "user" else "infrastructure")
    assert not mode or differential.draft(world.facts()).family == "F4"


def test_nobody_is_said_to_have_cancelled_a_job_that_failed(tmp_path: Path) -> None:
    def told(folder: str, state: str) -> tuple[str, int]:
        world = World(tmp_path / folder).job(state).train(FALLING, every_s=60)
        world.say("exception", "ValueError", "bad value").say("slurm", "cancelled", CANCEL)
        a = judge(world, assess)
        return a.counterfactual, len(a.warnings)

    text, warnings = told("failed", "FAILED")
    assert text.startswith("Accounting records no cancel of the job, and the log tells of a failure")
    assert warnings == 0
    text, warnings = told("cancelled", "CANCELLED")
    assert text.startswith("The cancel came after the run had already failed")
    assert warnings == 1


def _step(by: str | None, state: str = "CANCELLED") -> SlurmStep:
    return SlurmStep(job_id=JOB, attempt=1, step_id="0", name="python", state=state, cancelled_by=by, exit_code=0,
                     exit_signal=9, start_ts=T, end_ts=T + timedelta(minutes=40), elapsed_s=2400.0)  # fmt: skip


@pytest.mark.parametrize(
    ("by", "mode", "attribution"),
    [("2001", "user", "user"), ("0", "operator", "infrastructure"), (None, None, "undetermined")],
    ids=["by its user", "by root", "accounting names nobody"],
)
def test_who_cancelled_the_step_that_a_script_failed_over(
    tmp_path: Path, by: str | None, mode: str | None, attribution: str
) -> None:
    """`scancel JOB.0` under `set -e`: the job is FAILED with srun's status, and its step tells whose doing it was."""
    world = failed(tmp_path, uid="2001", exit_code=137, exit_signal=0).train(FALLING, every_s=60)
    a = judge(world.add(_step(by)).say("slurm", "cancelled", CANCEL), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", mode, attribution)
    assert ("its script ended with an error status" in a.headline) == (by is not None)


def test_a_step_that_srun_ended_after_a_failed_task_is_nobodys_cancel(tmp_path: Path) -> None:
    world = failed(tmp_path, uid="2001").train(FALLING, every_s=60).say("exception", "ValueError", "bad value")
    a = judge(world.add(_step("2001")).say("slurm", "cancelled", CANCEL), assess)
    assert a.status == "suspected"


@pytest.mark.parametrize("ended", [True, False])
def test_srun_that_waited_long_enough_for_the_last_tasks(tmp_path: Path, ended: bool) -> None:
    """One task leaves early, and after `--wait` srun ends the rest: no person had to do with it."""
    world = failed(tmp_path, exit_code=137, exit_signal=0).train(FALLING, every_s=60)
    world.add(_step(None, "COMPLETED")).say("slurm", "first_task_exited", "srun: First task exited 60s ago")
    if ended:
        world.say("slurm", "force_terminated", "srun: launch/slurm: _step_signal: Terminating StepId=4812.0")
    a = judge(world.say("slurm", "cancelled", CANCEL), assess)
    assert (a.mode, a.attribution) == (None, "job" if ended else "undetermined")
    assert (step_cancels.tasks_left(world.facts()) is not None) == ended
    assert ("srun ended the tasks" in a.headline) == ended and not any(
        m.text.startswith("Who ") for m in a.missing if ended
    )


def test_a_cancel_of_a_job_whose_gpus_never_worked_is_most_likely_no_whim(tmp_path: Path) -> None:
    def at(folder: str, minutes: float, engine: float) -> World:
        samples = [
            GpuSample(node="n1", gpu=0, ts=T + timedelta(minutes=m), engine_active=engine, sm_active=engine)
            for m in range(int(minutes))
        ]
        return World(tmp_path / folder).job("CANCELLED", minutes, cancelled_by="ada", node_list="n1").add(*samples)

    idle = judge(at("idle", 60, 0.0), assess)
    assert (idle.confidence, any("No GPU of the job worked" in c.text for c in idle.speaks_for)) == (0.6, True)
    assert not any("GPU metrics" in m.signal for m in idle.missing)
    assert judge(at("busy", 60, 0.7), assess).confidence >= 0.9
    assert judge(at("young", 5, 0.0), assess).confidence >= 0.9, "it was just starting"
