"""A run that had done its work and did not exit, and those that only look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import f3_timeout as f3
from tests.agent_tools.families.logkit import drafted, facts_of

STEPS = "".join(f"Epoch 1 step {s}0 loss {3 - s / 9:.2f}\n" for s in range(1, 7))
BAR = (
    "\n".join(f"{n}%|{'#' * (n // 10):10}| {3 * n}/300 [{n}:00<{100 - n}:00, 20.00s/it]" for n in range(10, 101, 10))
    + "\n"
)
WALL = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-02-03T04:05:06 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(
    ("last", "done"),
    [
        ("Training completed.\nSaved final model to out/final.pt\n", True),
        (
            " 98%|#########8| 294/300 [01:57<00:02,  2.50it/s]\n100%|##########| 300/300 [02:00<00:00,  2.50it/s]\n",
            True,
        ),
        ("Training completed.\n" + STEPS, False),
        ("Saved checkpoint to out/ckpt-30.pt\n", False),
        ("  successfully saved checkpoint from iteration 60 to out\n", False),
        ("Export complete.\n", False),
        ("".join(f"step {n}0/400 loss {3 - n / 9:.2f}\n" for n in range(7, 12)) + "Evaluation done.\n", False),
        (" 99%|#########9| 299/300 [01:57<00:02,  2.50it/s]\n", False),
        ("Epoch 1: 100%|##########| 300/300 [02:00<00:00,  2.50it/s]\n", False),
        ("Loading weights: 100%|##########| 300/300 [02:00<00:00,  2.50it/s]\n", False),
        # a bar of the preparation, after which the program starts something else and is not heard of again
        (
            BAR
            + "".join(
                f"2026-02-02 04:05:{n:02}: I spam/device.cc:44] Opened library libspam.so.{n}\n" for n in range(16)
            ),
            False,
        ),
        (BAR + "".join(f"[INFO] built block {n} of the net, {n * 64} wide\n" for n in range(20)), False),
        (BAR + "run.py:9: UserWarning: leaked semaphores at shutdown\n  warn(\n", True),
    ],
)
def test_a_wall_after_the_work_is_told_as_one(tmp_path: Path, last: str, done: bool) -> None:
    found = f3.assess(facts_of(STEPS + last + WALL, tmp_path))
    assert found.status == "confirmed" and ("had not exited" in found.headline) == done, found.headline


def test_a_wall_after_the_work_is_the_whole_verdict_on_it(tmp_path: Path) -> None:
    """Neither a hang nor slowness is told of instead, and of a wall under way neither that all was done."""
    for name, last in (
        ("done", "Training completed.\nSaved final model to out/final.pt\n"),
        ("cut", "Export complete.\n"),
    ):
        draft = drafted(STEPS + last + WALL, tmp_path / name)
        assert draft.family == "F3" and ("had not exited" in draft.headline) == (name == "done"), draft.headline


def test_a_cancel_after_the_work_is_told_beside_it(tmp_path: Path) -> None:
    cancel = WALL.replace(" DUE TO TIME LIMIT", "")
    draft = drafted(STEPS + "Training completed.\n" + cancel, tmp_path / "a")
    assert draft.family == "G1" and any("had not exited" in w.text for w in draft.warnings)
    draft = drafted(STEPS + cancel, tmp_path / "b")
    assert not any("had not exited" in w.text for w in draft.warnings)
