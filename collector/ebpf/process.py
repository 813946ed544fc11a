"""process.bpf.c's other half: who is followed, and what the kernel tells of them."""

from __future__ import annotations

import pwd
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from collector.ebpf.kernel import NO_EXIST, Map
from collector.ebpf.ring import Ring
from collector.framing.clean import clean_text

EXECED, MAPPED, ENDED = 1, 2, 3
WATCH = "=IIiIIIIIQ16s"
STRANGER = f"{WATCH}Q16s"
PAGES = 128
_EVENT = struct.Struct("=IIIIiIIIIIQQ16s16s")
_FORKED, _BORN, _AT = 7, 8, 10
"""Fields of what is noted of a stranger."""
Noted = tuple[Any, ...]
"""The fields of STRANGER, as `struct` gives them."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event. `at` is on the kernel's monotonic clock (s); `code` is what it gave to exit, None where it did not; `born` is since
    boot (s), of processes whose fork was seen."""

    kind: int
    pid: int
    root: int
    code: int | None
    signal: int
    sender: str | None
    oom: bool
    at: float
    born: float | None
    comm: str


@dataclass(slots=True)
class Follow:
    """The table of processes and the ring of events."""

    watched: Map
    strangers: Map
    mapped: Map
    events: Ring
    untold: Map
    _late: list[int] = field(default_factory=list[int])
    """Followed since the last call, and perhaps not from their first child on."""

    @classmethod
    def of(cls, maps: Mapping[str, int]) -> Follow:
        """Out of the loader's descriptors."""
        return cls(
            Map(maps["watched"], "=I", WATCH),
            Map(maps["strangers"], "=I", STRANGER),
            Map(maps["mapped"], "=I", "=I"),
            Ring(maps["events"], PAGES),
            Map(maps["untold"], "=I", "=Q"),
        )

    def add(self, pid: int) -> bool:
        """Follow a process and its children from now on; False where that is so already, or the table is full."""
        fresh = self.watched.put((pid,), (pid, 0, 0, 0, 0, 0, 0, 0, 0, b""), NO_EXIST)
        if fresh:
            self._late.append(pid)
        return fresh

    def forget(self, pid: int) -> None:
        """No longer."""
        self.watched.delete(pid)
        self.mapped.delete(pid)

    def seen(self, pid: int) -> None:
        """Its libraries are looked at: tell of the next mapping again."""
        self.mapped.delete(pid)

    def close(self) -> None:
        """Unmap the ring."""
        self.events.close()

    def lost(self) -> int:
        """Events that found the ring full, since it was made: so much at once that nobody came to read."""
        return sum(int(value[0]) for kind in (EXECED, MAPPED, ENDED) if (value := self.untold.get(kind)) is not None)

    def take(self) -> Iterator[Told]:
        """Events since the last call, and the ends of children that those had who were added since."""
        if self._late:
            yield from self._earlier()
        for raw in self.events.take():
            if len(raw) < 16:
                continue
            whole = raw.ljust(_EVENT.size, b"\0")  # of a program that begins, and of a mapping, only whose it is
            kind, pid, root, left, code, signal, sender, uid, oom, _, at, born, comm, by = _EVENT.unpack_from(whole)
            yield _told(kind, pid, (root, left, code, signal, sender, uid, oom, 0, born, by, at, comm))

    def _earlier(self) -> Iterator[Told]:
        """What was forked before anybody knew whose it is: its living are followed from now on, its ends told."""
        late, self._late = self._late, []
        family: dict[int, tuple[int, float]] = {}
        for pid in late:
            noted = self.strangers.get(pid)
            self.strangers.delete(pid)
            if noted is None:  # it is older than the probes
                family[pid] = pid, 0
            elif noted[_FORKED]:
                family[pid] = pid, float(noted[_BORN])
        grew = bool(family)
        while grew:  # their children, then the children of these
            grew = False
            for (pid,), noted in self.strangers.items():
                root, since = family.get(noted[0], (0, 0))
                if root and pid not in family and noted[_BORN] >= since:
                    family[pid] = root, noted[_BORN]
                    grew = True
                    if (ended := self._overtaken(pid, (root, *noted[1:]))) is not None:
                        yield ended

    def _overtaken(self, pid: int, noted: Noted) -> Told | None:
        """Follow it; where it has ended, its end."""
        if not noted[_AT]:
            self.watched.put((pid,), (*noted[:_FORKED], 0, *noted[_BORN:_AT]), NO_EXIST)
            now = self.strangers.get(pid)
            if now is not None and now[_AT]:  # meanwhile, and before it was followed
                self.watched.delete(pid)
                noted = (noted[0], *now[1:])
        self.strangers.delete(pid)
        return _told(ENDED, pid, noted) if noted[_AT] else None


def _told(kind: int, pid: int, noted: Noted) -> Told:
    """What the kernel notes of a process, in our words; its first field is the root."""
    root, left, code, signal, sender, uid, oom, _, born, by, at, comm = noted
    who = named("kernel-oom" if oom else None, text(by), sender, uid, pid) if signal or oom else None
    return Told(
        kind, pid, root, code if left else None, signal, who, bool(oom), at / 1e9, born / 1e9 or None, text(comm)
    )


def named(oom: str | None, comm: str, sender: int, uid: int, pid: int) -> str:
    """Who sent a signal, in the words of process.signal_sender."""
    if oom:
        return oom
    if sender == pid:
        return "itself"
    if comm.startswith("slurmstepd") and sender:
        return "slurmstepd"
    if sender == 0 or comm.startswith("kworker/"):  # a terminal's Ctrl-C is told by a worker of the kernel
        return "kernel"
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return f"{sender}:{comm} user:{user}"


def text(raw: bytes) -> str:
    """A command's name as the kernel has it."""
    return clean_text(raw.split(b"\0", 1)[0])
