"""What ended a run in the words of other accelerators' and languages' runtimes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_cut_and_told import OPEN, drafted

ABORTED = "terminate called after throwing an instance of "


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        (OPEN + "RuntimeError: Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n", "B1", None),
        (ABORTED + "'sycl::_V1::exception'\n  what():  Enqueue process failed.\nlevel_zero backend failed with error: 39 "
         "(UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\nFatal Python error: Aborted\n", "B1", None),
        ("ERROR 01-02 03:04:05 [worker.py:8] [PID: 7] 2026-01-02-03:04:05.006.007 Memory_Allocation_Failure(EL0004): "
         "Failed to allocate memory requested by GE module.\n", "B1", None),
        ("Communication_Error_Get_Socket(EI0006): Getting socket times out. Reason: Remote Rank did not send the data.\n", "C1", None),
    ],
)  # fmt: skip
def test_the_words_of_another_runtime_decide(text: str, family: str, mode: str | None, tmp_path: Path) -> None:
    verdict = drafted(text, tmp_path / "log")
    assert (verdict.family, verdict.mode) == (family, mode) and verdict.confidence >= 0.5


@pytest.mark.parametrize(
    "text",
    [
        "Set UR_LOG_LEVEL to see why a call gives UR_RESULT_ERROR_OUT_OF_HOST_MEMORY\nstep 1\n",
        "see the manual on Memory_Allocation_Failure and EL0004\n",
    ],
)
def test_what_merely_speaks_of_it_decides_nothing(text: str, tmp_path: Path) -> None:
    assert drafted(text, tmp_path / "log").family != "B1"
