"""Where did a figure go? `The loss fell to *` names one figure, and the row has the other: where it came from.

    The loss fell to [[E7.last_loss]].                                 the row's first loss is higher
    The clock dropped to [[E8.sm_clock_throttled_mhz]] against [[E8.sm_clock_free_mhz]] otherwise.      two of one row

To fall to somebody is to be lost to him, and states a cause; a measure that falls to a figure states none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import Clause, Group, held, size
from agent_tools.gate.multiples import alike
from agent_tools.gate.order import order
from agent_tools.references import HOLE
from store import lazy

_MEASURE = (
    r"(?:loss(?:es)?|norm|rate|gradient|temperature|clocks?|power|throughput|speed|pace|usage|activity|memory|utili[sz]ation|perplexity|accuracy"
    r"|share)"
)
_DOWN = r"(?:(?:was|is|had been) down|fell|fallen|falls|falling|dropped|drops|declined|decreased|sank|sunk|went down|gone down|came down|come down)"
_UP = r"(?:(?:was|is|had been) up|rose|risen|rises|rising|climbed|climbs|grew|grown|increased|went up|gone up|jumped)"
_GOES = lazy.compile(
    rf"(?i)\b{_MEASURE}\b[^,;:.{HOLE}]{{0,40}}?\b(?P<w>(?P<down>{_DOWN})|{_UP}) (?:as low as |as high as |back |up |down )?(?:to )(?:only |just |about )?(?={HOLE})"
)
FALLS = lazy.compile(
    rf"(?i)(\b{_MEASURE}\b[^,;:.*{HOLE}]{{0,40}}?)\b(?:fell to)(?= (?:only |just |about )?(?:[*{HOLE}\[]|\s|[.,;]|$|(?:a|one|two|three) (?:half|thirds?|quarters?|fifths?)\b))"
)
"""A measure that falls to a figure: no cause."""
_WHICH = lazy.compile(r"^(?P<e>last|end|min|lowest|best|max|highest)_(?P<what>\w+)$")
_LOW, _HIGH = frozenset({"last", "end", "min", "lowest", "best"}), frozenset({"last", "end", "max", "highest"})
_SPOILT = ("nan_losses", "nan_grads", "bad_points", "trailing_bad")
"""Columns of how many reports were no figures: where there were some, a last figure says nothing of the way."""
_AGAINST = lazy.compile(
    r"(?i)^[^.;:]{0,40}?,? (?:against|from|compared (?:to|with)|instead of|down from|up from) (?:about )?$"
)
_GOING = lazy.compile(
    r"(?i)\b(?:was|were|a) (?:still )?(?P<w>(?P<down>falling|dropping|decreasing|sinking)|rising|growing|climbing|increasing)\b"
)
_THEN = lazy.compile(
    rf"(?i)\b(?:and|but),? (?:then )?(?P<w>(?P<down>{_DOWN})|{_UP}) (?:back )?(?:up |down )?to (?={HOLE})"
)
_STILL = lazy.compile(
    rf"(?i)\b{_MEASURE}\b[^,;:.{HOLE}]{{0,24}}?\b(?:was|were) still (?P<w>(?P<down>falling|dropping|decreasing)|rising|growing|climbing|increasing),? to (?={HOLE})"
)
_FALLING = lazy.compile(
    rf"(?i)\b{_MEASURE} was still (?P<w>falling|dropping|decreasing|going down)[:;,] the last (?:one|loss|report|value),? (?P<a>{HOLE}+),? (?:is|was) (?P<v>lower|smaller) than the first(?: one)?,? (?P<b>{HOLE}+)\W*$"
)
_HARDLY = lazy.compile(
    rf"(?i)\b{_MEASURE}\b[^,;:.{HOLE}]{{0,24}}?\b(?P<a>barely|hardly|scarcely) (?P<b>moved|changed|fell|improved)\b\W*(?:from )?(?={HOLE}+ to {HOLE}+\W*$)"
)
_LITTLE = 0.01
_ALL_THE_WAY = lazy.compile(r"(?i)\b(?:end|throughout|always|all|whole|entire|every|over)\b")
"""More than the rows that are cited."""
_PLACE = lazy.compile(r"(?:^|_)(?:step|epoch|line|line_no|bin)(?:_|$)")
_DENIED = lazy.compile(r"(?i)\b(?:no|not|never|neither|nor|without|cannot)\b|n['’]t\b")


def courses(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause a figure is told to have gone to what the row bears out, by where it came from."""
    found: list[tuple[int, int]] = []
    own = clause.own
    if _DENIED.search(own):
        return found
    for m in _GOES.finditer(own):
        at = next((i for i, g in enumerate(clause.groups) if g.start == m.end()), None)
        if at is None or len(clause.groups[at].cells) != 1:
            continue
        cell = clause.groups[at].cells[0]
        behind = clause.groups[at + 1] if at + 1 < len(clause.groups) else None
        other: CellValue | None = None
        if behind and len(behind.cells) == 1 and _AGAINST.fullmatch(own[clause.groups[at].end : behind.start]):
            other = behind.cells[0]
        begin = size(other.value) if other is not None and _akin(cell, other) else _begin(cell, bool(m["down"]), ledger)
        value = size(cell.value)
        if isinstance(begin, float) and isinstance(value, float) and (value < begin if m["down"] else value > begin):
            found.append(m.span("w"))
    for m in _THEN.finditer(own):
        at = next((i for i, g in enumerate(clause.groups) if g.start == m.end()), None)
        cell = clause.groups[at].cells[0] if at is not None and len(clause.groups[at].cells) == 1 else None
        best = _from_best(cell, clause.groups[:at], bool(m["down"])) if cell is not None else None
        value = size(cell.value) if cell is not None else None
        if best is not None and isinstance(value, float) and (value < best if m["down"] else value > best):
            found.append(m.span("w"))
    return [
        *found,
        *_steadily(clause, ledger),
        *_hardly(clause),
        *_to_the_last(clause, ledger),
        *_falling(clause, ledger),
    ]


