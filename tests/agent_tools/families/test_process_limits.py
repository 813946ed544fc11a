"""A limit of the process itself as a launcher and as Python tell of it, and a task that left, which is no healthy run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

TRAINED = looped(0, 300)
SUMMARY = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
pretrain.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-02_11:20:31
  host      : n07
  rank      : 3 (local_rank: 3)
  exitcode  : -25 (pid: 4711)
  error_file: <N/A>
  traceback : Signal 25 (SIGXFSZ) received by PID 4711
============================================================
"""


def test_the_launchers_summary_names_a_file_that_grew_to_its_limit(tmp_path: Path) -> None:
    found = drafted(TRAINED + SUMMARY, tmp_path / "x")
    assert (found.family, found.attribution) == ("A2", "job")
    assert any("ulimit -f" in c.text for c in found.actions)


def test_python_meets_the_limit_of_a_file_as_an_error_of_its_own(tmp_path: Path) -> None:
    """Python ignores the signal, and its write fails instead."""
    raised = (
        "Traceback (most recent call last):\n"
        '  File "/home/u/pretrain.py", line 90, in <module>\n    main()\n'
        '  File "/home/u/pretrain.py", line 71, in main\n    log.write(text)\n'
        "OSError: [Errno 27] File too large\n"
    )
    found = drafted(TRAINED + raised, tmp_path / "x")
    assert (found.family, found.mode) == ("A3", "storage")


@pytest.mark.parametrize("status", ["1", "3", "64"])
def test_a_task_that_left_with_a_status_of_its_own_is_not_healthy(tmp_path: Path, status: str) -> None:
    found = drafted(f"{TRAINED}srun: error: n07: task 0: Exited with exit code {status}\n", tmp_path / "x")
    assert found.family == "U0"
    assert "error status" in found.headline


def test_a_task_of_a_check_before_the_training_takes_no_health_away(tmp_path: Path) -> None:
    """What failed before all that was trained is no word on how that went."""
    found = drafted(f"srun: error: n07: task 0: Exited with exit code 1\n{TRAINED}", tmp_path / "x")
    assert found.family == "G1"
