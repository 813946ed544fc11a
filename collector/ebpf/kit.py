"""What the loader sent: programs, maps and rings of each probe, and why a probe is missing."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.ebpf.kernel import detach
from collector.sources.base import SourceUnavailable

PROBES = ("process", "output", "slow", "cuda", "nccl")
"""In this order: `output` and `slow` use the table of processes that `process` makes."""
LOAD_S = 60.0
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Kit:
    """Descriptors by probe and name. Closing them ends every probe that hangs on them."""

    programs: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    maps: dict[str, int] = field(default_factory=dict[str, int])
    points: list[int] = field(default_factory=list[int])
    probes: set[str] = field(default_factory=set[str])
    missing: dict[str, str] = field(default_factory=dict[str, str])

    def close(self) -> None:
        """Close all."""
        detach([*self.points, *self.programs.values(), *self.maps.values()])
        self.programs, self.maps, self.points, self.probes = {}, {}, [], set()


def load(probes: Sequence[str] = PROBES, timeout_s: float = LOAD_S) -> Kit:
    """Run the loader and take what it gives. Without probes it only finds out whether it could. Raises SourceUnavailable with the loader's word and remedy."""
    kit = Kit()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with tempfile.TemporaryFile() as complaints, ours:
        with theirs:
            loader = subprocess.Popen(
                [sys.executable, "-m", "collector.ebpf.load", str(theirs.fileno()), *probes],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                cwd=_ROOT,
            )
        try:
            problem = _receive(ours, kit, time.monotonic() + timeout_s)
        finally:
            loader.kill()
            loader.wait()
        if kit.missing or problem:
            complaints.seek(0)
            why = _first_error(complaints.read(1 << 20).decode("utf-8", "replace"))
            kit.missing = {p: f"{text}: {why}" if why else text for p, text in kit.missing.items()}
    if problem is not None:
        kit.close()
        raise problem
    if probes and not kit.probes:
        told = "; ".join(sorted(set(kit.missing.values())))[:500]
        kit.close()
        raise SourceUnavailable(f"the kernel takes none of the probes: {told}", "a kernel of 5.8 or newer with eBPF")
    return kit


def _receive(ours: socket.socket, kit: Kit, deadline: float) -> SourceUnavailable | None:
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([ours], [], [], left)[0]:
            return SourceUnavailable("the probes were not compiled in time", "less load on the node; it is tried again")
        data, fds, _flags, _address = socket.recv_fds(ours, 65536, 253)
        if not data:
            return SourceUnavailable("the loader of the probes ended early", "see why: python -m collector.ebpf.load 1")
        message: dict[str, Any] = json.loads(data)
        if "done" in message:
            return None
        if "remedy" in message:
            return SourceUnavailable(str(message["error"]), str(message["remedy"]))
        probe = str(message["probe"])
        if "error" in message:
            kit.missing[probe] = str(message["error"])
            continue
        kit.probes.add(probe)
        for (kind, name), fd in zip(message["names"], fds, strict=True):
            os.set_inheritable(fd, False)
            if kind == "program":
                kit.programs[probe, name] = fd
            elif kind == "point":
                kit.points.append(fd)
            else:
                kit.maps[name] = fd


def _first_error(text: str) -> str:
    return next((line.strip()[:200] for line in text.splitlines() if "error" in line.lower()), "")
