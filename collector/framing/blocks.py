"""Lines of one wording, many at once: where a stream repeats itself, its progress is cut out of the bytes by one search.

A log is looked at in windows. Where in one window much of the text was progress lines of one wording, the next window is
split by that wording first: what lies between is searched for anchors as ever, in its place. Whoever reads the lines one by
one gets the same rows; what makes that sure is said in `_judged`. A line ends at a line feed or, as bars do, at a carriage
return.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate

from collector.framing.chunks import JOINED, Chunk
from collector.framing.labels import Label, may_be_label
from collector.framing.learned import alone, learn, silent
from collector.framing.matcher import AnchorMatcher, Segment
from collector.framing.meaning import Learned
from collector.framing.times import CARRY, Clock, by_slurm, spoken_of
from collector.parsers.base import Parser
from collector.parsers.wording import TIME, Wording
from store import lazy

WINDOWS = (16 << 10, 1 << 20)
"""Bytes of the first window of a file, and of the largest: each is twice as large as the one before."""
WORTH = 4
"""A wording is worth splitting by where one in so many bytes belongs to it."""
# A first word with a number in it may be a label: srun's, a host's.
_MAY_BE_LABEL = lazy.compile(r" *[\w.-]*[0-9]")
# What is written like a date and time and is none (`2026-03-25 199:19:14`): another line of its wording may hold one that is.
_NO_DATE = lazy.compile(r"[0-9]{4}[-/][0-9]{1,3}[-/][0-9]{1,3}[ T]+[0-9]{1,4}:[0-9]")
_MAY_BE_TIME = lazy.compile(r"[0-9.] *: *[-+]?[0-9]")
_Key = tuple[bool, Label, int, str]
_SOME_TIME = datetime(2026, 3, 1, tzinfo=UTC)
_SOME_ZONE = timezone(timedelta(hours=5, minutes=45))
"""None that a log names: a line whose time has a zone of its own is told from one whose zone is the file's."""
MOST_KNOWN, MOST_TAUGHT, MOST_LESSONS = 100, 12, 40
MOST_LABELS = 256
"""How many wordings are judged for a file, learned for one parser of a stream, and for all of them."""
LEARN_AFTER = 2
"""Windows that are read before anything is learned: it takes some hundredths of a second, as a window of 64 KiB does."""


@dataclass(slots=True, eq=False)
class Repeat:
    """A wording that one stream repeats. `index` is its parser's; `pattern` finds its lines: whole, then slot by slot.

    It holds for chunks in which srun's labels are on, or in which they are off. `counted` are the parsers that want to know
    how many lines like `text` went by. `sparse`: a parser of bars that are looked at now and then has an anchor in them.
    `learned` is what they mean, where their parser does not read columns itself. `labels` are those of several streams that
    take turns, by what stands before their lines; then that is the first group after the whole line.
    """

    labelled: bool
    label: Label
    index: int
    wording: Wording
    prefix: bytes
    pattern: re.Pattern[bytes]
    text: str
    counted: tuple[int, ...] = ()
    sparse: bool = False
    learned: Learned | None = None
    labels: Mapping[bytes, Label] = field(default_factory=dict[bytes, Label])

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
    """Lines of one wording with nothing between them that means anything: those from `first` to `after` of a window's.

    Of all lines of the window: what they are (`whole`, with their line ends), where in the chunk they begin, their numbers,
    and column by column what stands in their slots.
    """

    repeat: Repeat
    whole: Sequence[bytes]
    begins: Sequence[int]
    numbers: Sequence[int]
    columns: Sequence[Sequence[bytes]]
    first: int
    after: int

    def __len__(self) -> int:
        return self.after - self.first

    @property
    def start(self) -> int:
        """Where it begins in the chunk."""
        return self.begins[self.first]

    @property
    def last(self) -> int:
        """Where its last line begins."""
        return self.begins[self.after - 1]

    @property
    def end(self) -> int:
        """Where it ends, without the last line end."""
        return self.last + len(self.whole[self.after - 1]) - 1

    @property
    def longest(self) -> int:
        """The bytes of its longest line."""
        return max(map(len, self.whole[self.first : self.after]))

    @property
    def line_nos(self) -> Sequence[int]:
        """The numbers of its lines."""
        return self.numbers[self.first : self.after]

    @property
    def found(self) -> dict[str, Sequence[bytes]]:
        """What stands in its slots."""
        keys, columns = self.repeat.wording.keys, self.columns[1:] if self.repeat.labels else self.columns
        return {key: column[self.first : self.after] for key, column in zip(keys, columns, strict=True)}

    @property
    def labels(self) -> Sequence[Label]:
        """Who printed each of its lines; one label where that is the same for all."""
        if not self.repeat.labels:
            return [self.repeat.label]
        return [self.repeat.labels[prefix] for prefix in self.columns[0][self.first : self.after]]

    def part(self, first: int, after: int) -> Run:
        """Some of its lines, counted from its first."""
        made = replace(self, first=self.first + first)
        made.after = self.first + after
        return made


