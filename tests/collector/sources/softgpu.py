"""The software GPUs inside the test's own process: loaded first, the library is found under its soname by everybody."""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from pathlib import Path

import pytest

from tests.software_gpu.driver import GpuState, SoftwareGpus, why_not


@functools.cache
def _once() -> SoftwareGpus:
    folder = Path(tempfile.mkdtemp(prefix="software-gpu-"))
    gpus = SoftwareGpus(folder)
    os.environ["INQUEST_SOFTWARE_GPU"] = str(gpus.path)
    ctypes.CDLL(str(gpus.libraries / "libnvidia-ml.so.1"), mode=ctypes.RTLD_GLOBAL)
    return gpus


def fresh(count: int) -> SoftwareGpus:
    """`count` healthy GPUs; skips the test where none can be built."""
    problem = why_not()
    if problem:
        pytest.skip(problem)
    gpus = _once()
    for index in range(len(gpus.state.gpu)):
        ctypes.memset(ctypes.byref(gpus.state.gpu[index]), 0, ctypes.sizeof(GpuState))
    gpus.reset(count)
    return gpus
