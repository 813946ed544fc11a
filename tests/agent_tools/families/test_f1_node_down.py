from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families.f1_node_down import assess
from store.rows import HostEvent, SlurmNodeState
from tests.agent_tools.families.logkit import drafted
from tests.agent_tools.families.world import T, World, judge


def running(folder: Path, state: str, **fields: object) -> World:
    return World(folder).job(state, **fields).train([9 - i / 10 for i in range(50)], every_s=60)


def test_node_fail_with_its_node_is_certain(tmp_path: Path) -> None:
    a = judge(
        running(tmp_path, "NODE_FAIL", failed_node="n2").node("n2", "DOWN", 59.5, reason="Not responding"), assess
    )
    assert (a.status, a.attribution, a.confidence >= 0.95) == ("confirmed", "infrastructure", True)
    assert "failed_node" in a.headline


@pytest.mark.parametrize(("node", "minute", "told"), [("n2", 55, True), ("n1", 55, False), ("n2", 5, False)])
def test_the_last_words_of_the_lost_nodes_kernel_are_told(node: str, minute: int, told: bool, tmp_path: Path) -> None:
    world = running(tmp_path, "NODE_FAIL", failed_node="n2")
    at = T + timedelta(minutes=minute)
    world.add(HostEvent(node=node, ts=at, event="panic", message="Kernel panic - not syncing: Fatal machine check"))
    a = judge(world, assess)
    assert any("said last" in c.text for c in a.speaks_for) is told
    assert any("its kernel log" in m.signal for m in a.missing) is not told


def test_a_node_of_the_job_that_went_down_as_it_ended_is_enough(tmp_path: Path) -> None:
    a = judge(running(tmp_path, "FAILED").node("n1", "DOWN", 59, reason="Node unexpectedly rebooted"), assess)
    assert (a.status, a.confidence >= 0.85) == ("confirmed", True)


@pytest.mark.parametrize(
    ("minute", "fields", "status"),
    [
        (61, {"exit_code": 1}, "ruled_out"),
        (59, {"exit_code": 1}, "confirmed"),
        (61, {"exit_code": 143}, "confirmed"),
        (61, {"exit_code": 0, "exit_signal": 15}, "confirmed"),
        (61, {"exit_code": 1, "node_list": "n1,n2", "node_count": 2}, "confirmed"),
    ],
    ids=["after it told of the exit", "before the end", "a shutdown's signal", "a signal", "another one told of it"],
)
def test_a_jobs_only_node_that_told_of_its_exit_was_not_lost_under_it(
    minute: float, fields: dict[str, object], status: str, tmp_path: Path
) -> None:
    world = World(tmp_path).job("FAILED", **{"node_list": "n1", "node_count": 1, "exit_signal": 0, **fields})
    a = judge(world.node("n1", "DOWN", minute, reason="power supply"), assess)
    assert a.status == status


def test_slurms_words_in_the_log_are_enough_and_the_node_states_are_missed(tmp_path: Path) -> None:
    message = (
        "*** JOB 4812 ON n1 CANCELLED AT 2026-03-01T11:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"
    )
    a = judge(World(tmp_path).say("slurm", "node_failure", message, host="n1"), assess)
    assert a.status == "confirmed"
    assert any("slurm_node_state" in m.signal for m in a.missing)


def test_the_node_that_srun_names_as_failed_is_named(tmp_path: Path) -> None:
    a = judge(World(tmp_path).say("slurm", "node_failure", "srun: error: Node failure on n2", host="n2"), assess)
    assert "stop_host" in a.headline
    assert not any("need not be" in c.text for c in a.speaks_for)


@pytest.mark.parametrize(
    ("steps", "state", "family"), [(40, "COMPLETED", "G1"), (12, "COMPLETED", "F1"), (40, "NODE_FAIL", "F1")]
)
def test_a_run_that_did_all_it_had_planned_without_the_lost_node_is_well(
    tmp_path: Path, steps: int, state: str, family: str
) -> None:
    """srun and sbatch can be told to go on (--no-kill). That a node was lost is still said."""
    world = World(tmp_path).say("slurm", "node_failure", "srun: error: Node failure on n2", host="n2").job(state)
    draft = differential.draft(
        world.train([9 - i / 10 for i in range(steps)], every_s=60, stride=1, total_steps=40).facts()
    )
    assert draft.family == family
    if family == "G1":
        assert any("A node was lost" in w.text for w in draft.warnings)


def test_the_only_node_that_is_down_is_named_where_the_times_of_its_record_do_not_match(tmp_path: Path) -> None:
    """A snapshot in a local time that nothing places: the node that failed seems to have gone down hours before."""
    down = running(tmp_path / "a", "NODE_FAIL").node("n2", "DOWN", -420, reason="Not responding")
    assert "most likely [[" in judge(down, assess).headline
    two = running(tmp_path / "b", "NODE_FAIL", node_list="n1,n2").node("n1", "DOWN", -420).node("n2", "DOWN", -420)
    back = running(tmp_path / "c", "NODE_FAIL").node("n2", "DOWN", -420, 5)
    for world in (two, back):
        assert "lost a node under" in judge(world, assess).headline


