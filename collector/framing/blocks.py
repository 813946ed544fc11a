"""Lines of one wording, many at once: where a stream repeats itself, its progress is cut out of the bytes by one search.

A log is looked at in windows. Where in one window much of the text was progress lines of one wording, the next window is
split by that wording first: what lies between is searched for anchors as ever, in its place. Whoever reads the lines one by
one gets the same rows; what makes that sure is said in `_judged`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import accumulate

from collector.framing.chunks import JOINED, Chunk
from collector.framing.labels import Label
from collector.framing.matcher import AnchorMatcher, Segment
from collector.framing.times import CARRY, Clock, by_slurm
from collector.parsers.base import Parser
from collector.parsers.wording import TIME, Wording

WINDOWS = (16 << 10, 1 << 20)
"""Bytes of the first window of a file, and of the largest: each is twice as large as the one before."""
WORTH = 4
"""A wording is worth splitting by where one in so many bytes belongs to it."""
# A first word with a number in it may be a label: srun's, a host's.
_MAY_BE_LABEL = re.compile(r" *[\w.-]*[0-9]")
_MAY_BE_TIME = re.compile(r"[0-9.] *: *[-+]?[0-9]")
_Key = tuple[bool, Label, int, str]


@dataclass(slots=True, eq=False)
class Repeat:
    """A wording that one stream repeats. `index` is its parser's; `pattern` finds its lines: whole, then slot by slot.

    It holds for chunks in which srun's labels are on, or in which they are off. `counted` are the parsers that want to know
    how many lines like `text` went by.
    """

    labelled: bool
    label: Label
    index: int
    wording: Wording
    prefix: bytes
    pattern: re.Pattern[bytes]
    text: str
    counted: tuple[int, ...] = ()

    @property
    def key(self) -> _Key:
        """What tells it from others."""
        return self.labelled, self.label, self.index, self.wording.source

    @property
    def timed(self) -> bool:
        """Whether its lines say when they were printed."""
        return TIME in self.wording.keys


@dataclass(slots=True)
class Run:
    """Lines of one wording with nothing between them that means anything; `found` is what stands in their slots.

    `start` to `end` are their bytes in the chunk, without the last line end; the last line begins at `last`.
    """

    repeat: Repeat
    start: int
    end: int
    last: int
    line_nos: Sequence[int]
    found: dict[str, list[bytes]]


@dataclass(slots=True)
class _Noted:
    size: int
    labelled: bool
    label: Label
    index: int
    wording: Wording
    raw: bytes
    text: str


class Finder:
    """Gives the segments and runs of each chunk in order. It is told of every row that was read of a single line."""

    def __init__(self, matcher: AnchorMatcher, types: Sequence[type[Parser]], windows: tuple[int, int] | None) -> None:
        self._matcher = matcher
        self._types = types
        self._single = windows is None
        self._window, self._last_window = windows or WINDOWS
        self._noted: dict[_Key, _Noted] = {}
        self._known: dict[_Key, Repeat | None] = {}
        self._repeat: Repeat | None = None
        self._size = 0
        self._labelled = False

    def note(self, label: Label, index: int, wording: Wording, raw: bytes, text: str) -> None:
        """A line of this wording gave a row."""
        key = self._labelled, label, index, wording.source
        noted = self._noted.get(key)
        if noted is None:
            self._noted[key] = _Noted(len(raw), self._labelled, label, index, wording, raw, text)
        else:
            noted.size += len(raw)

    def items(self, chunk: Chunk) -> Iterator[Segment | Run]:
        """What a chunk holds. Lines are numbered as `Chunk.lines` counts them."""
        if self._single:
            yield from self._matcher.segments(chunk.data)
            return
        data, at, line = chunk.data, 0, chunk.first_line
        self._labelled = chunk.labelled
        rejoined = chunk.labelled and JOINED in data
        while at < len(data):
            stop = _line_end(data, at, at + self._window)
            if self._repeat is None or rejoined or self._repeat.labelled != chunk.labelled:
                yield from self.segments(data, at, stop)
            else:
                yield from self._split(self._repeat, data, at, stop, line)
            self._choose(stop - at)
            line += chunk.lines(at, stop)
            at = stop
            self._window = min(2 * self._window, self._last_window)

    def segments(self, data: bytes, start: int, stop: int) -> Iterator[Segment]:
        """The anchored segments of a part of `data` that is whole lines."""
        if start == 0 and stop == len(data):
            yield from self._matcher.segments(data)
            return
        for begin, end, mask in self._matcher.segments(data[start:stop]):
            yield start + begin, start + end, mask

    def _split(self, repeat: Repeat, data: bytes, start: int, stop: int, line: int) -> Iterator[Segment | Run]:
        # Between every two lines of the wording stands what is none: mostly nothing.
        width = repeat.pattern.groups + 1
        flat = repeat.pattern.split(data[start:stop])
        between, whole = flat[0::width], flat[1::width]
        self._size += sum(map(len, whole))
        columns = [flat[i::width] for i in range(2, width)]
        count = len(whole)
        # Where each line begins, and its number. The last entry is where a further one would.
        begins = list(accumulate(map(len, whole), initial=start))
        if not any(between):
            if count:
                yield _run(repeat, columns, 0, count, begins, range(line, line + count), stop)
            return
        skipped = list(accumulate(map(len, between)))
        begins = [begin + skip for begin, skip in zip(begins, skipped, strict=True)]
        lines = list(accumulate((b.count(b"\n") for b in between), initial=line))
        numbers = [n + i for i, n in enumerate(lines[1:])]
        rest = b"".join(between)
        breaks: dict[int, list[Segment]] = {}
        for begin, end, mask in self._matcher.segments(rest):
            place = bisect_right(skipped, begin)
            shift = begins[place] - skipped[place]
            breaks.setdefault(place, []).append((begin + shift, end + shift, mask))
        if not repeat.timed and CARRY.search(rest):
            for place in (i for i, b in enumerate(between) if b):
                breaks.setdefault(place, [])
        done = 0
        for place in sorted(breaks):
            if place > done:
                yield _run(repeat, columns, done, place, begins, numbers, begins[place] - len(between[place]))
            yield from breaks[place]
            done = place
        if count > done:
            yield _run(repeat, columns, done, count, begins, numbers, begins[count] - len(between[count]))

    def _choose(self, size: int) -> None:
        """By which wording the next window is split: the one that most of this one, of `size` bytes, belonged to."""
        best, most = self._repeat, self._size
        if best is not None and not most and best.key in self._noted:
            self._known[best.key] = None  # its lines are there and were not found: something stands before them
        for key, noted in self._noted.items():
            if noted.size > most:
                if key not in self._known:
                    self._known[key] = self._judged(noted)
                best, most = self._known[key], noted.size
        self._repeat = best if most * WORTH >= size else None
        self._noted.clear()
        self._size = 0

    def _judged(self, noted: _Noted) -> Repeat | None:
        """The wording as something to split by, where whatever stands in its slots its lines are its parser's alone.

        The label is as it stood before one line; no line holds a time that is not in its slot for it; and every other
        parser that has an anchor in one of the lines says that it ignores them all.
        """
        raw, text, wording = noted.raw, noted.text, noted.wording
        shown = text.encode()
        if (
            not (wording.exact and shown.isascii() and raw.endswith(shown))
            or _MAY_BE_LABEL.match(text)
            or by_slurm(text)
        ):
            return None
        found, told = wording.match(text), Clock(UTC).read(text)
        if found is None or len(self._known) > 100:
            return None
        if TIME in found:
            if told is None or Clock(UTC).column([t.encode() for t in found[TIME]]) != [told]:
                return None
        elif told is not None or _MAY_BE_TIME.search(text):
            return None
        counted: list[int] = []
        for index, kind in enumerate(self._types):
            if index != noted.index and wording.may_hold(kind.anchors):
                ignores: Callable[[str], bool] | None = getattr(kind, "ignores", None)
                if ignores is None or not ignores(text):
                    return None
                if hasattr(kind, "passed"):
                    counted.append(index)
        prefix = raw[: len(raw) - len(shown)]
        pattern = re.compile(b"^(" + re.escape(prefix) + wording.source.encode() + rb"\r?+\n)", re.M)
        return Repeat(noted.labelled, noted.label, noted.index, wording, prefix, pattern, text, tuple(counted))


def _run(
    repeat: Repeat,
    columns: Sequence[list[bytes]],
    first: int,
    after: int,
    begins: Sequence[int],
    numbers: Sequence[int],
    stop: int,
) -> Run:
    found = {key: column[first:after] for key, column in zip(repeat.wording.keys, columns, strict=True)}
    return Run(repeat, begins[first], stop - 1, begins[after - 1], numbers[first:after], found)


def _line_end(data: bytes, start: int, at: int) -> int:
    """The end of the last line between `start` and `at`, or of the one that goes on there."""
    if at >= len(data):
        return len(data)
    return data.rfind(b"\n", start, at) + 1 or data.find(b"\n", at) + 1 or len(data)
