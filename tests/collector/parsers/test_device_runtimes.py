"""What the runtime below a program says of a call that failed, and what merely resembles it."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.device_runtimes import NAMES, DeviceRuntimes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Accelerator Fatal Error: call to cuLaunchKernel returned error 719: Launch failed\n File: a.f90",
         "call to cuLaunchKernel returned error 719: Launch failed"),
        ("AdaptiveCpp has caught the following unhandled asynchronous errors:\nfrom /b/cuda_queue.cpp:80 @ submit_memcpy(): cuda_queue: cudaMemcpyAsync() failed (error code = CUDA:1)\n",
         "cuda_queue: cudaMemcpyAsync() failed (error code = CUDA:1)"),
        ("CUDA Error:\n    File:       force/nep.cu\n    Line:       90\n    Error code: 98\n    Error text: invalid device function\n",
         "invalid device function"),
        ("ERROR: cuInit failed with error:  34 /build/src/offload.c 57", "cuInit failed with error:  34 /build/src/offload.c 57"),
        (":0:/build/hipamd/src/hip_platform.cpp:110 : 3010171 us: \nCannot retrieve Static function, error: 218\nAborted",
         "Cannot retrieve Static function, error: 218"),
        (":0:hip_fatbin.cpp:61 : 99 us: [pid:7 tid:0x7f] Cannot find Function, error: 98", "Cannot find Function, error: 98"),
    ],
)  # fmt: skip
def test_the_call_is_one_fatal_row(text: str, message: str) -> None:
    (row,) = parse_text(DeviceRuntimes(), text)
    assert (row.kind, row.name, row.severity, row.message) == ("exception", "DeviceCallFailed", "fatal", message)
    assert row.name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "CUDA Error:\nretrying the launch\n    Error text: none",
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",  # TensorFlow goes on without
        "ERROR: upload failed with error: 34",
        ":3:hip_platform.cpp:110 : 99 us: Cannot find Function, error: 98",  # a trace
        ":0:hip_platform.cpp:110 : 99 us: \nstep 3",
    ],
)
def test_what_resembles_it_gives_nothing(text: str) -> None:
    assert not parse_text(DeviceRuntimes(), text)


def test_a_heading_behind_a_heading_begins_anew() -> None:
    text = "CUDA Error:\nCUDA Error:\n    Line:       90\n    Error text: invalid device function\n"
    assert [r.message for r in parse_text(DeviceRuntimes(), text)] == ["invalid device function"]