def test_the_node_that_failed_under_an_earlier_attempt_is_named_where_its_states_are_known(tmp_path: Path) -> None:
    def again(folder: str) -> World:
        world = World(tmp_path / folder).job("NODE_FAIL", 30)
        return world.job("RUNNING", 60, attempt=2, start_ts=T + timedelta(minutes=33), node_list="n1,n3")

    known = judge(again("a").node("n2", "DOWN", 29.5, 50, reason="Not responding"), assess)
    assert known.headline.startswith("Node [[")
    assert known.missing == []
    for world in (again("b"), again("c").node("n2", "DRAINED", 40)):
        unknown = judge(world, assess)
        assert unknown.headline.startswith("A node failed")
        assert any("slurm_node_state" in m.signal for m in unknown.missing)


@pytest.mark.parametrize(
    ("node", "state", "after", "until", "reason"),
    [
        ("n1", "DRAINED", 75, None, "Kill task failed"),
        ("n1", "DOWN", 180, None, "Not responding"),
        ("n1", "DOWN", 5, 20, "Not responding"),
        ("n1", "DRAINING", 30, None, "scheduled maintenance"),
    ],
)
def test_a_node_drained_afterwards_or_recovered_before_is_not_it(
    tmp_path: Path, node: str, state: str, after: float, until: float | None, reason: str
) -> None:
    a = judge(running(tmp_path, "FAILED").node(node, state, after, until, reason=reason), assess)
    assert (a.status, a.confidence < 0.1) == ("ruled_out", True)


def test_a_node_that_went_down_when_the_job_was_over_is_told_so(tmp_path: Path) -> None:
    after = judge(running(tmp_path / "a", "FAILED").node("n1", "DOWN", 180), assess)
    before = judge(running(tmp_path / "b", "FAILED").node("n1", "DOWN", 5, 20), assess)
    assert "after_end_s]] after the job had ended" in after.counterfactual
    assert "before_end_s]] before the end" in before.counterfactual


def test_a_node_that_is_none_of_the_jobs_says_nothing(tmp_path: Path) -> None:
    a = judge(running(tmp_path, "FAILED").node("n9", "DOWN", 59, reason="Not responding"), assess)
    assert (a.status, a.confidence < 0.1) == ("undecidable", True)


@pytest.mark.parametrize("state", ["COMPLETED", "TIMEOUT", "OUT_OF_MEMORY"])
def test_another_end_in_accounting_rules_it_out(tmp_path: Path, state: str) -> None:
    a = judge(running(tmp_path, state).node("n1", "DOWN", 60.5, reason="Not responding"), assess)
    assert a.status == "ruled_out"


def test_a_traceback_of_the_job_itself_makes_the_node_secondary(tmp_path: Path) -> None:
    world = running(tmp_path, "FAILED").say("exception", "ValueError", "bad sample")
    a = judge(world.node("n1", "DOWN", 60.2, reason="Not responding"), assess)
    assert (a.status, a.confidence <= 0.3) == ("suspected", True)


def test_what_other_ranks_raise_of_a_peer_that_is_gone_is_of_the_lost_node(tmp_path: Path) -> None:
    gone = "NCCL error in: ProcessGroupNCCL.cpp:3384, remote process exited or there was a network error, NCCL version 2.23.4"
    world = running(tmp_path, "FAILED").say("exception", "torch.distributed.DistBackendError", gone, rank=0)
    a = judge(world.node("n1", "DOWN", 60.2, reason="Not responding"), assess)
    assert (a.status, a.confidence > 0.8) == ("confirmed", True)


def test_without_node_states_a_failed_job_leaves_it_open(tmp_path: Path) -> None:
    a = judge(running(tmp_path, "FAILED").node("n1", "DOWN", 59, reason="x").without(SlurmNodeState), assess)
    assert a.status == "undecidable"
    assert "slurm_node_state" in a.missing[0].signal


@pytest.mark.parametrize(("last", "family"), [("RUNNING", "F1"), ("PENDING", "F1"), ("COMPLETED", "F2")])
def test_a_node_failure_of_an_earlier_attempt_is_the_end_until_the_rerun_has_its_own(
    tmp_path: Path, last: str, family: str
) -> None:
    world = World(tmp_path).job("NODE_FAIL", 30)
    world.job(last, 60, attempt=2, restarts=1, start_ts=T + timedelta(minutes=33) if last != "PENDING" else None)
    draft = differential.draft(world.facts())
    assert (draft.family, draft.attribution) == (family, "infrastructure")
    assert ("the rerun completed" in draft.headline) is (last == "COMPLETED")
    first = differential.draft(world.facts(attempt=1))
    assert (first.family, first.confidence >= 0.95) == ("F1", True), "what that attempt itself ended of"


