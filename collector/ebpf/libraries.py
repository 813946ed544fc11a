"""Which libraries the processes of jobs map, and the probes on them: one set a file, however many processes map it.

A probe sits on a file, not on a process: a process that maps a file that is probed already is counted from its first call.
A container's file is reached through /proc/PID/root, one that was deleted (an upgrade under a running job) through
/proc/PID/map_files. An overlay shows a file under a number of its own, and two containers of
one image may share the file below or have one each: what looks alike is probed once where the kernel has put our probes into the
memory of the process already, or each call would count twice. Probes there may as well be another tool's, and the file one that
nothing of ours counts: so one more is put on what we probe, for a moment, and has to come up in that process too.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collector.ebpf import cuda, nccl, pace
from collector.ebpf.elf import NotElf, functions
from collector.ebpf.kernel import detach, mark
from store import lazy

LINGER_S = 60.0
AGAIN_S = 60.0
"""Until a library that took no probe is tried again."""
TRIED = 64
"""Functions that may refuse a probe, or have one already, before two files that look alike are taken for one."""
TOLD = 4
"""Places that are named, of those that could not be probed."""
_LINE = lazy.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) ..x. \S+ \S+ \d+ +(/.*/(libcuda|libnccl)\.so[.0-9]*( \(deleted\))?)$", re.MULTILINE
)
_PLACE = lazy.compile(r"\+0x[0-9a-f]+$")


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
    file: int = -1
    """The file itself, to reach it where no process maps it any more: its probes hold it too."""
    looks: tuple[int, int] = (0, 0)
    """Size and time of change of the file."""
    always: tuple[int, ...] = ()
    """Places in the file where a probe never rests."""
    where: dict[int, str] = field(default_factory=dict[int, str])
    """Below /proc/PID, the way to it through each of its processes."""
    with_ends: bool = False
    refused: str | None = None
    """Why none of its places could be probed; None where some could."""
    idle_since: float | None = None

    def close(self) -> None:
        """Detach."""
        detach([*self.fds, *(fd for gate in self.gates.values() for fd in gate.fds)])
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


@dataclass(slots=True)
class Libraries:
    """Attaches and detaches. `programs` are the loader's, by probe and name."""

    proc: Path
    programs: Mapping[tuple[str, str], int]
    probed: dict[tuple[object, ...], Probed] = field(default_factory=dict[tuple[object, ...], "Probed"])
    alike: dict[tuple[object, ...], tuple[object, ...]] = field(
        default_factory=dict[tuple[object, ...], tuple[object, ...]]
    )
    """Other names of a file that is probed, to the one that it is probed by."""
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Path, as processes see it, or such a path and a place in it, to why it is not probed."""
    _again: float = 0.0

    def look(self, pid: int) -> None:
        """Find what a process maps, and probe what is not yet probed."""
        try:
            with open(f"{self.proc}/{pid}/maps", "rb") as file:  # noqa: PTH123
                found = {(m[3], m[4]): m for m in _LINE.finditer(file.read())}
        except OSError:
            return
        for raw, name in sorted(found, reverse=True):  # NCCL first: whether the driver's events are wanted hangs on it
            inside, line = os.fsdecode(raw), found[raw, name]
            way = f"map_files/{int(line[1], 16):x}-{int(line[2], 16):x}" if line[5] else f"root{inside}"
            try:
                self._want(pid, inside, way, name.decode())
            except (OSError, NotElf) as error:
                if self._lives(pid):
                    self.problems[inside] = str(error)[:200]

    def told(self) -> dict[str, str]:
        """What could not be probed, with why; of many places some."""
        told = dict(list(self.problems.items())[:TOLD])
        if len(self.problems) > TOLD:
            told["libraries"] = f"{len(self.problems) - TOLD} more places could not be probed"
        return told

    def refused(self) -> dict[str, str]:
        """Libraries, by name, of which a file that processes map took no probe at all, with why."""
        return {p.name: f"{p.inside}: {p.refused}" for p in self.probed.values() if p.refused and p.pids}

    def maps(self, pid: int, name: str) -> bool:
        """Whether a process has such a library, as far as is known."""
        return any(p.name == name and pid in p.pids for p in self.probed.values())

    def gone(self, pid: int, steady: float) -> None:
        """A process ended."""
        for probed in self.probed.values():
            probed.pids.discard(pid)
            probed.where.pop(pid, None)
            if not probed.pids and probed.idle_since is None:
                probed.idle_since = steady

    def tidy(self, steady: float) -> None:
        """Detach from what nobody has mapped for a minute: the next task of a job often maps it again at once."""
        for key, probed in list(self.probed.items()):
            if probed.idle_since is not None and steady - probed.idle_since > LINGER_S:
                gone = self.probed.pop(key)
                self.alike = {other: same for other, same in self.alike.items() if same != key}
                gone.close()
                self._forget_problems(gone.inside)
        if steady >= self._again:
            self._again = steady + AGAIN_S
            self._try_again()

    def _try_again(self) -> None:
        """What took no probe may take them now: a lockdown was lifted, a limit raised."""
        for key, probed in list(self.probed.items()):
            if probed.refused and probed.pids:
                self.probed.pop(key).close()
                self._forget_problems(probed.inside)
                for pid in list(probed.pids):
                    self.look(pid)

    def _forget_problems(self, inside: str) -> None:
        self.problems = {p: why for p, why in self.problems.items() if _PLACE.sub("", p) != inside}

    def close(self) -> None:
        """Detach from all."""
        for probed in self.probed.values():
            probed.close()
        self.probed, self.alike = {}, {}

    def gates(self) -> Iterator[tuple[int, pace.Gate, set[int]]]:
        """Every group of calls that may rest, with the processes that make them."""
        for probed in self.probed.values():
            for group, gate in probed.gates.items():
                yield group, gate, probed.pids

    def reach(self) -> None:
        """Before anything is attached again: the process that a file was found through may have ended, and that may not be told yet."""
        for probed in self.probed.values():
            if (pid := next(filter(self._lives, probed.pids), None)) is not None:
                for gate in probed.gates.values():
                    gate.path = f"{self.proc}/{pid}/{probed.where[pid]}"

    def _want(self, pid: int, inside: str, way: str, name: str) -> None:
        path = f"{self.proc}/{pid}/{way}"
        stat = os.stat(path)  # noqa: PTH116
        name_of_file = (stat.st_dev, stat.st_ino)
        key = self.alike.get(name_of_file, name_of_file)
        probed = self.probed.get(key)
        if probed is None and (same := self._same(pid, inside, path, (stat.st_size, stat.st_mtime_ns))) is not None:
            self.alike[key] = key = same
            probed = self.probed[key]
        if probed is None:
            problems: dict[str, str] = {}
            file = os.open(path, os.O_PATH)
            try:
                probed = self._probe(path, inside, name, problems)
            except BaseException:
                os.close(file)
                raise
            probed.file = file
            if problems and not self._lives(pid):
                # It ended while its file was probed through it: the next process that maps the file tries again.
                probed.close()
                return
            probed.looks = (stat.st_size, stat.st_mtime_ns)
            self.probed[key] = probed
            if problems and not probed.fds and not any(gate.fds for gate in probed.gates.values()):
                probed.refused = f"none of {len(problems)} places can be probed: {next(iter(problems.values()))}"
                problems = {path: probed.refused}
            self.note(problems)
        probed.pids.add(pid)
        probed.where[pid] = way
        probed.idle_since = None
        if name == "libcuda" and self.maps(pid, "libnccl") and not probed.with_ends and not probed.refused:
            problems = {}
            probed.fds += _attach(path, self._sites(path, "nccl", nccl.ENDS), problems)
            probed.with_ends = not problems or self._lives(pid)
            self.note(problems)

    def _same(self, pid: int, inside: str, path: str, looks: tuple[int, int]) -> tuple[object, ...] | None:
        """What is probed already and is this file by another name: our probes stand in the process's memory."""
        for key, probed in self.probed.items():
            alike = probed.looks == looks and probed.always
            if alike and _changed(f"{self.proc}/{pid}", inside, path, probed.always):
                if not _comes_up(probed, f"{self.proc}/{pid}", inside, path):
                    continue  # another tool's
                return key
        return None

    def note(self, problems: Mapping[str, str]) -> None:
        """Keep why places could not be probed, by where and through which process; that this one has ended is no problem."""
        for place, why in problems.items():
            path = _PLACE.sub("", place)
            pid, _, way = path.removeprefix(f"{self.proc}/").partition("/")
            if self._lives(pid):
                inside = way.removeprefix("root") if way.startswith("root") else _behind(path)
                self.problems[inside + place.removeprefix(path)] = why

    def _lives(self, pid: int | str) -> bool:
        """Whether files can still be reached through a process; not through one that ended, waited for or not."""
        return os.path.exists(f"{self.proc}/{pid}/root")  # noqa: PTH110

    def _probe(self, path: str, inside: str, name: str, problems: dict[str, str]) -> Probed:
        if name != "libcuda":
            sites = self._sites(path, "nccl", nccl.PROBES)
            return Probed(name, inside, _attach(path, sites, problems), set(), {}, always=_places(sites))
        gates: dict[int, pace.Gate] = {}
        always: list[int] = []
        places: tuple[int, ...] = ()
        for group, chosen in cuda.groups():
            sites = self._sites(path, "cuda", chosen)
            if group is None:
                always, places = _attach(path, sites, problems), _places(sites)
                continue
            slow = any(pace.stepped(code) for code in beginnings(path, sites))
            cost = pace.STEPPED_S if slow else pace.SIMPLE_S
            if group == cuda.LAUNCHES:
                gate = pace.Gate(path, sites, cost, pace.LAUNCH_LIMIT)
            else:
                gate = pace.Gate(path, sites, cost + pace.RETURN_S, pace.OTHER_LIMIT)
            gates[group] = gate
            problems |= gate.attach()
        return Probed(name, inside, always, set(), gates, always=places)

    def _sites(self, path: str, probe: str, wanted: Sequence[tuple[str, str, bool]]) -> list[pace.Site]:
        places = functions(path, {symbol for symbol, _program, _at_return in wanted})
        # Two names of one function count once.
        found = {
            (place, program): (place, loaded, at_return)
            for symbol, program, at_return in wanted
            if (place := places.get(symbol)) is not None and (loaded := self.programs.get((probe, program))) is not None
        }
        return list(found.values())


