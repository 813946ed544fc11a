"""Streams of lines and the parsers that listen to them: interleaved ranks are taken apart before anything is parsed.

Only lines with an anchor are decoded; while some parser wants more, the lines that follow are walked one by one, and
those of its own stream are fed to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from collector.framing.blocks import WINDOWS, Finder, Run
from collector.framing.chunks import Chunk
from collector.framing.clean import clean_text
from collector.framing.labels import Label, split_label
from collector.framing.learned import teaches
from collector.framing.matcher import AnchorMatcher
from collector.framing.overwritten import Overwritten
from collector.framing.reached import Reached, Seat
from collector.framing.timed import TimedLine
from collector.framing.times import CARRY, Clock
from collector.parsers.base import ColumnParser, Line, ParsedRow, Parser
from collector.parsers.wording import TIME
from store.rows import Block, TrainStep

MAX_STREAMS = 2048
MAX_MORE = 4000  # lines that a parser may ask for in one go: more is a parser that lost its end
MAX_FED = 64 << 10
WINDOW = 8 << 10
CARRY_WITHIN = 128 << 10
MOST_CUTS = 32  # places in which one run is cut, before what is left of it is read line by line


@dataclass(frozen=True, slots=True)
class FedSegment:
    """Rows that came of one segment, or of many lines at once, and where that lies in its chunk."""

    start: int
    end: int
    line_no: int
    rows: list[tuple[ParsedRow | Block, str]]


class _Stream:
    __slots__ = ("asked", "open", "parsers")

    def __init__(self, types: Sequence[type[Parser]]) -> None:
        self.parsers: list[Parser | None] = [None] * len(types)
        self.open = 0
        self.asked = 0


class Demux:
    """All streams of one file. `base` is what the file's own name says of who printed it.

    `windows` are `blocks.WINDOWS`; None to take each line by itself.
    """

    def __init__(
        self,
        types: Sequence[type[Parser]],
        matcher: AnchorMatcher,
        clock: Clock,
        file: str,
        base: Label,
        hosts: frozenset[str] = frozenset(),
        windows: tuple[int, int] | None = WINDOWS,
    ) -> None:
        self.types = types
        self.matcher = matcher
        self.clock = clock
        self.file = file
        self.base = base
        self.hosts = hosts
        self.streams: dict[Label, _Stream] = {}
        self.failures: list[str] = []
        self._states = Overwritten(sum(1 << i for i, t in enumerate(types) if getattr(t, "sparse", False)))
        self._skipped: tuple[int, int, int, Seat] | None = None
        self._carried = 0
        self._open = 0
        self._at = 0
        self._reached = Reached()
        self._columnar = sum(1 << i for i, t in enumerate(types) if hasattr(t, "steps"))
        self._alone = sum(1 << i for i, t in enumerate(types) if teaches(t))
        self._finder = Finder(matcher, types, windows)

    def label(self, text: str, labelled: bool) -> tuple[Label, str]:
        """Who printed a line (the file's own word where the line has none) and its text."""
        label, rest = split_label(text, labelled, self.hosts)
        base = self.base
        if label.rank is None and label.local_rank is None and label.node is None and label.stream is None:
            return (base if label.tag is None else _fill(label, base)), rest
        return _fill(label, base), rest

    def feed(self, chunk: Chunk) -> Iterator[FedSegment]:
        """Feed one chunk; give what came of each segment, or run of lines of one wording, that gave something."""
        self._reached.begin(chunk)
        self._at = self._carried = 0
        self._states.begin()
        self._skipped = None
        for item in self._finder.items(chunk):
            if isinstance(item, Run):
                yield from self._walk(chunk, item.start)
                for run, together in _cut(item):
                    yield from self._lines(chunk, run) if together else self._singly(chunk, run)
            else:
                yield from self._segment(chunk, *item)
        yield from self._walk(chunk, len(chunk.data))
        yield from self._last_skipped(chunk)
        self._reached.end()

    def _segment(self, chunk: Chunk, start: int, end: int, mask: int) -> Iterator[FedSegment]:
        yield from self._walk(chunk, start)
        yield from self._take(chunk, start, end, mask, self._reached.seat(start))
        self._at = end + 1

    def _walk(self, chunk: Chunk, to: int) -> Iterator[FedSegment]:
        # While some parser wants more, every line is looked at.
        while self._open and self._at < to:
            at = self._at
            stop = _segment_end(chunk.data, at)
            yield from self._take(chunk, at, stop, 0, self._reached.seat(at))
            self._at = stop + 1

    def _lines(self, chunk: Chunk, run: Run) -> Iterator[FedSegment]:
        """All lines of a run: at once where that can be, else one by one."""
        yield from self._line_over(chunk, run.start)
        for _ in range(MOST_CUTS):
            taken = self._block(chunk, run)
            if taken is None:
                break
            count, block = taken
            if block is not None:
                yield block
            else:
                yield from self._singly(chunk, run.part(0, count))
            if count == len(run):
                return
            run = run.part(count, len(run))
        yield from self._singly(chunk, run)

    def _singly(self, chunk: Chunk, run: Run) -> Iterator[FedSegment]:
        for segment in self._finder.segments(chunk.data, run.start, run.end):
            yield from self._segment(chunk, *segment)

    def _block(self, chunk: Chunk, run: Run) -> tuple[int, FedSegment | None] | None:
        """So many lines of a run, from its first, at once, and what comes of them; none where that is one to take by itself.

        None where all are.
        """
        repeat, data = run.repeat, chunk.data
        labels = run.labels
        counts = Counter(labels) if len(labels) > 1 else {labels[0]: len(run)}
        streams = [stream for label in counts if (stream := self.streams.get(label)) is not None]
        parsers = [parser for stream in streams if (parser := stream.parsers[repeat.index]) is not None]
        if self._open or len(parsers) < len(counts) or (len(parsers) > 1 and hasattr(parsers[0], "fresh")):
            return None
        if not all(cast("Any", p).opens(repeat.text, run.longest) for p in parsers if hasattr(p, "opens")):
            return None
        parser = parsers[0]
        listeners: list[tuple[Any, int]] = [
            (self._listener(stream, index), own)
            for stream, own in zip(streams, counts.values(), strict=True)
            for index in repeat.counted
        ]
        found, reader = run.found, cast("ColumnParser", parser) if repeat.learned is None else repeat.learned
        try:
            steps = reader.steps(found)
        except Exception:  # the line that it trips over is found, and told of, when each is taken by itself
            return None
        if steps is None or not all(listener.lets_pass(repeat.text, run.longest) for listener, _ in listeners):
            return None
        count = len(run)
        if hasattr(parser, "fresh") and (fresh := cast("Any", parser).fresh(steps)) < count:
            return self._block(chunk, run.part(0, fresh)) if fresh else (1, None)
        line_nos = run.line_nos
        columns: dict[str, Sequence[Any]] = {"line_no": line_nos, **steps.columns}
        if repeat.timed:
            moments = self.clock.column(found[TIME])
            if moments is None:
                return None
            columns["ts"], kind = moments, "embedded"
        else:
            _, text = self.label(clean_text(_first(run)), chunk.labelled)
            ts, kind = self.time(text, data, run.start)  # none of them has one: what the first is given holds for all
            columns["ts"] = [ts] * count
            self._carried = max(self._carried, run.last)
        if self._reached.bars:
            columns["in_line"] = [self._reached.seat(at)[1] for at in run.begins[run.first : run.after]]
        for listener, own in listeners:
            listener.passed(repeat.text, own)
        for stream in streams:
            stream.asked = 0
        for each in parsers if hasattr(parser, "took") else ():
            cast("Any", each).took(steps)
        if repeat.sparse:
            self._states.went_by(run.last)
        self._skipped, self._at = None, run.end + 1
        if len(counts) > 1:
            columns |= {name: [getattr(label, name) for label in labels] for name in _who(labels[0]) if name != "node"}
        where = Line("", 0, self.file, **_who(labels[0]), ts_kind=kind).where()
        fixed = {"split": "train", "framework": steps.framework, **where, **steps.constants}
        block = Block(TrainStep, count, {k: v for k, v in fixed.items() if k not in columns}, columns)
        return count, FedSegment(run.start, run.end, line_nos[0], [(block, parser.name)])

    def _listener(self, stream: _Stream, index: int) -> Any:
        if stream.parsers[index] is None:
            stream.parsers[index] = self.types[index]()
        return stream.parsers[index]

    def _line_over(self, chunk: Chunk, at: int) -> Iterator[FedSegment]:
        # What stands at `at` begins another line: the last bar of the one before is looked at.
        if self._skipped is not None and chunk.data.find(b"\n", self._skipped[1], at) >= 0:
            yield from self._last_skipped(chunk)

    def _last_skipped(self, chunk: Chunk) -> Iterator[FedSegment]:
        if self._skipped is not None:
            start, end, mask, seat = self._skipped
            self._states.begin()
            yield from self._take(chunk, start, end, mask, seat)

    def cut(self) -> list[tuple[ParsedRow, str]]:
        """Bytes are left out here: whatever is open ends."""
        rows: list[tuple[ParsedRow, str]] = []
        for stream in self.streams.values():
            if stream.open:
                rows += self._reset(stream, stream.open)
                stream.open = 0
        self._open = 0
        return rows

    def close(self) -> Iterator[tuple[ParsedRow, str]]:
        """What parsers still hold when the file ends."""
        for stream in self.streams.values():
            for parser in stream.parsers:
                if parser is not None:
                    yield from self._guard(parser, None)
        self.streams.clear()
        self._open = 0

    def _take(self, chunk: Chunk, start: int, end: int, mask: int, seat: Seat) -> Iterator[FedSegment]:
        if start >= end:
            return
        yield from self._line_over(chunk, start)
        if self._skipped is not None and start > self._skipped[0] and not self._states.replaces(mask, self._skipped[2]):
            yield from self._last_skipped(chunk)
        if mask and not self._open and self._states.passes(chunk.data, start, end, mask):
            self._skipped = start, end, mask, seat
            return
        self._skipped = None
        label, text = self.label(self._text(chunk.data, start, end, mask), chunk.labelled)
        stream = self._stream(label)
        wanted = mask | stream.open
        if not wanted:
            return
        line = TimedLine(text, seat, label, self, chunk.data, start)
        rows: list[tuple[ParsedRow, str]] = []
        was_open, opened = stream.open, 0
        for index in _bits(wanted):
            parser = stream.parsers[index]
            if parser is None:
                parser = stream.parsers[index] = self.types[index]()
            given = self._guard(parser, line)
            rows += given
            if parser.wants_more:
                opened |= 1 << index
            if given:
                self._note(label, index, parser, chunk.data[start:end], text)
        stream.asked = stream.asked + 1 if opened and opened == was_open else 0
        if stream.asked > MAX_MORE:
            rows.extend(self._reset(stream, opened))
            opened = 0
        stream.open = opened
        self._open += bool(opened) - bool(was_open)
        line.settle(bool(opened))
        self._states.looked(chunk.data, start, end, mask, bool(rows or opened))
        if rows:
            yield FedSegment(start, end, seat[0], [*rows])

    def _note(self, label: Label, index: int, parser: Parser, raw: bytes, text: str) -> None:
        """Tell the finder of a line that gave a row."""
        wording = cast("ColumnParser", parser).wording if self._columnar >> index & 1 else None
        if wording is not None or self._alone >> index & 1:
            self._finder.note(label, index, wording, raw, text)

    def _guard(self, parser: Parser, line: Line | None) -> list[tuple[ParsedRow, str]]:
        # One parser that trips over one line must not cost the others their file.
        try:
            rows: Iterable[ParsedRow] = parser.close() if line is None else parser.feed(line)
            return [(row, parser.name) for row in rows]
        except Exception as error:
            where = "at the end" if line is None else f"line {line.line_no}"
            self.failures.append(f"parser {parser.name} failed {where}: {type(error).__name__}: {error}")
            return []

    def _reset(self, stream: _Stream, opened: int) -> list[tuple[ParsedRow, str]]:
        rows: list[tuple[ParsedRow, str]] = []
        for index, parser in enumerate(stream.parsers):
            if parser is not None and opened >> index & 1:
                rows.extend(self._guard(parser, None))
                stream.parsers[index] = None
        stream.asked = 0
        return rows

    def _stream(self, label: Label) -> _Stream:
        stream = self.streams.get(label)
        if stream is None:
            if len(self.streams) >= MAX_STREAMS:
                label = self.base
            stream = self.streams.setdefault(label, _Stream(self.types))
        return stream

    def _text(self, data: bytes, start: int, end: int, mask: int) -> str:
        if end - start <= MAX_FED or not mask:
            return clean_text(data[start:end], MAX_FED)
        # A line too long to be a message: its start, and the surroundings of its first anchors.
        windows = [data[start : start + WINDOW]]
        at = start + WINDOW
        places = self.matcher.places(data, at, end, 8, WINDOW)
        windows += [data[max(at, p - 512) : min(end, p + WINDOW - 512)] for p in places]
        return clean_text(b" ".join(windows), 10 * WINDOW)

    def time(self, text: str, data: bytes, start: int) -> tuple[datetime | None, str | None]:
        """The best time of a line that starts at `start` of the chunk's `data`, and how it is known."""
        found = self.clock.read(text)
        if found is not None:
            return found, "embedded"
        self._carry(data, start)
        return self.clock.best(text)  # what was carried may complete a time without a day

    def _carry(self, data: bytes, start: int) -> None:
        # Nobody decoded the lines between; their times still date this one. Near ones first: most often that is enough.
        stop = start
        for width in (1 << 10, 16 << 10, CARRY_WITHIN):
            since = max(self._carried, start - width)
            last = None
            for match in CARRY.finditer(data, since, stop):
                last = match
            if last is not None:
                self.clock.carry(last.group())
                break
            if since == self._carried:
                break
            stop = since
        self._carried = max(self._carried, start)


@lru_cache(maxsize=4096)
def _fill(label: Label, base: Label) -> Label:
    return replace(
        label,
        rank=base.rank if label.rank is None and label.local_rank is None else label.rank,
        local_rank=base.local_rank if label.local_rank is None and label.rank is None else label.local_rank,
        node=label.node or base.node,
        stream=label.stream or base.stream,
    )


def _first(run: Run) -> bytes:
    """Its first line."""
    return run.whole[run.first].rstrip(b"\r\n")


def _cut(run: Run) -> Iterator[tuple[Run, bool]]:
    """A run without the lines for which what was learned does not hold; these each by itself, which the flag denies."""
    learned = run.repeat.learned
    odd = learned.odd(run.found) if learned is not None else ()
    if len(odd) > MOST_CUTS:
        yield run, False
        return
    done = 0
    for place in odd:
        if place > done:
            yield run.part(done, place), True
        yield run.part(place, place + 1), False
        done = place + 1
    if done < len(run):
        yield run.part(done, len(run)), True


def _who(label: Label) -> dict[str, Any]:
    return {"stream": label.stream, "rank": label.rank, "local_rank": label.local_rank, "node": label.node}


def _segment_end(data: bytes, at: int) -> int:
    stop = data.find(b"\n", at)
    stop = len(data) if stop < 0 else stop
    bar = data.find(b"\r", at, stop)
    return stop if bar < 0 else bar


@lru_cache(maxsize=65536)
def _bits(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
