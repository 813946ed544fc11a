"""Which libraries the processes of jobs map, and the probes on them: one set a file, however many processes map it.

A probe sits on a file, not on a process: a process that maps a file that is probed already is counted from its first call.
A container's file is reached through /proc/PID/root. Two containers of one image show the same file under two overlays: it
is probed once, or each call would count twice.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collector.ebpf import cuda, nccl, pace
from collector.ebpf.elf import NotElf, functions
from collector.ebpf.kernel import detach

_OVERLAY = 0x794C7630
LINGER_S = 60.0
_LINE = re.compile(
    rb"^\S+ ..x. [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+) +(/.*/(libcuda|libnccl)\.so[.0-9]*)$", re.MULTILINE
)


@dataclass(slots=True)
class Probed:
    """A library with its probes."""

    name: str
    inside: str
    """Its path, as its processes see it."""
    fds: list[int]
    pids: set[int]
    gates: dict[int, pace.Gate]
    """Of the driver's library: its two groups of calls, which may rest."""
    with_ends: bool = False
    idle_since: float | None = None

    def close(self) -> None:
        """Detach."""
        detach([*self.fds, *(fd for gate in self.gates.values() for fd in gate.fds)])


@dataclass(slots=True)
class Libraries:
    """Attaches and detaches. `programs` are the loader's, by probe and name."""

    proc: Path
    programs: Mapping[tuple[str, str], int]
    probed: dict[tuple[object, ...], Probed] = field(default_factory=dict[tuple[object, ...], "Probed"])
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Path, as processes see it, or such a path and a place in it, to why it is not probed."""

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
                self._want(pid, inside, name.decode())
            except (OSError, NotElf) as error:
                if self._lives(pid):
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
                gone = self.probed.pop(key)
                gone.close()
                self.problems = {p: why for p, why in self.problems.items() if p.rpartition("+")[0] != gone.inside}

    def close(self) -> None:
        """Detach from all."""
        for probed in self.probed.values():
            probed.close()
        self.probed = {}

    def gates(self) -> Iterator[tuple[int, pace.Gate, set[int]]]:
        """Every group of calls that may rest, with the processes that make them."""
        for probed in self.probed.values():
            for group, gate in probed.gates.items():
                # Through one that lives: the one that it was found through may have ended, and that may not be told yet.
                if (pid := next(filter(self._lives, probed.pids), None)) is not None:
                    gate.path = f"{self.proc}/{pid}/root{probed.inside}"
                yield group, gate, probed.pids

    def _want(self, pid: int, inside: str, name: str) -> None:
        path = f"{self.proc}/{pid}/root{inside}"
        key = identity(path)
        probed = self.probed.get(key)
        if probed is None:
            problems: dict[str, str] = {}
            probed = self._probe(path, inside, name, problems)
            if problems and not self._lives(pid):
                # It ended while its file was probed through it: the next process that maps the file tries again.
                probed.close()
                return
            self.probed[key] = probed
            self.note(problems)
        probed.pids.add(pid)
        probed.idle_since = None
        if name == "libcuda" and self.maps(pid, "libnccl") and not probed.with_ends:
            problems = {}
            probed.fds += _attach(path, self._sites(path, "nccl", nccl.ENDS), problems)
            probed.with_ends = not problems or self._lives(pid)
            self.note(problems)

    def note(self, problems: Mapping[str, str]) -> None:
        """Keep why places could not be probed, by where and through which process; that this one has ended is no problem."""
        for place, why in problems.items():
            pid, _, inside = place.removeprefix(f"{self.proc}/").partition("/root")
            if self._lives(pid):
                self.problems[inside] = why

    def _lives(self, pid: int | str) -> bool:
        """Whether files can still be reached through a process; not through one that ended, waited for or not."""
        return os.path.exists(f"{self.proc}/{pid}/root")  # noqa: PTH110

    def _probe(self, path: str, inside: str, name: str, problems: dict[str, str]) -> Probed:
        if name != "libcuda":
            return Probed(name, inside, _attach(path, self._sites(path, "nccl", nccl.PROBES), problems), set(), {})
        gates: dict[int, pace.Gate] = {}
        always: list[int] = []
        for group, chosen in cuda.groups():
            sites = self._sites(path, "cuda", chosen)
            if group is None:
                always = _attach(path, sites, problems)
                continue
            slow = any(pace.stepped(code) for code in beginnings(path, sites))
            cost = pace.STEPPED_S if slow else pace.SIMPLE_S
            if group == cuda.LAUNCHES:
                gate = pace.Gate(path, sites, cost, pace.LAUNCH_LIMIT)
            else:
                gate = pace.Gate(path, sites, cost + pace.RETURN_S, pace.OTHER_LIMIT)
            gates[group] = gate
            problems |= gate.attach()
        return Probed(name, inside, always, set(), gates)

    def _sites(self, path: str, probe: str, wanted: Sequence[tuple[str, str, bool]]) -> list[pace.Site]:
        places = functions(path, {symbol for symbol, _program, _at_return in wanted})
        # Two names of one function count once.
        found = {
            (place, program): (place, loaded, at_return)
            for symbol, program, at_return in wanted
            if (place := places.get(symbol)) is not None and (loaded := self.programs.get((probe, program))) is not None
        }
        return list(found.values())


def _attach(path: str, sites: Sequence[pace.Site], problems: dict[str, str]) -> list[int]:
    gate = pace.Gate(path, sites, 0.0)
    problems |= gate.attach()
    return gate.fds


def beginnings(path: str, sites: Sequence[pace.Site]) -> list[bytes]:
    """What the probed places of a file begin with."""
    with open(path, "rb") as file:  # noqa: PTH123
        return [os.pread(file.fileno(), 4, place) for place, _program, _at_return in sites]


def identity(path: str) -> tuple[object, ...]:
    """What tells a file from all others, also under an overlay, whose device number is its mount's own."""
    stat = os.stat(path)  # noqa: PTH116
    buffer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(path), buffer) == 0:
        kind = int.from_bytes(buffer.raw[:8], "little")
        if kind == _OVERLAY:
            return ("overlay", stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return (stat.st_dev, stat.st_ino)