@dataclass(slots=True)
class _Noted:
    size: int
    labelled: bool
    label: Label
    index: int
    wording: Wording | None
    raw: bytes
    text: str

    @property
    def prefix(self) -> bytes:
        """What stands before its text."""
        return self.raw[: len(self.raw) - len(self.text.encode())]

    @property
    def told_apart(self) -> bool:
        """Whether the line is its prefix and its text, with nothing in them that could change how others are decoded."""
        shown = self.text.encode()
        return self.raw.endswith(shown) and (shown.isascii() or self.prefix.isascii())


class Finder:
    """Gives the segments and runs of each chunk in order. It is told of every row that was read of a single line."""

    def __init__(self, matcher: AnchorMatcher, types: Sequence[type[Parser]], windows: tuple[int, int] | None) -> None:
        self._matcher = matcher
        self._types = types
        self._single = windows is None
        self._window, self._last_window = windows or WINDOWS
        self._noted: dict[_Key, _Noted] = {}
        self._known: dict[_Key, Repeat | None] = {}
        self._taught: dict[tuple[bool, Label, int], list[Repeat | None]] = {}
        self._repeat: Repeat | None = None
        self._size = self._windows = self._lessons = 0
        self._labelled = False

    def note(self, label: Label, index: int, wording: Wording | None, raw: bytes, text: str) -> None:
        """A line of this wording gave a row; None: of a wording that its parser does not know."""
        key = self._labelled, label, index, "" if wording is None else wording.source
        noted = self._noted.get(key)
        if noted is None:
            self._noted[key] = _Noted(len(raw), self._labelled, label, index, wording, raw, text)
        else:
            noted.size += len(raw)
            noted.raw, noted.text = raw, text

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
        numbers: Sequence[int] = range(line, line + count)
        fed = [1] * count if b"\r" not in data else [each[-1] == 10 for each in whole]
        if not any(between):
            if count:
                yield Run(repeat, whole, begins, numbers if all(fed) else _numbers(fed, line), columns, 0, count)
            return
        skipped = list(accumulate(map(len, between)))
        begins = [begin + skip for begin, skip in zip(begins, skipped, strict=True)]
        numbers = _numbers([n + b.count(b"\n") for n, b in zip([0, *fed], between, strict=True)], line)[1:]
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
                yield Run(repeat, whole, begins, numbers, columns, done, place)
            yield from breaks[place]
            done = place
        if count > done:
            yield Run(repeat, whole, begins, numbers, columns, done, count)

    def _choose(self, size: int) -> None:
        """By which wording the next window is split: the one that most of this one, of `size` bytes, belonged to."""
        self._windows += 1
        best, most = self._repeat, self._size
        if best is not None and not most:
            self._give_up(best)  # if its lines are there and were not found: something stands before them
        for key, noted in self._noted.items():
            if noted.size > most and noted.size * WORTH >= size:
                found = self._repeat_of(key, noted)
                best, most = found, noted.size
        best, most = self._wide(most, size) or (best, most)
        self._repeat = best if most * WORTH >= size else None
        self._noted.clear()
        self._size = 0

    def _wide(self, most: int, size: int) -> tuple[Repeat, int] | None:
        """Streams that take turns with lines of one wording, where together they are far more than `most`; and how much."""
        groups: dict[int, list[tuple[_Key, _Noted]]] = {}
        for key, noted in self._noted.items():
            if noted.wording is None:
                groups.setdefault(noted.index, []).append((key, noted))
        for group in groups.values():
            total = sum(noted.size for _, noted in group)
            if len(group) == 1 or 2 * total < 3 * most or total * WORTH < size:
                continue
            one = self._repeat_of(*max(group, key=lambda each: each[1].size))
            if one is None:
                continue
            alike = [
                (noted.prefix, noted.label)
                for _, noted in group
                if noted.label.node == one.label.node and one.wording.match(noted.text) and noted.told_apart
            ]
            if 1 < len(dict(alike)) == len(alike) <= MOST_LABELS:
                pattern = _pattern(rb"(" + b"|".join(re.escape(prefix) for prefix, _ in alike) + rb")", one.wording)
                return replace(one, pattern=pattern, labels=dict(alike)), total
        return None

    def _give_up(self, repeat: Repeat) -> None:
        if repeat.labels:
            return
        if repeat.learned is None:
            if repeat.key in self._noted:
                self._known[repeat.key] = None
            return
        noted = self._noted.get((*repeat.key[:3], ""))
        if noted is not None and repeat.wording.match(noted.text) is not None:
            known = self._taught[repeat.key[:3]]
            known[:] = [None if each is repeat else each for each in known]

    def _repeat_of(self, key: _Key, noted: _Noted) -> Repeat | None:
        if noted.wording is not None:
            if key not in self._known:
                self._known[key] = self._judged(noted, noted.wording) if len(self._known) <= MOST_KNOWN else None
            return self._known[key]
        taught = self._taught.setdefault(key[:3], [])
        for repeat in taught:
            if repeat is not None and repeat.wording.match(noted.text) is not None:
                return repeat
        if len(taught) >= MOST_TAUGHT or self._lessons >= MOST_LESSONS or self._windows <= LEARN_AFTER:
            return None
        self._lessons += 1
        learned = learn(self._types[noted.index], noted.text)
        taught.append(None if learned is None else self._judged(noted, learned.wording, learned))
        return taught[-1]

    def _judged(self, noted: _Noted, wording: Wording, learned: Learned | None = None) -> Repeat | None:
        """The wording as something to split by, where whatever stands in its slots its lines are its parser's alone.

        The label is as it stood before one line; no line holds a time that is not in its slot for it; and every other
        parser that has an anchor in one of the lines says that it ignores them all. What a wording that was learned may
        hold is tried on the lines that were made up for it.
        """
        text = noted.text
        if not wording.exact or not noted.told_apart:
            return None
        alike: Callable[[Sequence[str]], bool] | None = getattr(self._types[noted.index], "alike", None)
        if learned is not None and alike is not None and not alike((text, *learned.tried)):
            return None
        lines = (text,) if learned is None else (text, *learned.tried)
        if any(map(by_slurm, lines)) or (
            any(map(may_be_label, lines)) if learned is not None else _MAY_BE_LABEL.match(text)
        ):
            return None
        if not _timed_alike(wording, lines) or (
            learned is None and TIME not in wording.keys and _MAY_BE_TIME.search(text)
        ):
            return None
        counted: list[int] = []
        sparse = False
        for index, kind in enumerate(self._types):
            if index != noted.index and wording.may_hold(kind.anchors):
                ignores: Callable[[str], bool] | None = getattr(kind, "ignores", None)
                if ignores is None or not all(map(ignores, lines)):
                    if learned is None or not alone(kind) or not silent(kind, lines):
                        return None
                elif hasattr(kind, "passed"):
                    counted.append(index)
                sparse = sparse or getattr(kind, "sparse", False)
        key = noted.labelled, noted.label, noted.index
        pattern = _pattern(re.escape(noted.prefix), wording)
        return Repeat(*key, wording, noted.prefix, pattern, text, tuple(counted), sparse, learned)


