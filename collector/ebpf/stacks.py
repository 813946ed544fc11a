"""Where a process stands that has stopped asking for anything: its kernel stacks, and its Python frames where py-spy is there.

Taken once a stall, from outside and without stopping it: what it waits for on the host is known to nobody else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from collector.framing.clean import clean_text
from store import lazy
from store.redact import redact

STALL_S = 100.0
"""Less than the two minutes of samples that are in memory: those of its begin are still among them when a stall is found."""
AT_ONCE = 4
_THREADS, _LINES, _SIZE = 64, 40, 4000
_SPY_S = 8.0
_FRAME = lazy.compile(r"^\[<[0-9a-f]+>\] (\S+?)\+0x", re.MULTILINE)


@dataclass(slots=True)
class Stalls:
    """Which processes have stopped: they launched or enqueued something once, and nothing since for a while."""

    stall_s: float = STALL_S
    _moved: dict[int, float] = field(default_factory=dict[int, float])
    _taken: set[int] = field(default_factory=set[int])
    _asked: set[int] = field(default_factory=set[int])

    def moved(self, pid: int, steady: float) -> None:
        """It asked for something, or something of it ended."""
        self._moved[pid] = steady
        self._taken.discard(pid)

    def gone(self, pid: int) -> None:
        """It ended."""
        self._moved.pop(pid, None)
        self._taken.discard(pid)
        self._asked.discard(pid)

    def ask(self, pids: Iterable[int]) -> None:
        """Their job is said to hang: the stacks of those that launched something are wanted, whether or not they still do."""
        self._asked |= {p for p in pids if p in self._moved and p not in self._taken}

    def stopped(self, pid: int, steady: float) -> bool:
        """Whether it has asked for nothing for so long that it counts as a stall."""
        return steady - self._moved.get(pid, steady) >= self.stall_s

    def due(self, steady: float) -> list[int]:
        """Those whose stack is wanted now, a few at a time; each once a stall."""
        wanted = [p for p in self._moved if p in self._asked or (self.stopped(p, steady) and p not in self._taken)]
        self._taken.update(wanted[:AT_ONCE])
        self._asked.difference_update(wanted[:AT_ONCE])
        return wanted[:AT_ONCE]


def take(proc: Path, pid: int) -> str | None:
    """The stack, innermost frame first; None when nothing can be read."""
    parts = [p for p in (_python(pid) if proc == Path("/proc") else None, _kernel(proc, pid)) if p]
    return redact("\n".join(clean_text(line.encode()) for line in "\n".join(parts).splitlines()))[:_SIZE] or None


def _kernel(proc: Path, pid: int) -> str | None:
    """One line for each way in which threads stand in the kernel, with how many do."""
    ways: dict[str, int] = {}
    try:
        threads = sorted(os.listdir(f"{proc}/{pid}/task"), key=int)[:_THREADS]  # noqa: PTH208
    except (OSError, ValueError):
        return None
    for thread in threads:
        try:
            frames = _FRAME.findall(Path(f"{proc}/{pid}/task/{thread}/stack").read_text())
        except OSError:
            continue
        if frames:
            way = " < ".join(frames[:8])
            ways[way] = ways.get(way, 0) + 1
    told = [f"kernel ({n} {'thread' if n == 1 else 'threads'}): {way}" for way, n in ways.items()]
    return "\n".join(told[:_LINES]) or None


def _python(pid: int) -> str | None:
    spy = shutil.which("py-spy")
    if spy is None:
        return None
    try:
        done = subprocess.run(
            [spy, "dump", "--nonblocking", "--pid", str(pid)],
            capture_output=True,
            text=True,
            timeout=_SPY_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [line.strip() for line in done.stdout.splitlines() if line.startswith((" ", "Thread"))]
    return "\n".join(lines[:_LINES]) or None if done.returncode == 0 else None
