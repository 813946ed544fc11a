"""One search for the anchors of every parser at once, over megabytes at a time.

Hyperscan does this at hundreds of MB/s; where it is not installed (it is an extra), Python's `re` does it at tens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from collector.framing.database import compiled
from store import lazy

try:
    import hyperscan  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
except ImportError:
    hyperscan = None

Segment = tuple[int, int, int]
_NEAR = 1024


class AnchorMatcher:
    """`anchors[i]` are parser i's literals; what is found comes back as bit i of a mask.

    `also[i]`, where there is one, has to stand in the segment as well for that bit.
    """

    def __init__(
        self, anchors: Sequence[Sequence[str]], fast: bool = True, also: Mapping[int, str] | None = None
    ) -> None:
        self._also = [(1 << index, literal.encode()) for index, literal in (also or {}).items()]
        masks: dict[bytes, int] = {}
        for index, literals in enumerate(anchors):
            for literal in literals:
                raw = literal.encode()
                masks[raw] = masks.get(raw, 0) | 1 << index
        self.literals = list(masks)
        self.masks = [masks[raw] for raw in self.literals]
        self._database: Any = None
        if fast and hyperscan is not None and self.literals:
            self._database = compiled(self.literals)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        return lazy.compile(b"|".join(sorted(map(re.escape, self.literals), key=len)) or b"(?!)")

    @property
    def fast(self) -> bool:
        """Whether Hyperscan does the work."""
        return self._database is not None

    def ends(self, data: bytes) -> list[int]:
        """Where each occurrence of an anchor ends, in order."""
        if self._database is None:
            return [match.end() for match in self._pattern.finditer(data)]
        return [end for end, _ in self._scan(data)]

    def _scan(self, data: bytes) -> list[tuple[int, int]]:
        hits: list[tuple[int, int]] = []
        append = hits.append

        def found(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end, number))

        self._database.scan(data, match_event_handler=found)
        return hits

    def segments(self, data: bytes) -> Iterator[Segment]:
        """Each line (or carriage-return segment of one) that holds an anchor: start, end without line end, mask."""
        for start, stop, mask in self._anchored(data):
            for bit, literal in self._also:
                if mask & bit and data.find(literal, start, stop) < 0:
                    mask &= ~bit
            if mask:
                yield start, stop, mask

    def _anchored(self, data: bytes) -> Iterator[Segment]:
        bars = b"\r" in data
        if self._database is None:
            yield from self._slow(data, bars)
            return
        masks = self.masks
        start, stop, mask = 0, -1, 0
        for end, number in self._scan(data):
            if end <= stop:
                mask |= masks[number]
                continue
            if mask:
                yield start, stop, mask
            start, stop = bounds(data, end, max(stop, 0), bars)
            mask = masks[number]
        if mask:
            yield start, stop, mask

    def places(self, data: bytes, start: int, end: int, most: int, apart: int) -> list[int]:
        """Where anchors stand within one long line: at most `most` places, at least `apart` bytes from each other."""
        found: list[int] = []
        while len(found) < most and (match := self._pattern.search(data, start, end)):
            found.append(match.start())
            start = match.start() + apart
        return found

    def _slow(self, data: bytes, bars: bool) -> Iterator[Segment]:
        at = 0
        search, pairs = self._pattern.search, list(zip(self.literals, self.masks, strict=True))
        while match := search(data, at):
            start, stop = bounds(data, match.end(), at, bars)
            text, mask = data[start:stop], 0
            for literal, bit in pairs:
                if literal in text:
                    mask |= bit
            yield start, stop, mask
            at = stop + 1


def bounds(data: bytes, inside: int, floor: int, bars: bool) -> tuple[int, int]:
    """The segment around the byte before `inside`: from the last line end (or carriage return) to the next."""
    start = data.rfind(b"\n", floor, inside) + 1 or floor
    if not bars:
        stop = data.find(b"\n", inside)
        return start, len(data) if stop < 0 else stop
    start = data.rfind(b"\r", start, inside) + 1 or start
    # The next of either is near: looking for the one that is rare would go through the data for every bar.
    near = inside
    while near < len(data):
        until = near + _NEAR
        stop = data.find(b"\n", near, until)
        bar = data.find(b"\r", near, until if stop < 0 else stop)
        if bar >= 0 or stop >= 0:
            return start, stop if bar < 0 else bar
        near = until
    return start, len(data)
