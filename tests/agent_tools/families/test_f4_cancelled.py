from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_tools.families.f4_cancelled import assess
from store.rows import SlurmJob
from tests.agent_tools.families.world import T, World, judge

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
        {**AT_ONCE, "dependency": "afternotok:4811(failed)"},
    ],
    ids=["reason", "at-once", "submit-line", "short-option", "seen-waiting", "failed"],
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
    assert a.mode == "user"


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


@pytest.mark.parametrize("state", ["TIMEOUT", "NODE_FAIL", "PREEMPTED", "COMPLETED"])
def test_another_end_rules_it_out(tmp_path: Path, state: str) -> None:
    world = World(tmp_path).job(state).train(FALLING).say("slurm", "cancelled", CANCEL)
    assert judge(world, assess).status == "ruled_out"


@pytest.mark.parametrize(("name", "why"), [("time_limit", "TIME LIMIT"), ("preempted", "PREEMPTION")])
def test_a_cancel_with_a_reason_of_slurm_is_not_it(tmp_path: Path, name: str, why: str) -> None:
    world = World(tmp_path).train(FALLING).say("slurm", name, CANCEL.replace(" ***", f" DUE TO {why} ***"))
    assert judge(world, assess).status == "ruled_out"


def test_sigterm_alone_is_a_weak_sign(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train(FALLING).say("launcher_event", "death_signal", "Received 15", signal=15), assess)
    assert (a.status, a.confidence < 0.5) == ("suspected", True)


def test_sigterm_at_the_start_of_a_run_that_goes_on_is_noise(tmp_path: Path) -> None:
    a = judge(World(tmp_path).say("interrupt", "received", "Received SIGTERM: 15", signal=15).train(FALLING), assess)
    assert a.confidence < 0.3


def test_without_the_record_who_cancelled_is_missing(tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED", 40, cancelled_by="0").train(FALLING).say("slurm", "cancelled", CANCEL)
    a = judge(world.without(SlurmJob), assess)
    assert a.mode == "user"
    assert a.confidence < 0.9
    assert any("slurm_job" in m.signal for m in a.missing)
