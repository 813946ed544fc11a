"""The software GPUs inside the test's own process: loaded first, the library is found under its soname by everybody."""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from pathlib import Path

import pytest

from collector.node.here import Here
from collector.sources.nvml import Nvml
from store.rows import Row
from tests.collector.livekit import SetClock
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


class Node:
    """A node with software GPUs and the source over them."""

    def __init__(self, count: int = 1) -> None:
        self.gpus = fresh(count)
        self.clock = SetClock()
        self.here = Here(node="node1", cluster="lab", clock=self.clock)
        self.source = Nvml(self.here)

    def look(self, seconds: float = 1.0) -> list[Row]:
        rows = list(self.source.rows())
        self.clock.passes(seconds)
        return rows


def of(rows: list[Row], kind: type) -> list:  # type: ignore[type-arg]
    return [r for r in rows if type(r) is kind]
