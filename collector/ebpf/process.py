"""process.bpf.c's other half: who is followed, and what the kernel tells of them."""

from __future__ import annotations

import pwd
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.ebpf.kernel import NO_EXIST, Map
from collector.ebpf.ring import Ring
from collector.framing.clean import clean_text

EXECED, MAPPED, ENDED = 1, 2, 3
WATCH = "=IIiIIIIIQ16s"
PAGES = 128
_EVENT = struct.Struct("=IIIIiIIIIIQQ16s16s")


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
    mapped: Map
    events: Ring
    untold: Map

    @classmethod
    def of(cls, maps: Mapping[str, int]) -> Follow:
        """Out of the loader's descriptors."""
        return cls(
            Map(maps["watched"], "=I", WATCH),
            Map(maps["mapped"], "=I", "=I"),
            Ring(maps["events"], PAGES),
            Map(maps["untold"], "=I", "=Q"),
        )

    def add(self, pid: int) -> bool:
        """Follow a process and its children from now on; False where that is so already, or the table is full."""
        return self.watched.put((pid,), (pid, 0, 0, 0, 0, 0, 0, 0, 0, b""), NO_EXIST)

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
        """Events since the last call."""
        for raw in self.events.take():
            if len(raw) < 16:
                continue
            whole = raw.ljust(_EVENT.size, b"\0")  # of a program that begins, and of a mapping, only whose it is
            kind, pid, root, left, code, signal, sender, uid, oom, _, at, born, comm, by = _EVENT.unpack_from(whole)
            who = named("kernel-oom" if oom else None, text(by), sender, uid, pid) if signal or oom else None
            yield Told(
                kind,
                pid,
                root,
                code if left else None,
                signal,
                who,
                bool(oom),
                at / 1e9,
                born / 1e9 or None,
                text(comm),
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
