"""Which lines of a log are stored: all of a file of moderate size; of a large one what a reader would look at.

Of a large file: its head, its tail, what surrounds an event, and every so-many-th line of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collector.framing.chunks import JOINED, Chunk
from collector.framing.clean import clean_text
from collector.framing.labels import Label
from collector.framing.streams import Demux
from collector.framing.times import Clock
from store.rows import Block, LogLine

HEAD = 256 << 10
TAIL = 1 << 20
BEFORE, AFTER = 2 << 10, 4 << 10
SAMPLE_EVERY = 64 << 10
MOST_AROUND = 16 << 20


_OF_A_LABEL = ("stream", "rank", "local_rank")


@dataclass(slots=True)
class _Lines:
    """Lines of one node, by column."""

    labels: list[Label] = field(default_factory=list[Label])
    line_nos: list[int] = field(default_factory=list[int])
    texts: list[str] = field(default_factory=list[str])
    moments: list[datetime | None] = field(default_factory=list["datetime | None"])
    kinds: list[str | None] = field(default_factory=list["str | None"])


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

    def lines(self, chunk: Chunk, spots: list[tuple[int, int]]) -> Iterator[Block]:
        """The lines of a chunk that are kept, as rows of `LogLine`. `spots` are the places of events, in order."""
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
            yield from self._blocks(raws, number, chunk.labelled)

    def _blocks(self, raws: list[bytes], number: int, labelled: bool) -> Iterator[Block]:
        """The rows of lines of which the first has this number: a block for as long as one node printed them."""
        made = _Lines()
        best, label_of = self.clock.best, self.demux.label
        for raw in raws:
            line_no = number
            number += 1 + (raw.count(JOINED) if labelled else 0)
            if b"\r" in raw:
                raw = raw.rstrip(b"\r ")
                raw = raw[raw.rfind(b"\r") + 1 :]
            if not raw or raw.isspace():
                continue
            label, text = label_of(clean_text(raw), labelled)
            if made.labels and label.node != made.labels[-1].node:
                yield self._block(made)
                made = _Lines()
            ts, kind = best(text)
            made.labels.append(label)
            made.line_nos.append(line_no)
            made.texts.append(text)
            made.moments.append(ts)
            made.kinds.append(kind)
        if made.labels:
            yield self._block(made)

    def _block(self, made: _Lines) -> Block:
        self.kept += len(made.labels)
        columns: dict[str, Sequence[Any]] = {"line_no": made.line_nos, "ts": made.moments, "text": made.texts}
        varying: dict[str, Sequence[Any]] = {"ts_kind": made.kinds}
        first = made.labels[0]
        constants: dict[str, Any] = {"file": self.demux.file, "node": first.node}
        if any(label != first for label in made.labels):
            varying |= {name: [getattr(label, name) for label in made.labels] for name in _OF_A_LABEL}
        else:
            constants |= {name: getattr(first, name) for name in _OF_A_LABEL}
        for name, values in varying.items():
            if values.count(values[0]) == len(values):
                constants[name] = values[0]
            else:
                columns[name] = values
        return Block(LogLine, len(made.labels), constants, columns)

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
