"""Whoever reports a lost peer is no cause: JAX's and TensorFlow's services, UCX's transport, a launcher's daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

_JAX = (
    "F1012 11:02:03.400001 771 client.h:77] Terminating process because the JAX distributed service detected fatal errors. "
    "This most likely indicates that another task died; see the other task logs for more details. absl::Status: UNAVAILABLE: "
    "The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:5\n"
    "The tasks have crashed. Check the task logs for an earlier error, or scheduler events to debug further.\n"
    "srun: error: n3: task 0: Aborted (core dumped)\n"
)
_UCX = (
    "[n4:812 :0:812] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_2:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n"
    "mpirun noticed that process rank 3 with PID 812 on node n4 exited on signal 6 (Aborted).\n"
)


@pytest.mark.parametrize("end", [_JAX, _UCX], ids=["jax", "ucx"])
def test_a_process_that_ends_itself_because_of_a_peer_is_not_the_jobs_crash(end: str, tmp_path: Path) -> None:
    found = drafted(looped(0, 400) + end, tmp_path)
    assert found.family in ("C2", "U0") and found.attribution == "undetermined" and found.confidence < 0.6


def test_an_abort_without_a_word_of_a_peer_is_still_a_crash(tmp_path: Path) -> None:
    found = drafted(looped(0, 400) + "srun: error: n3: task 0: Aborted (core dumped)\n", tmp_path)
    assert found.family == "A2" and found.confidence > 0.8


def test_a_peer_that_was_killed_for_memory_is_what_the_others_lost(tmp_path: Path) -> None:
    killed = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=71.0. Some of the step tasks have been OOM Killed.\n"
    )
    assert drafted(looped(0, 400) + killed + _JAX, tmp_path).family == "A2"


def test_the_echo_of_a_lost_worker_in_tensorflow_is_no_fault_of_the_code(tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/ws/fit.py", line 20, in <module>\n'
        "    model.fit(data)\n"
        "tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:\n\n"
        "Collective ops is aborted by: Task /job:worker/replica:0/task:3 heartbeat timeout. This indicates that the remote task "
        "has failed, got preempted, or crashed unexpectedly. Check the task logs for an earlier error to debug further.\n"
    )
    found = drafted(looped(0, 400) + text, tmp_path)
    assert found.family != "A3" and found.confidence < 0.6


def test_a_launcher_that_lost_a_daemon_speaks_of_a_node_and_not_of_a_healthy_run(tmp_path: Path) -> None:
    text = (
        "-" * 40
        + "\nPRTE has lost communication with a remote daemon.\n\n  Remote daemon: [prterun-n1-77@0,1] on node n2\n"
    )
    found = drafted(looped(0, 400) + text, tmp_path)
    assert (found.family, found.attribution) == ("F1", "infrastructure") and found.confidence <= 0.6
    assert found.cannot_decide


def test_a_rank_whose_loader_lost_a_worker_is_named_as_the_trigger_of_the_hang(tmp_path: Path) -> None:
    worker = (
        "[rank3]: Traceback (most recent call last):\n"
        '[rank3]:   File "/ws/train.py", line 40, in <module>\n'
        "[rank3]:     for batch in loader:\n"
        "[rank3]: RuntimeError: DataLoader worker (pid(s) 4410) exited unexpectedly\n"
    )
    hang = (
        "[rank0]:[E1012 11:31:03.1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=702, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600051 milliseconds before timing out.\n"
    )
    found = drafted(looped(0, 400) + worker + hang, tmp_path)
    assert found.family == "C2" and any("worker that rank" in c.text for c in found.shows)
    (tmp_path / "after").mkdir()
    after = drafted(looped(0, 400) + hang + worker, tmp_path / "after")
    assert not any("worker that rank" in c.text for c in after.shows), "what fell at the teardown triggered nothing"
