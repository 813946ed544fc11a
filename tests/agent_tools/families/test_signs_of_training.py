"""What shows that training had begun where no parser read a step, and what a failure after it is laid to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_cut_and_told import OPEN, drafted

NET = '  File "/opt/env/lib/python3.11/site-packages/urllib3/'
TIMED_OUT = NET + 'util/connection.py", line 73, in create_connection\n    sock.connect(sa)\nTimeoutError: timed out\n'
REFUSES = "ValueError: the two halves do not fit\n"


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        ("[INFO|trainer.py:3067] >> Saving model checkpoint to out/sft/tmp-checkpoint-500\n" + OPEN + TIMED_OUT, "A3", "network"),
        ("[INFO|trainer.py:3067] >> Saving model checkpoint to out/sft/checkpoint-500\n" + OPEN + REFUSES, "A3", "code"),
        ("Epoch: [4][  12 /  90]  Time: 1.1  Err_G: 0.71  Err_D: 0.32\n" + OPEN + REFUSES, "A3", "code"),
        ("Epoch: [4][  12 /  90]  Time: 1.1  Err_G: 0.71\n/opt/torch/bin/luajit: File.lua:210: write error: wrote 240 blocks instead of 320\n"
         "stack traceback:\n\t[C]: in function 'write'\n", "A3", "storage"),
        # nothing was trained before a save of what was merely converted, nor where the first step was still to come
        ("Saving model checkpoint to out/converted\n" + OPEN + REFUSES, "A1", "code"),
        (OPEN + TIMED_OUT, "A1", "env"),
    ],
)  # fmt: skip
def test_it_had_begun_or_not(text: str, family: str, mode: str, tmp_path: Path) -> None:
    verdict = drafted(text, tmp_path / "log")
    assert (verdict.family, verdict.mode) == (family, mode) and verdict.confidence >= 0.5


def test_a_piece_of_a_traceback_that_says_little_is_no_sure_crash_of_the_start(tmp_path: Path) -> None:
    """The log begins inside the stack: whether steps came before it is not known, and the text tells nothing either."""
    piece = '  File "/opt/env/lib/python3.11/site-packages/lib/memory.py", line 22, in flush\n    _C._flush()\n'
    verdict = drafted(piece + "RuntimeError: native call failed with 20 (DEVICE_LOST)\n", tmp_path / "log")
    assert verdict.family in ("A1", "U0") and verdict.confidence < 0.5 or verdict.family == "U0"
    whole = drafted(OPEN + piece + "ModuleNotFoundError: No module named 'flash'\n", tmp_path / "whole")
    assert (whole.family, whole.mode) == ("A1", "env") and whole.confidence >= 0.8
