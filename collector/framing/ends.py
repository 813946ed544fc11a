"""The two ends of a compressed log that is too large to be read in one go.

A compressed file cannot be entered in its middle: it is unpacked from the start, and only what was unpacked first and
last is kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from collector.formats.text import read_some
from collector.framing.parts import Part

BLOCK = 1 << 20
MOST = 4 << 30
"""Bytes that are unpacked before giving up: a few MB can hold terabytes of nothing."""


@dataclass(frozen=True, slots=True)
class Ends:
    """`data` is what was kept, `parts` where it lay; `size` the bytes unpacked; `stopped` says that more would follow."""

    data: bytes
    parts: list[Part]
    size: int
    stopped: bool = False

    @property
    def all_there(self) -> bool:
        """Was nothing left out?"""
        return not self.stopped and self.size == len(self.data)


def ends(
    file: IO[bytes], whole: int, head: int, tail: int, problem: Callable[[str], None], most: int | None = None
) -> Ends:
    """All of a stream of less than `whole` bytes, else about its first `head` and last `tail` bytes, cut at line ends.

    Holds at most `whole` or twice `tail` bytes. A stream that breaks off says so through `problem`.
    """
    most = MOST if most is None else most
    first = read_some(file, whole, problem)
    if len(first) < whole:
        return Ends(first, [Part(0, len(first), 1)], len(first))
    cut = first.rfind(b"\n", 0, head) + 1 or head
    kept, rest = first[:cut], bytearray(first[cut:])
    size, line = len(first), 1 + kept.count(b"\n")
    block = b"x"
    while size < most and (block := read_some(file, BLOCK, problem)):
        rest += block
        size += len(block)
        if len(rest) > 2 * tail:
            line += _shorten(rest, tail)
    line += _shorten(rest, tail)
    parts = [Part(0, cut, 1), Part(cut, cut + len(rest), line)]
    return Ends(kept + bytes(rest), parts, size, stopped=bool(block))


def _shorten(data: bytearray, most: int) -> int:
    """Drop the front, up to a line end where there is one; the line ends that went with it."""
    if len(data) <= most:
        return 0
    count = data.find(b"\n", len(data) - most - 1) + 1 or len(data) - most
    lines = data.count(b"\n", 0, count)
    del data[:count]
    return lines