@pytest.mark.parametrize(
    ("state", "flags", "after", "reason"),
    [
        ("DRAINING", "DRAIN,REBOOT_REQUESTED", 20, "new kernel"),
        ("MIXED", "POWER_DOWN", 20, None),
        ("DOWN", "DRAIN,REBOOT_ISSUED", 60, "new kernel : reboot issued"),
        ("DOWN", None, 61, "new kernel : reboot issued : reboot timed out"),
        ("IDLE", "POWERING_DOWN", 60.5, None),
    ],
)
def test_a_reboot_that_waits_for_the_jobs_end_did_not_end_it(
    tmp_path: Path, state: str, flags: str | None, after: float, reason: str | None
) -> None:
    """`scontrol reboot ASAP` drains the node at once and reboots it when its last job has ended."""
    world = running(tmp_path, "FAILED").node("n1", state, after, reason=reason, state_flags=flags)
    assert judge(world, assess).status == "ruled_out"


def test_a_node_that_was_rebooted_under_the_job_is_it(tmp_path: Path) -> None:
    world = running(tmp_path, "FAILED").node("n1", "DOWN", 59, reason="x : reboot issued", state_flags="REBOOT_ISSUED")
    assert judge(world, assess).status == "confirmed"


def test_nodes_that_never_came_up_are_a_launch_that_failed(tmp_path: Path) -> None:
    woken = (
        "srun: error: Node failure on gpu-dy-1\nsrun: error: Nodes gpu-dy-1 are still not ready\n"
        "srun: error: Something is wrong with the boot of the nodes.\n"
    )
    draft = drafted(woken, tmp_path)
    assert (draft.family, draft.mode, draft.attribution) == ("A4", "launch", "infrastructure"), draft.headline
    (tmp_path / "ran").mkdir()
    ran = "".join(f"step {n}/900 loss {2 - n / 100:.2f} lr 1e-4 9.5 it/s\n" for n in range(20)) + woken
    assert drafted(ran, tmp_path / "ran").family == "F1"


@pytest.mark.parametrize(("nodes", "named"), [("n1", True), ("n1,n2", False)])
def test_of_a_job_on_one_node_that_node_is_the_one_that_failed(tmp_path: Path, nodes: str, named: bool) -> None:
    """The verdict comes before anybody has asked for the nodes' states again."""
    count = len(nodes.split(","))
    a = judge(running(tmp_path, "NODE_FAIL", node_list=nodes, node_count=count), assess)
    assert ("lost [[" in a.headline) is named


def test_a_node_that_is_marked_down_just_after_the_end_gives_no_negative_time(tmp_path: Path) -> None:
    late = judge(running(tmp_path / "a", "NODE_FAIL").node("n1", "DOWN", 60.05, reason="Not responding"), assess)
    soon = judge(running(tmp_path / "b", "NODE_FAIL").node("n1", "DOWN", 59, reason="Not responding"), assess)
    assert any("Node [[" in c.text and "later" not in c.text for c in late.speaks_for)
    assert any("the job ended [[" in c.text and "later" in c.text for c in soon.speaks_for)


def test_the_same_node_under_two_attempts_is_told(tmp_path: Path) -> None:
    def third(folder: str, first_lost: str) -> World:
        world = World(tmp_path / folder).job("NODE_FAIL", 30, node_list="n1,n2")
        world.job("NODE_FAIL", 30, attempt=2, start_ts=T + timedelta(minutes=40), node_list="n1,n2")
        world.job("RUNNING", 60, attempt=3, start_ts=T + timedelta(minutes=80), node_list="n3,n4")
        return world.node(first_lost, "DOWN", 29.9, 35).node("n2", "DOWN", 69.9, 75)

    told = judge(third("same", "n2"), assess)
    assert any("under an attempt before that, too" in c.text for c in told.speaks_for)
    assert any("--exclude" in c.text for c in told.actions)
    assert not any("before that, too" in c.text for c in judge(third("other", "n1"), assess).speaks_for)


def test_a_launch_that_failed_on_a_node_is_no_failure_of_it_whatever_the_controller_calls_it(tmp_path: Path) -> None:
    held = {"start_ts": None, "end_ts": None, "attempt": 2, "minutes": 0.0}
    world = World(tmp_path).job("NODE_FAIL", minutes=0.1)
    assert judge(world.job("PENDING", state_reason="launch failed requeued held", **held), assess).status == "ruled_out"
    world = World(tmp_path).job("NODE_FAIL", minutes=30.0)
    assert judge(world.job("PENDING", state_reason="BeginTime", **held), assess).status == "confirmed"
