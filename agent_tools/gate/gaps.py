"""How long after one thing came the other? A span in words between two times that a clause cites is reckoned from them.

The job failed at [[E5.end_ts]], less than a minute after the XID at [[E6.event_ts]].
It ran for less than a minute, [[E5.elapsed_s]].
The XID came at [[E6.event_ts]], an hour before the job failed at [[E5.end_ts]].          37 seconds: refused
The exception in line [[E7.line_no]] stands two lines after the save in line [[E7:1.line_no]].
Four checkpoints were saved about twelve minutes apart, the last at [[E7:4.ts]].            all that the answer has of that kind
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import Clause, held, size
from agent_tools.gate.denials import DENIED
from agent_tools.gate.grounds import COUNTED, NUMBER_WORDS
from agent_tools.gate.multiples import reckoned
from agent_tools.gate.nearness import one_log
from agent_tools.gate.order import is_time
from agent_tools.gate.scope import whole
from agent_tools.gate.tallies import more_of
from agent_tools.gate.words import stems, without
from agent_tools.references import HOLE
from store import lazy

_NUMBER = rf"half an?|(?:a|three) quarters? of an|a few|an?|{COUNTED}"
_GAP = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?P<h>less than|more than|about|roughly|around|nearly|almost|just over|just under|within) )?(?P<n>{_NUMBER}) (?P<unit>second|minute|hour|day)s?) (?P<way>after|before)\b"
)
_LASTED = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?P<h>less than|more than|about|roughly|around|nearly|almost|just over|just under|within) )?(?P<n>{_NUMBER}) (?P<unit>second|minute|hour|day)s?)(?P<q> in the queue)?[,:]? ?\(?(?={HOLE})"
)
_PLACES = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?:only|just|exactly) )?(?P<n>{COUNTED}) (?P<unit>step|line)s? (?P<way>before|after|later|earlier))\b"
)
_OF_PLACE = {"step": lazy.compile(r"^(?:\w+_)?step$"), "line": lazy.compile(r"^(?:\w+_)?line(?:_no)?$")}
_APART = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?P<h>about|roughly|around|some) )?(?P<n>{COUNTED}) (?P<unit>second|minute|hour)s? apart)\b"
)
_UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_LONG = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SLACK, _ABOUT, _NEXT = 0.05, 0.15, 1.5
_FEW = (1.5, 10.0)


def gaps(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause a span is told in words that the two times around it bear out, on the side that is said."""
    times = [g for g in clause.groups if is_time(g.cells[0])]
    for m in () if DENIED.search(clause.own) else _GAP.finditer(clause.own):
        ahead = [g.cells[-1] for g in times if g.end <= m.start()]
        behind = [g.cells[0] for g in times if g.start >= m.end()]
        if not ahead and len(behind) > 1:
            ahead, behind = behind[1:2], behind[:1]  # "Ten minutes after * it came at *"
        if not ahead or not behind or ahead[-1].bound or behind[0].bound:
            continue
        first, second = (datetime.fromisoformat(str(c.value).replace("Z", "+00:00")) for c in (ahead[-1], behind[0]))
        gap = (first - second).total_seconds()
        late = m["way"].lower() == "after"
        if _so_long(gap if late else -gap, m):
            yield m.span("w")
    for m in () if DENIED.search(clause.own) else _LASTED.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        value = size(cell.value) if cell and unit_of(cell) in _LONG else None
        waited = cell is not None and (m["q"] is None or "wait" in cell.column)
        if cell and waited and isinstance(value, float) and _so_long(value * _LONG[unit_of(cell)], m):
            yield m.span("w")
    yield from () if DENIED.search(clause.own) else _places(clause, ledger)
    yield from () if DENIED.search(clause.own) else _apart(clause, ledger)