def turned(clause: Clause) -> str:
    """Why a figure did not go from the one before it as a clause says (`reached *, and then fell to *`); "" where it did."""
    for m in _THEN.finditer(clause.own):
        at = next((i for i, g in enumerate(clause.groups) if g.start == m.end()), None)
        cell = clause.groups[at].cells[0] if at is not None and len(clause.groups[at].cells) == 1 else None
        ahead = [c for g in clause.groups[:at] for c in g.cells]
        before = [
            c
            for c in ahead
            if cell and (c.id, c.row) == (cell.id, cell.row) and alike(c, cell) and c.column != cell.column
        ]
        x, y = (size(before[-1].value), size(cell.value)) if before and cell else (None, None)
        if cell and isinstance(x, float) and isinstance(y, float) and (y > x if m["down"] else y < x):
            return f"{m['w']!r} is not what [[{before[-1].ref}]] and [[{cell.ref}]] show: turn it round, or leave the direction out"
    return ""


def _from_best(cell: CellValue, ahead: Sequence[Group], down: bool) -> float | None:
    """Where `reached its best value, *, and then climbed to *` comes from: the best of the same measure and row; None elsewhere."""
    which = _WHICH.match(cell.column)
    if which is None or which["e"] not in ("last", "end"):
        return None
    names = [f"{e}_{which['what']}" for e in (("highest", "max") if down else ("best", "lowest", "min"))]
    own = [c for g in ahead for c in g.cells if c.column in names and (c.id, c.row) == (cell.id, cell.row)]
    value = size(own[-1].value) if own else None
    return value if isinstance(value, float) else None


def _hardly(clause: Clause) -> Iterator[tuple[int, int]]:
    """`barely moved: from * to *`: by less than a hundredth."""
    m = _HARDLY.search(clause.own)
    ends = [g.cells[0] for g in clause.groups if m and g.start >= m.end() and len(g.cells) == 1]
    if m is None or len(ends) != 2 or not alike(*ends) or (ends[0].id, ends[0].row) != (ends[1].id, ends[1].row):
        return
    x, y = (size(c.value) for c in ends)
    if isinstance(x, float) and isinstance(y, float) and abs(x - y) < _LITTLE * max(abs(x), abs(y)):
        yield m.span("a")
        yield m.span("b")


