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
        ("Error in library(luz) : there is no package called 'luz'\nExecution halted\n", "A1", "env"),
        ("Error in read.csv(p) : cannot open the connection\nIn addition: Warning message:\nExecution halted\n", "A1", "data"),
        ("Epoch 1/9\nTrain metrics: Loss: 1.22\nEpoch 2/9\nTrain metrics: Loss: 1.02\nEpoch 3/9 - loss: 0.9\nError in predict(m) : object 'x' not found\nExecution halted\n", "A3", "code"),
        ("Error using trainnet (line 12)\nOut of memory on device. To view more detail, use 'gpuDevice()'.\n\nError in go (line 3)\n", "B1", None),
        ("/opt/torch/bin/luajit: train.lua:9: attempt to index a nil value\nstack traceback:\n\t[C]: in ?\n", "A1", "code"),
        ('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)\n', "A1", "env"),
        ("ERROR: LoadError: UndefVarError: `lossfn` not defined\nStacktrace:\n [1] top-level scope\n", "A1", "code"),
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
