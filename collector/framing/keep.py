"""Which lines of a log are stored: all of a file of moderate size; of a large one what a reader would look at.

Of a large file: its head, its tail, what surrounds an event, and every so-many-th line of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.framing.chunks import JOINED, Chunk
from collector.framing.clean import clean_text
from collector.framing.streams import Demux
from collector.framing.times import Clock
from store.rows import LogLine

HEAD = 256 << 10
TAIL = 1 << 20
BEFORE, AFTER = 2 << 10, 4 << 10
SAMPLE_EVERY = 64 << 10
MOST_AROUND = 16 << 20


class Keeper:
    """Gives the `LogLine` rows of each chunk. `left_out` of `seen` lines were not kept.

    Every line of a file of up to `whole` bytes is kept; where the `size` is not known (compressed), of its first `whole`.
    """

    def __init__(self, demux: Demux, clock: Clock, size: int | None, whole: int) -> None:
        self.demux = demux
        self.clock = clock
        self.size = size
        self._whole = whole
        self._sampled = False
        self.seen = 0
        self.kept = 0
        self._around = 0

    @property
    def left_out(self) -> int:
        """Lines that were seen and not kept."""
        return max(0, self.seen - self.kept) if self._sampled else 0

    def lines(self, chunk: Chunk, spots: list[tuple[int, int]]) -> Iterator[LogLine]:
        """The lines of a chunk that are kept. `spots` are the places of events, in order."""
        data = chunk.data
        total = chunk.lines() + (chunk.last and not data.endswith(b"\n"))
        self.seen += total
        counted, first = 0, chunk.first_line
        every = (chunk.offset if self.size is None else self.size) <= self._whole
        self._sampled |= not every
        for start, stop in [(0, len(data))] if every else self._parts(chunk, spots):
            first += chunk.lines(counted, start)
            counted, number = start, first
            raws = data[start:stop].split(b"\n")
            if stop == len(data) and not chunk.last and not chunk.torn:
                raws.pop()  # empty, or a bar that the next chunk goes on with
            for raw in raws:
                row = self._line(raw, number, chunk.labelled)
                if row is not None:
                    self.kept += 1
                    yield row
                number += 1 + (raw.count(JOINED) if chunk.labelled else 0)

    def _line(self, raw: bytes, line_no: int, labelled: bool) -> LogLine | None:
        if b"\r" in raw:
            raw = raw.rstrip(b"\r ")
            raw = raw[raw.rfind(b"\r") + 1 :]
        if not raw or raw.isspace():
            return None
        label, text = self.demux.label(clean_text(raw), labelled)
        ts, kind = self.clock.best(text)
        return LogLine(
            file=self.demux.file,
            stream=label.stream,
            line_no=line_no,
            ts=ts,
            ts_kind=kind,
            text=text,
            rank=label.rank,
            local_rank=label.local_rank,
            node=label.node,
        )

    def _parts(self, chunk: Chunk, spots: list[tuple[int, int]]) -> list[tuple[int, int]]:
        data, size = chunk.data, len(chunk.data)
        wanted: list[tuple[int, int]] = []
        if chunk.offset < HEAD:
            wanted.append((0, min(size, HEAD)))
        if chunk.last or (self.size is not None and chunk.offset + chunk.size > self.size - TAIL):
            wanted.append((max(0, size - TAIL), size))
        for start, end in spots:
            if self._around < MOST_AROUND:
                wanted.append((max(0, start - BEFORE), min(size, end + AFTER)))
        wanted += [(at, at + 1) for at in range(SAMPLE_EVERY, size, SAMPLE_EVERY)]
        parts: list[tuple[int, int]] = []
        for start, end in sorted(wanted):
            start = data.rfind(b"\n", 0, start) + 1
            stop = data.find(b"\n", end)
            stop = size if stop < 0 else stop
            if parts and start <= parts[-1][1]:
                if stop > parts[-1][1]:
                    parts[-1] = (parts[-1][0], stop)
            else:
                parts.append((start, stop))
        self._around += sum(b - a for a, b in parts)
        return parts
