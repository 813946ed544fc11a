"""What ended a run in the words of other accelerators' and languages' runtimes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import looped
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
        ("E0102 03:04:05.6 12 distributed_runtime_client.cc:201] Connect() failed after 5 retries in 5m: DEADLINE_EXCEEDED: failed to connect to all "
         "addresses; last error: UNKNOWN: ipv4:10.0.0.2:12345: Failed to connect to remote host\n", "C1", None),
        ("EnvironmentNameNotFound: Could not find conda environment: torch2\n", "A1", "env"),
        (OPEN + "gymnasium.error.NameNotFound: Environment `Walkerr` doesn't exist.\n", "A1", "config"),
        (OPEN + "ValueError: PaddlePaddle is not compiled with CUDA, device gpu cannot be used\n", "A1", "env"),
        (OPEN + "mujoco.FatalError: gladLoadGL error\n", "A1", "env"),
        (OPEN + "ConnectionError: Could not find any running Ray instance. Please specify the one to connect to.\n", "A1", "env"),
        (OPEN + "RuntimeError: Jackhmmer failed\nstderr:\nError: File existence/permissions problem in trying to open HMM file /sets/uniref90.fasta.\n", "A1", "data"),
        (OPEN + "tensorflow.python.framework.errors_impl.DataLossError: Unable to open table file /ckpt/model-7: not an sstable (bad magic number)\n", "A1", "asset"),
        (OPEN + '  File "/opt/env/lib/python3.11/site-packages/h5py/_hl/files.py", line 231, in make_fid\n    fid = h5f.open(name, flags, fapl=fapl)\n'
         "OSError: Unable to open file (unable to open file: name = 'weights/best.h5', errno = 2, error message = 'No such file or directory')\n", "A1", "asset"),
        (OPEN + '  File "/opt/env/lib/python3.11/site-packages/h5py/_hl/files.py", line 231, in make_fid\n    fid = h5f.open(name, flags, fapl=fapl)\n'
         "OSError: Unable to open file (unable to open file: name = '/sets/train_images.h5', errno = 2, error message = 'No such file or directory')\n", "A1", "data"),
        ("cudaMalloc GpuBuffer::Allocate failed out of memory\n", "B1", None),
        ("Error out of memory at line 380 in file /tmp/bitsandbytes/csrc/pythonInterface.c\n", "B1", None),
        ("FATAL ERROR: CUDA error cudaMalloc((void **)pp, n) in file src/CudaUtils.C\n on Pe 0 (n1 device 0 pci 0:3b:0): out of memory\n", "B1", None),
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


def test_a_check_that_failed_because_another_process_went_away_is_no_fault_of_the_program(tmp_path: Path) -> None:
    text = "2021-01-02 03:04:05.6: F tensorflow/core/x.cc:12] Check failed: status.ok() Unavailable: Socket closed\n"
    assert drafted(text + "Aborted (core dumped)\n", tmp_path / "log").family in ("A2", "U0")


@pytest.mark.parametrize(
    "text",
    [
        "Set UR_LOG_LEVEL to see why a call gives UR_RESULT_ERROR_OUT_OF_HOST_MEMORY\nstep 1\n",
        "see the manual on Memory_Allocation_Failure and EL0004\n",
    ],
)
def test_what_merely_speaks_of_it_decides_nothing(text: str, tmp_path: Path) -> None:
    assert drafted(text, tmp_path / "log").family != "B1"


@pytest.mark.parametrize(
    "error",
    [
        "ERROR (nnet3-train[5.5]:CopyToVec():cu-vector.cc:99) cudaError_t 4 : \"unspecified launch failure\" returned from 'cudaMemcpy()'\n",
        OPEN + "RuntimeError: CUDA error: unspecified launch failure\n",
        "CUDA error: unspecified launch failure\n",
    ],
)
def test_a_kernel_that_was_lost_at_the_start_blames_neither_the_program_nor_the_gpu(error: str, tmp_path: Path) -> None:
    verdict = drafted(error, tmp_path / "log")
    assert verdict.confidence < 0.5 and verdict.attribution == "undetermined"
    assert not any("not to blame" in c.text for c in verdict.implies)


PADDLE = (
    "--------------------------------------\nC++ Traceback (most recent call last):\n--------------------------------------\n"
    "{stack}\n\n----------------------\nError Message Summary:\n----------------------\n{what}"
)
HANDLED = (
    "FatalError: {what} is detected by the operating system.\n"
    '  [TimeInfo: *** Aborted at 1712300007 (unix time) try "date -d @1712300007" if you are using GNU date ***]\n'
    "  [SignalInfo: *** {signal} (@0x7) received by PID 71 (TID 0x7f01) from PID 7 ***]\n"
)


@pytest.mark.parametrize(
    ("what", "signal", "family"),
    [
        ("`Segmentation fault`", "SIGSEGV", "A2"),
        ("A serious error (Segmentation fault)", "SIGSEGV", "A2"),
        ("`Access to an undefined portion of a memory object`", "SIGBUS", "A2"),
        ("`Termination signal`", "SIGTERM", "F4"),
        ("A serious error (Termination signal)", "SIGTERM", "F4"),
    ],
)
def test_paddle_reports_a_signal_in_the_form_of_an_exception(
    what: str, signal: str, family: str, tmp_path: Path
) -> None:
    report = PADDLE.format(
        stack="0   paddle::f::Handle(char const*, int)", what=HANDLED.format(what=what, signal=signal)
    )
    draft = drafted(looped(0, 200) + report, tmp_path)
    assert draft.family == family, draft.headline
    assert family != "F4" or draft.confidence < 0.6  # nobody knows who sent it


KOKKOS = "cudaDeviceSynchronize() error( cudaErrorIllegalAddress): an illegal memory access was encountered /k/Cuda.cpp:7\nBacktrace:\n"
ROWS = "    1790   71.76    1226.5    92257.9   0.6218\n    1800   67.53   -1395.8    93390.4   0.6142\n"


@pytest.mark.parametrize(("before", "sure"), [(ROWS, False), ("reading parameters\n" + ROWS, True), ("", False)])
def test_a_log_that_begins_inside_a_table_does_not_tell_whether_a_kernel_failed_at_start(
    before: str, sure: bool, tmp_path: Path
) -> None:
    draft = drafted(before + KOKKOS, tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("A1", sure), draft.headline


def test_rocm_aborts_over_a_fault_that_it_tells_of(tmp_path: Path) -> None:
    fault = "Memory access fault by GPU node-4 (Agent handle: 0x28e9) on address 0x17000. Reason: Page not present.\n"
    draft = drafted("Setting up the run\n" + fault, tmp_path)
    assert (draft.family, draft.attribution) == ("A2", "job"), draft.headline


def test_what_paddle_itself_refuses_is_an_exception_still(tmp_path: Path) -> None:
    refused = "InvalidArgumentError: The shape of the input (7) is detected by the operator to be wrong.\n"
    draft = drafted(PADDLE.format(stack="0   paddle::f::Reshape(int)", what=refused), tmp_path)
    assert draft.family == "A1", draft.headline