def _places(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`ten steps after step *`, `two lines later, in line *`: the one less the other, of one log."""
    for m in _PLACES.finditer(clause.own):
        of = [g for g in clause.groups if _OF_PLACE[m["unit"].lower()].match(g.column)]
        ahead = [g.cells[-1] for g in of if g.end <= m.start()]
        behind = [g.cells[0] for g in of if g.start >= m.end()]
        if m["way"].lower() in ("later", "earlier"):
            ahead, behind = behind[:1], ahead[-1:]
        elif not ahead and len(behind) > 1:
            ahead, behind = behind[1:2], behind[:1]  # "Ten steps after step * the last one, *, came"
        if not ahead or not behind or not one_log(ahead[-1], behind[0], ledger):
            continue
        if m["unit"].lower() == "line" and not all(_named(c, clause, ledger) for c in (ahead[-1], behind[0])):
            continue
        x, y = size(ahead[-1].value), size(behind[0].value)
        late = m["way"].lower() in ("after", "later")
        if isinstance(x, float) and isinstance(y, float) and (x - y if late else y - x) == _number(m["n"].lower()):
            yield m.span("w")


def _named(cell: CellValue, clause: Clause, ledger: Ledger) -> bool:
    """Whether what stands in a line is called, ahead of it, what its row is: a kind of event."""
    at = next(i for i, g in enumerate(clause.groups) if any(c is cell for c in g.cells))
    ahead = clause.own[clause.groups[at - 1].end if at else 0 : clause.groups[at].start]
    of = [held(ledger, cell, n) for n in ("kind", "name", "event")]
    return not any(of) or bool(stems(" ".join(str(v) for v in of if v)) & stems(ahead))


def _apart(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`about twelve minutes apart`: so long lies between any two, one after the other, of all rows of that kind."""
    cells = [c for g in clause.groups for c in g.cells if is_time(c)]
    for m in _APART.finditer(clause.own):
        if not cells or len({(c.id, c.column) for c in cells}) != 1 or not whole(ledger.get(cells[0].id), ledger):
            continue
        evidence, column = ledger.get(cells[0].id), cells[0].column
        names = [n for n in ("kind", "name", "event") if n in {c.name for c in evidence.columns}]
        alike = {tuple(evidence.value(n, c.row) for n in names) for c in cells}
        of = [r for r in range(len(evidence.rows)) if tuple(evidence.value(n, r) for n in names) in alike]
        times = sorted(str(evidence.value(column, r)) for r in of if evidence.value(column, r) is not None)
        at = [datetime.fromisoformat(t.replace("Z", "+00:00")) for t in times]
        between = [(b - a).total_seconds() for a, b in pairwise(at)]
        if len(alike) == 1 and len(times) == len(of) > 1 and all(_so_long(b, m) for b in between):
            yield m.span("w")


def unreckoned(clause: Clause, ledger: Ledger) -> str:
    """A clause with its references masked, and without the parts, multiples, spans and tallies that were reckoned: they compare nothing more."""
    return without(clause.own, [*reckoned(clause, ledger), *gaps(clause, ledger), *more_of(clause, ledger)])


def _number(word: str) -> float:
    if word.endswith("of an"):
        return 0.75 if word.startswith("three") else 0.25
    return 0.5 if word.startswith("half") else 1.0 if word in ("a", "an") else float(NUMBER_WORDS[word])


def _so_long(gap: float, m: re.Match[str]) -> bool:
    """Whether a span in seconds is as long as a sentence says in words."""
    word, unit = m["n"].lower(), _UNITS[m["unit"].lower()]
    if word == "a few":
        return _FEW[0] * unit <= gap <= _FEW[1] * unit
    return _near(gap, _number(word) * unit, (m["h"] or "").lower())


def _near(gap: float, said: float, hedge: str) -> bool:
    match hedge:
        case "less than" | "within":
            return 0 < gap < said
        case "more than":
            return said < gap < said * _NEXT
        case "nearly" | "almost" | "just under":
            return said * (1 - _ABOUT) <= gap < said
        case "just over":
            return said < gap <= said * (1 + _ABOUT)
        case "":
            return abs(gap - said) <= said * _SLACK
        case _:
            return abs(gap - said) <= said * _ABOUT
