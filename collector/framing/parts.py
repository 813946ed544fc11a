"""Which parts of an enormous log are read when there is no time for all of it.

Its head and its tail, windows spread over the middle (so that the course of a training run still shows), and what
surrounds the first and the last words that a dying job says; the middle is searched for those from end to end.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO

from collector.framing.matcher import AnchorMatcher

READ_WHOLE = 8 << 20
BLOCK = 1 << 20
GRAIN = 256 << 10
WINDOW = 64 << 10
FIRST, LAST = 24, 40
BEFORE, AFTER = 24 << 10, 72 << 10
URGENT = (
    "Traceback (most recent",
    "slurmstepd",
    "srun: error",
    "out of memory",
    "OutOfMemoryError",
    "CUDA error",
    "Watchdog caught",
    "ChildFailedError",
    "Root Cause (first",
    "Signals.SIG",
    "SIGKILL",
    "No space left",
    "Segmentation fault",
)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of whole lines: bytes from `start` to `end`, whose first line has this number."""

    start: int
    end: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts in order; `searched` says whether the bytes between them were searched for urgent words."""

    parts: list[Part]
    searched: bool

    @property
    def size(self) -> int:
        """Bytes in all parts."""
        return sum(p.end - p.start for p in self.parts)


def plan(file: IO[bytes], size: int, whole: int = READ_WHOLE, fast: bool = True) -> Plan:
    """The parts of a file of `size` bytes, about `whole` bytes of it. Reads all of it once, at memory speed."""
    head, tail = whole // 4, whole // 2
    begin, stop = head, size - tail
    matcher = AnchorMatcher([URGENT], fast)
    hits: list[int] = []
    counts = [0]
    file.seek(0)
    at = line = 0
    searching: tuple[int, Future[list[int]]] | None = None
    with ThreadPoolExecutor(1) as pool:  # the search runs beside the reading and counting
        while block := file.read(BLOCK):
            if matcher.fast and at + len(block) > begin and at < stop:
                _gather(hits, searching)
                searching = at, pool.submit(matcher.ends, block)
            for grain in range(0, len(block), GRAIN):
                line += block.count(b"\n", grain, grain + GRAIN)
                counts.append(line)
            at += len(block)
        _gather(hits, searching)
    wanted = [(0, head), (stop, size)]
    wanted += [(hit - BEFORE, hit + AFTER) for hit in hits if begin < hit < stop]
    windows = max(1, whole // 4 // WINDOW)
    wanted += [(w, w + WINDOW) for i in range(1, windows + 1) if (w := begin + (stop - begin) * i // (windows + 1))]
    return Plan(_parts(file, size, sorted(wanted), counts), matcher.fast)


def _gather(hits: list[int], search: tuple[int, Future[list[int]]] | None) -> None:
    if search is None:
        return
    for found in search[1].result():
        hit = search[0] + found
        if not hits or hit - hits[-1] >= AFTER // 2:
            hits.append(hit)
            if len(hits) > FIRST + LAST:
                del hits[FIRST]


def _parts(file: IO[bytes], size: int, wanted: list[tuple[int, int]], counts: list[int]) -> list[Part]:
    parts: list[Part] = []
    for low, high in wanted:
        start, end = _line_start(file, max(0, low), size), _line_start(file, min(size, high), size)
        if parts and start <= parts[-1].end:
            if end > parts[-1].end:
                parts[-1] = Part(parts[-1].start, end, parts[-1].first_line)
            continue
        if start < end:
            grain = start // GRAIN
            file.seek(grain * GRAIN)
            parts.append(Part(start, end, 1 + counts[grain] + file.read(start - grain * GRAIN).count(b"\n")))
    return parts


def _line_start(file: IO[bytes], at: int, size: int) -> int:
    # The next line's start; within one endless line, the next carriage return's, or the place itself.
    if at in (0, size):
        return at
    file.seek(at)
    block = file.read(WINDOW)
    for end in (b"\n", b"\r"):
        if (found := block.find(end)) >= 0:
            return at + found + 1
    return at
