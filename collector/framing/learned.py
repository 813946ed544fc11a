"""What the lines of one wording mean, learned from one of them by asking its parser about others like it.

A parser that keeps no note of the lines before (`alone`) gives a row that depends on nothing but the line. So what each
figure of the line is for can be found by changing it, and seeing what changes in the row. What was found is then held
against some hundred lines that nobody printed, with other figures in all places at once, wide and narrow, large and
small: where the parser says of one of them anything else than what was learned, nothing is learned.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from collector.framing.figures import PADS, WIDTHS, Form, places
from collector.framing.meaning import CONVERSIONS, Learned, Source
from collector.parsers.base import Line, LineParser, Parser
from collector.parsers.wording import TIME, Slot, Wording
from store import lazy
from store.rows import TrainStep

TRIES = 100
"""Made-up lines that a wording is held against."""
MOST_PLACES = 60
MOST_KEPT = 20
_WHERE = frozenset(Line("", 0, "").where())
_FIELDS = tuple(f.name for f in fields(TrainStep) if f.name not in _WHERE)
_OVER = lazy.compile(r" ?/ ?")


@cache
def alone(kind: type[Parser]) -> bool:
    """Whether what a parser gives of a line depends on nothing but this line, or it says itself what else it depends on."""
    stateless = issubclass(kind, LineParser) and kind.__init__ is object.__init__
    return bool(getattr(kind, "alone", stateless))


def teaches(kind: type[Parser]) -> bool:
    """Whether what its lines mean can be learned: of itself, or of its `reader`."""
    return alone(kind) or hasattr(kind, "reader")


def silent(kind: type[Parser], lines: Iterable[str]) -> bool:
    """Whether a parser that is `alone` gives nothing of any of these lines, and wants nothing more."""
    try:
        parser = kind()
        return not any(list(parser.feed(Line(text, 1, "a"))) or parser.wants_more for text in lines)
    except Exception:
        return False


def learn(kind: type[Parser], text: str) -> Learned | None:
    """What lines like this one mean to a parser that is `alone`; None where that cannot be told.

    Kept for the process: a job's logs are much alike.
    """
    fixed = hasattr(kind, "reader")
    kind = getattr(kind, "reader", kind)
    known = _learned.setdefault(kind, [])
    for one in known:
        if one.wording.match(text) is not None:
            return one
    made = _learn(kind, text, fixed)
    if made is not None:
        known[:] = [made, *known[:MOST_KEPT]]
    return made


_learned: dict[type[Parser], list[Learned]] = {}


def _learn(kind: type[Parser], text: str, fixed: bool) -> Learned | None:
    """`fixed`: blanks where this line has none make another wording."""
    base = _read(kind, text)
    pieces = [p for p in places(text) if not (fixed and isinstance(p, Form) and not p.shown)]
    if base is None or len(pieces) > MOST_PLACES or not any(isinstance(p, Form) for p in pieces):
        return None
    pairs = [(i, i + 2) for i in range(len(pieces) - 2) if _pair(*pieces[i : i + 3])]
    counts = frozenset(i for pair in pairs for i in pair)
    made = None
    for free in (True, False):  # figures in any form, or only in that which they have here
        made = _Learning(kind, [*pieces], base, free, counts).learned(())
        if pairs and (made is None or any(map(made.stays, counts))):
            made = _Learning(kind, [*pieces], base, free, counts).learned(pairs) or made
        if made is not None:
            break
    return made


def _pair(low: str | Form, between: str | Form, high: str | Form) -> bool:
    """A step out of a total: the one is never more than the other."""
    if not (isinstance(low, Form) and isinstance(high, Form) and isinstance(between, str)):
        return False
    counts = low.shown.isdigit() and high.shown.isdigit() and int(low.shown) <= int(high.shown)
    return counts and _OVER.fullmatch(between) is not None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row's values; `metrics` taken apart."""

    values: dict[str, Any]
    metrics: dict[str, Any]


