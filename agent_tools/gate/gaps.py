"""How long after one thing came the other? A span in words between two times that a clause cites is reckoned from them.

The job failed at [[E5.end_ts]], less than a minute after the XID at [[E6.event_ts]].
It ran for less than a minute, [[E5.elapsed_s]].
The XID came at [[E6.event_ts]], an hour before the job failed at [[E5.end_ts]].          37 seconds: refused
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from agent_tools.evidence import Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import Clause, size
from agent_tools.gate.denials import DENIED
from agent_tools.gate.grounds import COUNTED, NUMBER_WORDS
from agent_tools.gate.multiples import reckoned
from agent_tools.gate.order import is_time
from agent_tools.gate.tallies import more_of
from agent_tools.gate.words import without
from agent_tools.references import HOLE
from store import lazy

_GAP = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?P<h>less than|more than|about|roughly|around|nearly|almost|just over|just under|within) )?(?P<n>half an?|an?|{COUNTED}) (?P<unit>second|minute|hour|day)s?) (?P<way>after|before)\b"
)
_LASTED = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?P<h>less than|more than|about|roughly|around|nearly|almost|just over|just under|within) )?(?P<n>half an?|an?|{COUNTED}) (?P<unit>second|minute|hour|day)s?)[,:]? ?\(?(?={HOLE})"
)
_UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_LONG = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SLACK, _ABOUT, _NEXT = 0.05, 0.15, 1.5


def gaps(clause: Clause) -> Iterator[tuple[int, int]]:
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
        said = _number(m["n"].lower()) * _UNITS[m["unit"].lower()]
        if _near(gap if late else -gap, said, (m["h"] or "").lower()):
            yield m.span("w")
    for m in () if DENIED.search(clause.own) else _LASTED.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        value = size(cell.value) if cell and unit_of(cell) in _LONG else None
        said = _number(m["n"].lower()) * _UNITS[m["unit"].lower()]
        if cell and isinstance(value, float) and _near(value * _LONG[unit_of(cell)], said, (m["h"] or "").lower()):
            yield m.span("w")


def unreckoned(clause: Clause, ledger: Ledger) -> str:
    """A clause with its references masked, and without the parts, multiples, spans and tallies that were reckoned: they compare nothing more."""
    return without(clause.own, [*reckoned(clause, ledger), *gaps(clause), *more_of(clause, ledger)])


def _number(word: str) -> float:
    return 0.5 if word.startswith("half") else 1.0 if word in ("a", "an") else float(NUMBER_WORDS[word])


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