def _comes_up(probed: Probed, process: str, inside: str, path: str) -> bool:
    """Whether a probe that is now put on a probed file stands in a process's memory at once; True where it cannot be tried."""
    places = list(functions(path, None).values())
    random.shuffle(places)  # another collector may be trying the same
    for place in places[:TRIED]:
        if _changed(process, inside, path, (place,)):
            continue
        try:
            fd = mark(f"/proc/self/fd/{probed.file}", place)
        except OSError:
            continue
        try:
            return _changed(process, inside, path, (place,))
        finally:
            detach([fd])
    return True


def _behind(path: str) -> str:
    """What a way through map_files leads to, as maps has it."""
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return path


def _attach(path: str, sites: Sequence[pace.Site], problems: dict[str, str]) -> list[int]:
    gate = pace.Gate(path, sites, 0.0)
    problems |= gate.attach()
    return gate.fds


def beginnings(path: str, sites: Sequence[pace.Site]) -> list[bytes]:
    """What the probed places of a file begin with."""
    with open(path, "rb") as file:  # noqa: PTH123
        return [os.pread(file.fileno(), 4, place) for place, _program, _at_return in sites]


def _places(sites: Sequence[pace.Site]) -> tuple[int, ...]:
    return tuple(place for place, _program, _at_return in sites)


def _changed(process: str, inside: str, path: str, places: Sequence[int]) -> bool:
    """Whether some of these places of a file is another in the memory of a process that maps it: a probe changes it."""
    with (
        open(f"{process}/maps", "rb") as maps,  # noqa: PTH123
        open(f"{process}/mem", "rb", 0) as memory,  # noqa: PTH123
        open(path, "rb") as file,  # noqa: PTH123
    ):
        for line in maps:
            fields = line.rstrip(b"\n").split(b" ", 5)
            if fields[1][2:3] != b"x" or fields[-1].lstrip() != os.fsencode(inside):
                continue
            begin, end = (int(n, 16) for n in fields[0].split(b"-"))
            for place in places:
                at = begin + place - int(fields[2], 16)
                if begin <= at < end and os.pread(memory.fileno(), 1, at) != os.pread(file.fileno(), 1, place):
                    return True
    return False