def _read(kind: type[Parser], text: str) -> _Row | None:
    """The one row that a line gives, if it is fed, gives one and that says nothing of where the line stood."""
    if not any(anchor in text for anchor in kind.anchors):
        return None
    try:
        parser = kind()
        rows = list(parser.feed(Line(text, 1, "a")))
        if len(rows) != 1 or not isinstance(rows[0], TrainStep) or parser.wants_more or list(parser.close()):
            return None
    except Exception:
        return None
    row = rows[0]
    if any(getattr(row, name) != value for name, value in Line(text, 1, "a").where().items()):
        return None
    values = {name: value for name in _FIELDS if (value := getattr(row, name)) is not None}
    shown = values.pop("metrics", None)
    metrics: dict[str, Any] = {} if shown is None else json.loads(shown)
    if not all(type(v) in (int, float) for v in metrics.values()):
        return None
    return _Row(values, metrics)


_Place = tuple[str, str]
"""Of a row: the name of a field, or of a metric; and which of the two it is."""


class _Learning:
    """State: what is known of each place so far."""

    def __init__(
        self, kind: type[Parser], pieces: list[str | Form], base: _Row, free: bool, counts: frozenset[int]
    ) -> None:
        self.kind = kind
        self.free = free
        self.counts = counts
        self.pieces = pieces
        self.base = base
        self.shown = [p if isinstance(p, str) else p.shown for p in pieces]
        self.rng = random.Random("".join(self.shown))
        self.sources: dict[_Place, Source] = {}
        self.ordered: list[tuple[int, int]] = []

    def learned(self, pairs: Sequence[tuple[int, int]]) -> Learned | None:
        """The wording; in each of `pairs` of places the first figure is never more than the second."""
        upper = {low: int(self.shown[high]) for low, high in pairs}
        lower = {high: int(self.shown[low]) for low, high in pairs}
        for i, piece in enumerate(self.pieces):
            if isinstance(piece, Form):
                known = self._place(i, piece, lower.get(i, 0), upper.get(i))
                self.pieces[i] = piece.shown if known is None else known
        self.ordered = [p for p in pairs if all(isinstance(self.pieces[i], Form) for i in p)]
        made = self._made()
        return made if made is not None and self._holds(made) else None

    def _place(self, i: int, form: Form, lower: int, upper: int | None) -> Form | None:
        """What may stand in place `i`, as widely as the parser takes it; None where it has to stay as it is."""
        if form.kind == "pad":
            pads = (form.wider(digits=most) for most in PADS if len(form.shown) <= most)
            return next((pad for pad in pads if self._explained(i, pad, pad.edges())), None)
        if form.kind != "figure":
            drawn = [form.draw(self.rng) for _ in range(6)]
            return form if self._explained(i, form, drawn) else None
        digits = form.shown.lstrip("+-").partition(".")[0].lower().partition("e")[0]
        enough = max(len(digits), 1)
        best: Form | None = None
        for width in [w for w in WIDTHS if w > enough] + [enough]:
            plain = form.wider(digits=width)
            if not form.shown.isdigit():
                plain = plain.wider(
                    point="." in form.shown, power="e" in form.shown.lower(), sign=form.shown[0] in "+-"
                )
            if self._takes(i, plain, lower, upper):
                best = plain
                break
        if best is None:
            return None
        for more in ({"point": True}, {"power": True}, {"sign": True}):
            if self.free and i not in self.counts and self._takes(i, best.wider(**more), 0, None):
                best = best.wider(**more)
        if lower or not self._explained(i, best, ["0"]):
            best = best.wider(zero=False)
        return best

    def _takes(self, i: int, form: Form, lower: int, upper: int | None) -> bool:
        rng, form = self.rng, form.wider(zero=False)
        top = 10**form.digits - 1 if upper is None else min(upper, 10**form.digits - 1)
        if lower or upper is not None:
            drawn = [str(rng.randint(max(1, min(lower, top)), max(1, top))) for _ in range(5)]
            drawn += [drawn[0].zfill(form.digits)]
        else:
            drawn = [form.draw(rng) for _ in range(6)] + form.edges()
        return self._explained(i, form, drawn)

    def _explained(self, i: int, form: Form, drawn: Iterable[str]) -> bool:
        """Whether the row stays the same but for values that are made of what stands in place `i`."""
        rows: list[tuple[str, _Row]] = []
        for text in drawn:
            row = _read(self.kind, "".join([*self.shown[:i], text, *self.shown[i + 1 :]]))
            if row is None or row.values.keys() != self.base.values.keys() or [*row.metrics] != [*self.base.metrics]:
                return False
            rows.append((text, row))
        changed: dict[_Place, Source] = {}
        for place, before, get in _values(self.base):
            if all(get(row) == before and type(get(row)) is type(before) for _, row in rows):
                known = self.sources.get(place)
                if known is not None and known.key == str(i):
                    made = known.values({str(i): [text for text, _ in rows]})
                    if not all(_same(value, before) for value in made):
                        return False
                continue
            how = self._how(place, i, form, [(self.shown[i], self.base), *rows], get)
            if how is None:
                return False
            changed[place] = how
        self.sources.update(changed)
        return True

    def _how(
        self, place: _Place, i: int, form: Form, rows: Sequence[tuple[str, _Row]], get: Callable[[_Row], Any]
    ) -> Source | None:
        known = self.sources.get(place)
        if not form.value or form.kind == "moment" or (known is not None and known.key != str(i)):
            return None
        for how, convert in CONVERSIONS.items():
            try:
                made = convert([text for text, _ in rows])
            except (ValueError, ArithmeticError):
                continue
            if all(_same(value, get(row)) for value, (_, row) in zip(made, rows, strict=True)):
                if known is not None and known.how != how:
                    continue
                return Source(str(i), how)
        return None

    def _made(self) -> Learned | None:
        slots: list[str | Slot] = []
        keys: list[str] = []
        used = {source.key for source in self.sources.values()}
        watched = {str(i) for pair in self.ordered for i in pair}
        nonzero: list[str] = []
        for i, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                slots.append(piece)
                continue
            slot = piece.slot
            if piece.kind == "moment":
                keys.append(TIME)
            elif piece.value:
                if not piece.zero:
                    nonzero.append(str(i))
                if str(i) in used or str(i) in watched or not piece.zero:
                    keys.append(str(i))
                else:
                    slot = Slot("(?:" + slot.pattern[1:], slot.letters)
            slots.append(slot)
        if keys.count(TIME) > 1 or not used:
            return None
        sources = self.sources
        columns = {name: sources["field", name] for name in self.base.values if ("field", name) in sources}
        constants = {k: v for k, v in self.base.values.items() if k not in columns and k != "framework"}
        metrics: dict[str, Source | float] = {
            name: sources.get(("metric", name)) or value for name, value in self.base.metrics.items()
        }
        return Learned(
            Wording(slots, keys),
            self.base.values["framework"],
            constants,
            columns,
            metrics,
            tuple(nonzero),
            tuple((str(low), str(high)) for low, high in self.ordered),
            tuple(self._tries()),
            frozenset(i for i, piece in enumerate(self.pieces) if isinstance(piece, str)),
        )

    def _tries(self) -> Iterator[str]:
        for _ in range(TRIES):
            texts = [p if isinstance(p, str) else p.draw(self.rng) for p in self.pieces]
            for low, high in self.ordered:
                if self.rng.random() < 0.15 and len(texts[high]) <= self._digits(low):
                    texts[low] = texts[high]  # the last step may mean something of its own
                elif int(texts[low]) > int(texts[high]):
                    texts[low], texts[high] = texts[high], texts[low]
                    if len(texts[low]) > self._digits(low) or len(texts[high]) > self._digits(high):
                        texts[low] = texts[high] = self.shown[high]
            yield "".join(texts)

    def _digits(self, i: int) -> int:
        form = self.pieces[i]
        return form.digits if isinstance(form, Form) else 0

    def _holds(self, made: Learned) -> bool:
        """Whether the parser says of each line that was made up what was learned."""
        for text in ("".join(self.shown), *made.tried):
            found, row = made.wording.match(text), _whole(self.kind, text)
            if found is None or row is None or made.odd(found):
                return False
            if Line(text, 1, "a").first_of(made.steps(found)) != row:
                return False
        return True


def _whole(kind: type[Parser], text: str) -> TrainStep | None:
    if _read(kind, text) is None:
        return None
    (row,) = kind().feed(Line(text, 1, "a"))
    return row if isinstance(row, TrainStep) else None


def _values(row: _Row) -> Iterator[tuple[_Place, Any, Callable[[_Row], Any]]]:
    for name, value in row.values.items():
        yield ("field", name), value, lambda r, name=name: r.values[name]
    for name, value in row.metrics.items():
        yield ("metric", name), value, lambda r, name=name: r.metrics[name]


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other
