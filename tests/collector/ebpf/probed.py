"""A node whose kernel is really probed, and a program over the software GPU that makes exact calls."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pytest

from collector.ebpf import kit
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.sources.ebpf import SAMPLE_S, Ebpf
from collector.sources.topology import Topology
from store.rows import CapturedLine, Process, Row
from tests.software_gpu import driver

R = TypeVar("R", bound=Row)
JOB = {"SLURM_JOB_ID": "990017", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8"}


@functools.cache
def why_not() -> str | None:
    """Why nothing can be probed here; None if it can."""
    if driver.why_not():
        return driver.why_not()
    try:
        kit.load(()).close()
    except SourceUnavailable as error:
        return f"{error.reason} (remedy: {error.remedy})"
    return None


@functools.cache
def libraries() -> Path:
    """The software GPU's libraries, and the programs `calls` and `paced`, built once."""
    folder = Path(tempfile.mkdtemp(prefix="software-cuda-"))
    for soname in ("libcuda.so.1", "libnccl.so.2"):
        driver.build_one(folder, soname)
    for name in ("calls", "paced"):
        driver.build_program(folder, name)
    return folder


def program(*words: object, rank: int = 3, folder: Path | None = None, **more: str) -> subprocess.Popen[str]:
    """`calls`, as one rank of a job; it waits for a line."""
    where = folder or libraries()
    env = {**os.environ, **JOB, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "LD_LIBRARY_PATH": str(where)}
    env |= more
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [where / "calls", *map(str, words)], env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=0
    )


def go(process: subprocess.Popen[str]) -> None:
    """Let it make its calls; wait until they are made."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith("made ")


def copied(to: Path) -> Path:
    """The libraries as files of their own: other files are other probes."""
    shutil.copytree(libraries(), to)
    return to


class Probed:
    """The source and the topology on this kernel."""

    def __init__(self) -> None:
        problem = why_not()
        if problem:
            pytest.skip(problem)
        self.here = Here(node="node1", cluster="lab")
        self.topology, self.source = Topology(self.here), Ebpf(self.here)
        self.source.capture = True
        self.rows: list[Row] = []
        self.topology.open()
        self.source.open()

    def __enter__(self) -> Probed:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.source.close()
        self.topology.close()

    def look(self) -> None:
        """One round of both. The counters are due when a test says so, and not when its steps took long on a busy host."""
        self._round(0.0)

    def sample(self) -> None:
        """One round in which the counters are due."""
        self._round(SAMPLE_S)

    def _round(self, since_s: float) -> None:
        self.source._sampled = self.here.clock.steady() - since_s  # pyright: ignore[reportPrivateUsage]
        self.topology._list_due = float("-inf")  # pyright: ignore[reportPrivateUsage]
        self.rows += self.topology.rows()
        self.rows += self.source.rows()

    def until(self, true: Callable[[], bool], seconds: float = 20) -> None:
        """Look again and again, at most for a while."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"not seen in time; rows: {self.rows[-5:]}"
            time.sleep(0.05)
            self.look()

    def probes(self, process: subprocess.Popen[str]) -> None:
        """Until both libraries that the process maps are probed."""
        known = self.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert known is not None
        self.until(lambda: sum(process.pid in p.pids for p in known.probed.values()) == 2)

    def of(self, kind: type[R], pid: int) -> list[R]:
        """Rows of one table and process that the source gave."""
        return [r for r in self.rows if type(r) is kind and getattr(r, "pid", None) == pid]


def start(node: Probed, code: str, rank: int = 2) -> subprocess.Popen[str]:
    """A rank of a job that the node knows, waiting for its input to end."""
    env = {**os.environ, **JOB, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
    pipe = subprocess.PIPE
    wait = "import os, signal, sys\nsys.stdin.read()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", wait + code], env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    node.until(lambda: process.pid in node.source._known)  # pyright: ignore[reportPrivateUsage]
    return process


def ended(node: Probed, process: subprocess.Popen[str]) -> Process:
    """The probe's word on it."""
    process.communicate(timeout=60)
    node.until(lambda: any(r.origin == "process:4" for r in node.of(Process, process.pid)))
    (row,) = [r for r in node.of(Process, process.pid) if r.origin == "process:4"]
    return row


def printed(node: Probed, process: subprocess.Popen[str], stream: str = "out") -> list[str]:
    """The lines that were told of a process that has ended."""
    return [r.text or "" for r in node.rows if type(r) is CapturedLine and r.file == f"node1/{process.pid}.{stream}"]