def _to_the_last(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`was still falling, to * at the last report`: the last is the lowest of all, and lower than the first."""
    for m in _STILL.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        which = _WHICH.match(cell.column) if cell else None
        if cell is None or which is None or which["e"] != "last" or any(held(ledger, cell, n) for n in _SPOILT):
            continue
        best, first = (held(ledger, cell, f"{n}_{which['what']}") for n in ("min" if m["down"] else "max", "first"))
        x, y = size(best), size(first)
        if isinstance(x, float) and x == size(cell.value) and isinstance(y, float) and (x < y if m["down"] else x > y):
            yield m.span("w")


def _falling(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`was still falling: the last one, *, is lower than the first, *`: lower than it, and than every other."""
    m = _FALLING.search(clause.own)
    ends = [g.cells[0] for n in "ab" for g in clause.groups if m and g.start == m.start(n)]
    if m is None or len(ends) != 2 or (ends[0].id, ends[0].row) != (ends[1].id, ends[1].row) or not alike(*ends):
        return
    best = size(held(ledger, ends[0], f"best_{ends[0].column.partition('_')[2]}"))
    x, y = (size(c.value) for c in ends)
    low = isinstance(x, float) and isinstance(y, float) and isinstance(best, float) and x < y and x <= best
    if low and ends[0].column.startswith(("last_", "end_")) and not any(held(ledger, ends[0], n) for n in _SPOILT):
        yield m.span("w")
        yield m.span("v")


def _steadily(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`was falling: * at step *, * at step *`: figures of one column, in the order of their rows, each below the one before it."""
    for m in _GOING.finditer(clause.own) if not _ALL_THE_WAY.search(clause.own) else ():
        behind = [
            c for g in clause.groups if g.start >= m.end() for c in g.cells if unit_of(c) or not _of_order(c.column)
        ]
        if len(behind) < 2 or any(c.column != behind[0].column or c.id != behind[0].id for c in behind):
            continue
        values = [size(c.value) for c in behind]
        rows = [c.row for c in behind]
        numbers = [v for v in values if isinstance(v, float)]
        told = all(order(a, b, ledger) == -1 for a, b in pairwise(behind)) and rows == sorted(rows)
        if len(numbers) != len(values) or not told:
            continue
        if all(a > b if m["down"] else a < b for a, b in pairwise(numbers)):
            yield m.span("w")


def _of_order(column: str) -> bool:
    """Whether a column says where in a run something stands."""
    return _PLACE.search(column) is not None


def _akin(a: CellValue, b: CellValue) -> bool:
    """Whether two figures are one measure's of one row: of one unit, in names that begin and end alike."""
    first, second = a.column.split("_"), b.column.split("_")
    alike = first[0] == second[0] and first[-1] == second[-1] and len(first) == len(second)
    return (a.id, a.row) == (b.id, b.row) and alike and unit_of(a) == unit_of(b) and a.column != b.column


def _begin(cell: CellValue, down: bool, ledger: Ledger) -> float | None:
    """Where the row says that a figure came from; None where it does not, or where not all that was reported were figures."""
    which = _WHICH.match(cell.column)
    if which is None or which["e"] not in (_LOW if down else _HIGH):
        return None
    if which["e"] not in ("max", "highest") and any(held(ledger, cell, n) for n in _SPOILT):
        return None
    names = ("start", "first") if which["e"] == "end" else ("first", "start")
    values = [size(held(ledger, cell, f"{n}_{which['what']}")) for n in names]
    return next((v for v in values if isinstance(v, float)), None)


def without_falls(text: str) -> str:
    """The text without the `fell to` of a measure, which states no cause."""
    return FALLS.sub(lambda m: re.sub(r"\S", "~", m[0]), text)
