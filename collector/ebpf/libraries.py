"""Which libraries the processes of jobs map, and the probes on them: one set a file, however many processes map it.

A probe sits on a file, not on a process: a process that maps a file that is probed already is counted from its first call.
A container's file is reached through /proc/PID/root. Two containers of one image show the same file under two overlays: it
is probed once, or each call would count twice.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collector.ebpf import cuda, nccl
from collector.ebpf.elf import NotElf, functions
from collector.ebpf.kernel import attach_uprobe, detach

_OVERLAY = 0x794C7630
LINGER_S = 60.0
_LINE = re.compile(
    rb"^\S+ ..x. [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+) +(/.*/(libcuda|libnccl)\.so[.0-9]*)$", re.MULTILINE
)


@dataclass(slots=True)
class Probed:
    """A library with its probes."""

    name: str
    path: str
    fds: list[int]
    pids: set[int]
    symbols: frozenset[str]
    idle_since: float | None = None


@dataclass(slots=True)
class Libraries:
    """Attaches and detaches. `programs` are the loader's, by probe and name."""

    proc: Path
    programs: Mapping[tuple[str, str], int]
    probed: dict[tuple[object, ...], Probed] = field(default_factory=dict[tuple[object, ...], "Probed"])
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Path to why it is not probed."""

    def look(self, pid: int) -> None:
        """Find what a process maps, and probe what is not yet probed."""
        try:
            with open(f"{self.proc}/{pid}/maps", "rb") as file:  # noqa: PTH123
                found = {(m[3], m[4]) for m in _LINE.finditer(file.read())}
        except OSError:
            return
        for raw, name in sorted(found, reverse=True):  # NCCL first: whether the driver's events are wanted hangs on it
            inside = os.fsdecode(raw)
            try:
                self._want(pid, f"{self.proc}/{pid}/root{inside}", name.decode())
            except (OSError, NotElf) as error:
                self.problems[inside] = str(error)[:200]

    def maps(self, pid: int, name: str) -> bool:
        """Whether a process has such a library, as far as is known."""
        return any(p.name == name and pid in p.pids for p in self.probed.values())

    def gone(self, pid: int, steady: float) -> None:
        """A process ended."""
        for probed in self.probed.values():
            probed.pids.discard(pid)
            if not probed.pids and probed.idle_since is None:
                probed.idle_since = steady

    def tidy(self, steady: float) -> None:
        """Detach from what nobody has mapped for a minute: the next task of a job often maps it again at once."""
        for key, probed in list(self.probed.items()):
            if probed.idle_since is not None and steady - probed.idle_since > LINGER_S:
                detach(self.probed.pop(key).fds)

    def close(self) -> None:
        """Detach from all."""
        detach([fd for probed in self.probed.values() for fd in probed.fds])
        self.probed = {}

    def _want(self, pid: int, path: str, name: str) -> None:
        key = identity(path)
        probed = self.probed.get(key)
        if probed is None:
            wanted = cuda.PROBES if name == "libcuda" else nccl.PROBES
            probed = self.probed[key] = Probed(name, path, *self._attach(path, wanted))
        probed.pids.add(pid)
        probed.idle_since = None
        with_nccl = self.maps(pid, "libnccl")
        if name == "libcuda" and with_nccl and not any(s == "ends" for s in probed.symbols):
            fds, _pids, _symbols = self._attach(path, nccl.ENDS)
            probed.fds += fds
            probed.symbols |= {"ends"}

    def _attach(self, path: str, wanted: Sequence[tuple[str, str, bool]]) -> tuple[list[int], set[int], frozenset[str]]:
        places = functions(path, {symbol for symbol, _program, _at_return in wanted})
        fds: list[int] = []
        done: set[tuple[int, str]] = set()
        probe = "cuda" if wanted is cuda.PROBES else "nccl"
        for symbol, program, at_return in wanted:
            place, loaded = places.get(symbol), self.programs.get((probe, program))
            if place is None or loaded is None or (place, program) in done:  # two names of one function count once
                continue
            done.add((place, program))
            try:
                fds.append(attach_uprobe(loaded, path, place, at_return=at_return))
            except OSError as error:
                self.problems[f"{path}:{symbol}"] = str(error)[:200]
        return fds, set(), frozenset(places)


def identity(path: str) -> tuple[object, ...]:
    """What tells a file from all others, also under an overlay, whose device number is its mount's own."""
    stat = os.stat(path)  # noqa: PTH116
    buffer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(path), buffer) == 0:
        kind = int.from_bytes(buffer.raw[:8], "little")
        if kind == _OVERLAY:
            return ("overlay", stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return (stat.st_dev, stat.st_ino)
