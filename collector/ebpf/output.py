"""output.bpf.c's other half: what was written, put together to lines again."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from collector.ebpf.kernel import Map
from collector.ebpf.process import text
from collector.ebpf.ring import Ring

PAGES = 128
FLOW = "=4Q"
RELAYS = frozenset(
    {
        "srun",
        "tee",
        "script",
        "cat",
        "ts",
        "sed",
        "grep",
        "awk",
        "mawk",
        "gawk",
        "mpirun",
        "mpiexec",
        "orterun",
        "prterun",
        "prte",
    }
)
"""Programs that write out what others wrote: theirs would be every line a second time."""
LINE = 16_384
_HEAD = struct.Struct("=QIIIIII16s")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `at` is on the kernel's monotonic clock (s)."""

    at: float
    pid: int
    root: int
    stream: str
    number: int
    text: str


@dataclass(slots=True)
class _Open:
    at: float
    root: int
    rest: bytes = b""
    number: int = 0


@dataclass(slots=True)
class Output:
    """Lines by process and stream."""

    texts: Ring
    flow: Map
    _open: dict[tuple[int, int], _Open] = field(default_factory=dict[tuple[int, int], "_Open"])
    _lost: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    @classmethod
    def of(cls, maps: Mapping[str, int]) -> Output:
        """Out of the loader's descriptors."""
        return cls(Ring(maps["texts"], PAGES), Map(maps["flow"], "=I", FLOW))

    def take(self) -> Iterator[Line]:
        """Lines that were finished since the last call."""
        for raw in self.texts.take():
            if len(raw) < _HEAD.size:
                continue
            at, pid, root, fd, size, lost, _pad, comm = _HEAD.unpack_from(raw)
            if text(comm) in RELAYS:
                continue
            piece = raw[_HEAD.size : _HEAD.size + size]
            if lost:  # what is written next does not go on from here
                piece += b" [%d bytes of this write were not captured]\n" % lost
            yield from self._more(at / 1e9, pid, root, fd, piece)

    def last(self, pid: int) -> Iterator[Line]:
        """A process has ended: what it left without an end of line."""
        for fd in (1, 2):
            kept = self._open.pop((pid, fd), None)
            if kept is not None and kept.rest:
                yield _line(kept, pid, fd, kept.rest)

    def close(self) -> None:
        """Unmap the ring."""
        self.texts.close()

    def lost(self) -> tuple[int, int]:
        """Bytes and writes that were left out, of all processes, since the first call."""
        for (pid,), (_second, _bytes, size, writes) in self.flow.items():
            if size or writes:
                self._lost[pid] = (size, writes)
        return sum(v[0] for v in self._lost.values()), sum(v[1] for v in self._lost.values())

    def _more(self, at: float, pid: int, root: int, fd: int, piece: bytes) -> Iterator[Line]:
        kept = self._open.setdefault((pid, fd), _Open(at, root))
        if not kept.rest:
            kept.at = at
        *whole, kept.rest = (kept.rest + piece).split(b"\n")
        for raw in whole:
            yield _line(kept, pid, fd, raw)
            kept.at = at
        if len(kept.rest) > LINE:
            yield _line(kept, pid, fd, kept.rest)
            kept.rest = b""


def _line(kept: _Open, pid: int, fd: int, raw: bytes) -> Line:
    kept.number += 1
    # A bar that redraws itself is kept in its last state.
    shown = raw.rstrip(b"\r").rsplit(b"\r", 1)[-1][:LINE].decode("utf-8", "replace")
    return Line(kept.at, pid, kept.root, "out" if fd == 1 else "err", kept.number, shown)
