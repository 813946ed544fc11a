"""Ends that batch systems other than Slurm tell of, by the log alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_log_endings import drafted

STEPS = "".join(f"step {n}/900 loss {4 - n / 300:.3f} lr 3.0e-4\n" for n in range(10, 400, 10))
LSF = "\n---\nSender: LSF System <lsf@c4>\nSubject: Job 81: <fit> in cluster <east> Exited\n\n{why}\nExited with exit code {code}.\n"
OWNER = "TERM_OWNER: job killed by owner."
LIMIT = "TERM_RUNLIMIT: job killed after reaching LSF run time limit."


@pytest.mark.parametrize(
    ("end", "family", "mode"),
    [
        (LSF.format(why=LIMIT, code=140), "F3", None),
        ("/tmp/81.shell: line 9: 712 Killed     python fit.py\n" + LSF.format(why=LIMIT, code=137), "F3", None),
        (LSF.format(why=OWNER, code=130), "F4", "user"),
        ("/tmp/81.shell: line 9: 712 Killed     python fit.py\n" + LSF.format(why=OWNER, code=137), "F4", "user"),
        (LSF.format(why="TERM_ADMIN: job killed by root or LSF administrator.", code=130), "F4", "operator"),
        (LSF.format(why="TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", code=137), "A2", None),
        ("=>> PBS: job killed: walltime 7212 exceeded limit 7200\nTerminated\n", "F3", None),
    ],
)
def test_a_batch_system_says_how_it_ended(tmp_path: Path, end: str, family: str, mode: str | None) -> None:
    draft = drafted(STEPS + end, tmp_path)
    assert (draft.family, draft.mode, draft.confidence >= 0.5) == (family, mode, True), draft.headline


def test_an_exception_before_its_owner_killed_it_is_the_cause(tmp_path: Path) -> None:
    error = "Traceback (most recent call last):\n  File \"fit.py\", line 3, in <module>\n    main()\nKeyError: 'lr'\n"
    assert drafted(error + LSF.format(why=OWNER, code=1), tmp_path).family == "A1"


PODS = "Status:         Failed\nReason:         Evicted\nMessage:        "


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        (STEPS + "UserError: nodes of this job got pre-empted, received the warning signal\n", "F2", "preemption"),
        (STEPS + "Reason:  Evicted\n", "F2", "preemption"),
        (PODS + "The node was low on resource: memory.\n", "A2", None),
        ("Status:  Pending\n  Warning  FailedScheduling  9s  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n", "A4", "pending"),
        (STEPS + "2026-02-15 16:53:52,096\tWARNING worker.py:1462 -- The node with node id: 8f20 and ip: 10.1.0.3 has been marked dead because the detector has missed too many heartbeats from it.\n", "F1", None),
    ],
)  # fmt: skip
def test_machines_and_pods_that_were_taken_away(tmp_path: Path, text: str, family: str, mode: str | None) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.mode, draft.confidence >= 0.5) == (family, mode, True), draft.headline


@pytest.mark.parametrize("after", ["^C\n", STEPS.replace("step ", "step 4")])
def test_a_node_of_rays_that_was_outlived_ended_nothing(tmp_path: Path, after: str) -> None:
    lost = "2026-02-15 16:53:52,096\tWARNING worker.py:1462 -- The node with node id: 8f20 has been marked dead because the detector has missed too many heartbeats from it.\n"
    assert drafted(STEPS + lost + after, tmp_path).family != "F1"


def test_a_run_that_went_on_after_its_cluster_was_preempted_was_not_ended_by_that(tmp_path: Path) -> None:
    more = "".join(f"step {n}/900 loss {4 - n / 300:.3f} lr 3.0e-4\n" for n in range(400, 910, 10))
    draft = drafted(STEPS + "The cluster was preempted.\n" + more, tmp_path)
    assert draft.family != "F2" or draft.confidence < 0.5, draft.headline


def test_what_submits_jobs_and_was_refused_failed_of_that(tmp_path: Path) -> None:
    refused = "sbatch: error: Batch job submission failed: Invalid qos specification\n"
    error = 'Traceback (most recent call last):\n  File "sweep.py", line 9, in <module>\n    go()\nRuntimeError: no job id\n'
    first, then = tmp_path / "first", tmp_path / "then"
    first.mkdir()
    then.mkdir()
    assert drafted(refused + error, first).family == "A4"
    assert drafted(error + refused, then).family != "A4"


def test_what_fails_while_an_interrupted_run_closes_down_is_no_crash_of_its_start(tmp_path: Path) -> None:
    error = (
        "Traceback (most recent call last):\n  File \"fit.py\", line 3, in <module>\n    close()\nKeyError: 'reward'\n"
    )
    told = "CRITICAL Keyboard Interrupt. Stopping now.\n"
    cases = {
        "before": told + error,
        "after": error + told,
        "long": told + "collecting\n" * 60 + error,
        "bare": "^C\n" + error,
    }
    families: dict[str, str] = {}
    for name, text in cases.items():
        (tmp_path / name).mkdir()
        families[name] = drafted(text, tmp_path / name).family
    assert families == {"before": "F4", "after": "A1", "long": "A1", "bare": "A1"}


CLIQUE = (
    "W0102 03:04:05.1 7 rendezvous.cc:41] This thread has been waiting for `initialize clique for rank 1; num_devices=4; "
    "nccl=9` for 10 seconds and may be stuck. Expected 4 threads to join the rendezvous, but not all of them arrived on time.\n"
)
TASKS = (
    'Traceback (most recent call last):\n  File "driver.py", line 20, in wait\n    timeout.check()\n'
    "TimeoutException: Timed out waiting for tasks to start. Please check connectivity between servers.\n"
)


@pytest.mark.parametrize(("text", "family"), [(CLIQUE, "C1"), (TASKS, "C1"), (CLIQUE + STEPS, "U0")])
def test_ranks_that_wait_for_each_other_at_the_start(tmp_path: Path, text: str, family: str) -> None:
    draft = drafted("devices: 4\n" + text, tmp_path)
    assert draft.family == family or (family == "U0" and draft.family != "C1"), draft.headline
