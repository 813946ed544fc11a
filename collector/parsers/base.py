"""What a log parser is: cleaned lines of one stream in, `LogEvent` and `TrainStep` rows out.

A log file is split into streams (one per rank label or torchrun file) before any parser sees it, so a parser never has
to cope with ranks that interleave. One parser instance serves one stream. Because most lines of a log mean nothing, a
parser names `anchors`: literals of which at least one occurs in every line that can start something for it; only such
lines (and, while `wants_more` is true, the lines that follow) are fed. Where an anchor stands in every bar of a log it may name
a literal that has to stand beside it, `also`: bars are looked at now and then, unless somebody wants to see each. A line is fed with its neighbours' order kept.

Lines that a run repeats are read many at once. Of a parser that keeps no note of what it was fed it is learned from its rows
what the figures of a line are for (`framing/learned.py`); one that keeps some, but for which its rows do not differ, says so
with `alone = True`, and with `fresh(steps)` how many of the rows come before the first that it would not give after those that
it gave, of which `took(steps)` tells it. A parser may also read columns itself: then it is a `ColumnParser`.

Whichever it is: lines of one wording are read at once only where each other parser that has an anchor in them gives nothing
of them and keeps no note, or says by `ignores(text)`, a static method, that neither this line means anything to it nor one
that differs from it in its figures only. Then it keeps no other note than `passed(text, count)` takes, that so many lines
like this one went by; and with that it has `lets_pass(text, longest)`, by which it may refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from collector.parsers.wording import Steps, Wording
from store.rows import LogEvent, TrainStep

ParsedRow = LogEvent | TrainStep


@dataclass(frozen=True, slots=True)
class Line:
    """One cleaned line: no ANSI codes, no rank label, no launcher prefix; `text` has no line end.

    `ts` is the best time known (UTC) and `ts_kind` says how it is known: embedded, carried or file. `in_line` counts the
    carriage returns before it in its line.
    """

    text: str
    line_no: int
    file: str
    stream: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    step_id: str | None = None
    ts: datetime | None = None
    ts_kind: str | None = None
    in_line: int | None = None

    def where(self) -> dict[str, Any]:
        """The context fields that every row from this line carries."""
        return {
            "file": self.file,
            "stream": self.stream,
            "line_no": self.line_no,
            "rank": self.rank,
            "local_rank": self.local_rank,
            "node": self.node,
            "step_id": self.step_id,
            "ts": self.ts,
            "ts_kind": self.ts_kind,
        }

    def event(self, kind: str, name: str, message: str | None = None, **fields: Any) -> LogEvent:
        """A `LogEvent` that starts at this line. `fields` are further columns of `LogEvent` (and override the context)."""
        values: dict[str, Any] = {"line_end": self.line_no, **self.where(), **fields}
        return LogEvent(kind=kind, name=name, message=(self.text if message is None else message)[:2000], **values)

    def step(self, framework: str, **fields: Any) -> TrainStep:
        """A `TrainStep` that was printed on this line."""
        values: dict[str, Any] = {"split": "train", "in_line": self.in_line, **self.where(), **fields}
        return TrainStep(framework=framework, **values)

    def first_of(self, steps: Steps) -> TrainStep:
        """The `TrainStep` of this line, where `steps` are columns of one value."""
        return self.step(steps.framework, **steps.constants, **{k: v[0] for k, v in steps.columns.items()})


class Parser(Protocol):
    """One recogniser. `name` is the file's stem; `anchors` are literals (case-sensitive), none of them empty."""

    name: ClassVar[str]
    anchors: ClassVar[tuple[str, ...]]

    @property
    def wants_more(self) -> bool:
        """True while a multi-line message is open: then every next line of the stream is fed too."""
        ...

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line; give the rows that are complete now."""
        ...

    def close(self) -> Iterable[ParsedRow]:
        """The stream ended: give what is still open."""
        ...


class ColumnParser(Parser, Protocol):
    """A parser of progress lines that can also read many lines of one wording at once.

    `wording` is that of the line fed last where it was such a line, else None. Both ways go through `steps`.
    """

    wording: Wording | None

    def steps(self, found: Mapping[str, Sequence[str | bytes]]) -> Steps | None:
        """The rows of lines of one wording: by key, what stands in that slot of each line. None: read them singly."""
        ...


class LineParser:
    """Base of parsers whose messages fit one line: implement `feed` only."""

    name: ClassVar[str] = ""
    anchors: ClassVar[tuple[str, ...]] = ()

    @property
    def wants_more(self) -> bool:
        """Never."""
        return False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        raise NotImplementedError

    def close(self) -> Iterable[ParsedRow]:
        """Nothing is ever open."""
        return ()


def also_needed(types: Sequence[type[Parser]]) -> dict[int, str]:
    """By the place of a parser, the literal that it wants to see beside its anchors."""
    return {i: literal for i, t in enumerate(types) if (literal := getattr(t, "also", None)) is not None}


def parse_text(parser: Parser, text: str, file: str = "log") -> list[ParsedRow]:
    """Feed a text to one parser as the framing would: anchored lines, and whatever follows while it wants more."""
    rows: list[ParsedRow] = []
    for number, raw in enumerate(text.splitlines(), 1):
        if parser.wants_more or any(a in raw for a in parser.anchors):
            rows.extend(parser.feed(Line(raw, number, file)))
    rows.extend(parser.close())
    return rows
