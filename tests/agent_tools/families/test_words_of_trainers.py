"""What trainers and schedulers' helpers say of their own end, in words that name no family; a step recomputed elsewhere (recomputed)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

_STACK = 'Traceback (most recent call last):\n  File "/p/run.py", line 9, in <module>\n    main()\n  File "/p/alg.py", line 70, in update\n    act()\n'
_RERUN = "ERROR:megatron.core.rerun_state_machine:Rank 5, node n3, device 2, iteration #401: "
_SAME = "First rerun: unexpected result is reproducible within the tolerance (9e9 = 9e9). Need to rerun on a different GPU to verify correctness.!\n"
_SPREAD = "RuntimeError: normal expects all elements of std >= 0.0\n"


@pytest.mark.parametrize(
    "words",
    [
        _STACK + _SPREAD,
        _STACK + "RuntimeError: \n    grad_scale is too small, exiting: 1.5e-23\n",
        _RERUN + "Correct result (but possible Application error) (found NaN in local grad norm)!\n"
        "[exiting program at iteration 400] datetime: 2026-01-01 10:00:00\n",
    ],
    ids=["policy", "scale", "megatron"],
)
def test_a_value_that_is_no_number_ends_training_by_any_name(words: str, tmp_path: Path) -> None:
    found = drafted(looped(0, 400) + words, tmp_path)
    assert (found.family, found.mode, found.attribution) == ("E1", "non_finite", "job")


def test_a_negative_spread_before_any_step_is_a_setting(tmp_path: Path) -> None:
    assert drafted("starting\n" + _STACK + _SPREAD, tmp_path).family == "A1"


def test_a_step_that_another_gpu_computes_otherwise_names_the_first_one_and_blames_no_hardware(tmp_path: Path) -> None:
    text = (
        looped(0, 400)
        + _RERUN
        + _SAME
        + _RERUN.replace("n3, device 2", "n8, device 7")
        + "Possible persistent error!\n"
    )
    found = drafted(text, tmp_path)
    assert (found.family, found.attribution) == ("B2", "undetermined")
    assert found.confidence < 0.7


def test_a_transient_miscount_that_training_went_past_is_no_verdict(tmp_path: Path) -> None:
    text = looped(0, 400) + _RERUN + "Possible transient error!\n" + looped(400, 9010) + "training finished\n"
    assert drafted(text, tmp_path).family == "G1"


def test_megatrons_own_report_of_one_slow_rank_is_a_straggler(tmp_path: Path) -> None:
    report = "[2026-01-01 10:00:00] | MnRtt/Rnk: 310.2ms/4 | MxRtt/Rnk: 700.9ms/{0} | MnEtpt/Rnk: {1}TF/{0} | MxEtpt/Rnk: 412.50TF/4\n"
    slow = "".join(looped(500 * n, 500 * n + 400) + report.format(21, "150.25") for n in range(5))
    assert drafted(slow, tmp_path / "slow").family == "D3"
    even = "".join(looped(500 * n, 500 * n + 400) + report.format(21, "391.25") for n in range(5))
    assert drafted(even, tmp_path / "even").family == "G1"


def test_submitits_exception_at_the_limit_is_the_limit_and_no_crash(tmp_path: Path) -> None:
    text = (
        looped(0, 400)
        + "submitit WARNING (2026-01-01 10:00:00,000) - Caught signal SIGUSR2 on n1: this job is timed-out.\n"
        + 'Traceback (most recent call last):\n  File "/e/submitit/core/job_environment.py", line 201, in checkpoint_and_exit\n    raise x\n'
        + "submitit.core.utils.UncompletedJobError: Job not requeued because: timed-out too many times.\n"
    )
    assert drafted(text, tmp_path).family == "F3"


def test_a_step_that_a_prolog_kept_from_starting_is_the_clusters(tmp_path: Path) -> None:
    text = "begin\nsrun: error: Unable to create step for job 41: Prolog failed / node configuration\n"
    found = drafted(text, tmp_path / "a")
    assert (found.family, found.attribution) == ("A4", "infrastructure")
    text = "begin\nsrun: error: Unable to create step for job 41: More processors requested than permitted\n"
    assert drafted(text, tmp_path / "b").attribution == "job"


def test_a_script_that_gives_up_after_nccl_tells_only_that_it_gave_up(tmp_path: Path) -> None:
    text = (
        "== check of the fabric ==\n"
        "n6:91:99 [4] NCCL INFO transport/net_ib.cc:1100 -> 2\n"
        "n6: Test NCCL failure common.cu:990 'unhandled system error (run with NCCL_DEBUG=INFO for details)'\n"
        "check FAILED, not going on\n"
        "srun: error: n6: task 4: Exited with exit code 3\n"
    )
    assert drafted(text, tmp_path).family == "C1"


def test_what_may_have_slowed_or_reset_a_run_leaves_its_health_open(tmp_path: Path) -> None:
    done = looped(0, 9010) + "training finished\n"
    assert drafted(done, tmp_path / "plain").confidence > 0.8
    hot = drafted("        HW Thermal Slowdown           : Active\n" + done, tmp_path / "hot")
    assert hot.family == "G1" and hot.confidence <= 0.65
    named = "+ python train.py --resume old/last.pth\n=> no checkpoint found at 'old/last.pth'\n"
    assert drafted(named + done, tmp_path / "named").confidence <= 0.5


def test_a_rank_that_its_launcher_killed_for_want_of_heartbeats_hung(tmp_path: Path) -> None:
    silent = "[2026-01-01 10:00:00,000] [WARNING] [RankMonitorServer:3] Did not get subsequent heartbeat. Waited 171.92 seconds.\n"
    killed = (
        "[2026-01-01 10:00:02,000] [ERROR] failed (exitcode: -9) local_rank: 3 (pid: 712) of binary: /e/bin/python\n"
    )
    hung = drafted(looped(0, 400) + silent + killed, tmp_path / "hung")
    assert (hung.family, hung.attribution) == ("C2", "undetermined")
    went_on = drafted(looped(0, 400) + silent + looped(400, 9010) + "training finished\n", tmp_path / "on")
    assert went_on.family == "G1"
    assert drafted(looped(0, 400) + killed, tmp_path / "killed").family == "A2"