def _pattern(prefix: bytes, wording: Wording) -> re.Pattern[bytes]:
    """Finds whole lines, and what stands in their slots."""
    return lazy.compile(rb"(?<![^\r\n])(" + prefix + wording.source.encode() + rb"(?:\r?+\n|\r))")


def _timed_alike(wording: Wording, lines: Sequence[str]) -> bool:
    """Whether each of the lines is dated by its slot for that; where it has none, by nothing that is in it."""
    for text in lines:
        found = wording.match(text)
        told = Clock(_SOME_ZONE, _SOME_TIME).read(text)
        if found is None:
            return False
        if TIME in found:
            times = [time.encode() for time in found[TIME]]
            if told is None or Clock(_SOME_ZONE, _SOME_TIME).column(times) != [told] or spoken_of(text):
                return False
        elif told is not None or CARRY.search(text.encode()) or _NO_DATE.search(text):
            return False
    return True


def _numbers(fed: Sequence[int], line: int) -> Sequence[int]:
    """The number of each line, where so many line feeds stand in each. The last entry is that of a further one."""
    return list(accumulate(fed, initial=line))


def _line_end(data: bytes, start: int, at: int) -> int:
    """The end of the last line between `start` and `at`, or of the one that goes on there; of bars, that of the last bar."""
    if at >= len(data):
        return len(data)
    for end in (b"\n", b"\r"):
        if found := data.rfind(end, start, at) + 1:
            return found
    return data.find(b"\n", at) + 1 or len(data)
