"""Which of two things came first? Words of order that point back at what was said before them, and those that join two.

    The job started at [[E1.start_ts]], and after that, at [[E8.first_ts]], ...      what stands behind is the later one
    [[E5.state]] was followed by [[E5:1.state]].                                     the one ahead is the earlier one
    It throttled at [[E9.event_ts]] once rank [[E6:2.rank]] had ended.               the one ahead is the later one

Each of the two has its time: the one that is cited, or that of its row. What was only written down in a second can be anywhere in it.
LIMIT: of two rows of one answer lines and steps tell the order too; of two answers only times do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Group, clauses, held, size
from agent_tools.gate.order import LIFE, TS, ends, is_time, order
from agent_tools.references import masked
from store import lazy
from store.result import Cell

_IT = r"(?:that|it|this|them|these|those|which)\b(?! (?:rank|node|job|run|gpu|attempt|process|time|had|was|were|ended|started|began|stopped|failed)\b)"
_BACK = lazy.compile(
    rf"(?i)\b(?:(?P<late>(?:(?:right|shortly|soon|only|just|immediately|directly) )?after {_IT}|afterwards?|subsequently|thereafter|later(?! than\b))"
    rf"|(?P<early>(?:(?:right|shortly|just) )?before {_IT}|beforehand|earlier(?= *[,.;]| on\b|$)|ahead of {_IT}))"
)
"""What is said with it came after, or before, what was told last."""
_JOINS = lazy.compile(
    r"(?i)\b(?:(?P<early>(?:(?:was|were|is|being) )?followed by|preced(?:ed|es|ing)(?! by\b))"
    r"|(?P<late>(?:(?:was|were|is) )?preceded by|follow(?:ed|s|ing)(?! by\b)|(?:once|as soon as|only when|only after)\b(?=[^,;.]*\b(?:had|was|were|ended|died)\b)))"
)
"""What stands ahead came before, or after, what stands behind."""
_ALONE = lazy.compile(r"(?i)\W*$|[,.;:]|\s+(?:at|on|in|within|after|later|next|then)\b")
"""Behind a word that takes no object: `rank * followed at *`."""
_CUT = lazy.compile(r"[,;:.]\s+|\s[–—]\s|(?i:\b(?:and|but|while|whereas)\b)")
_AT = lazy.compile(r"(?i)[^.;:]{0,24}?,? (?:only )?(?:at|on) ")
_FIRST = lazy.compile(r"(?i)\b(?:came |was |is |comes )?(?P<w>first)\b(?= *[,;.]| and\b)")
_STARTED = lazy.compile(r"(?i)\b(?:start\w*|beg[aiu]n\w*|launch\w*)\b")
_OF_ROW = ("own_ts", "checkpoint_ts", "risen_ts", "signal_ts", "event_ts", "printed_ts", "since_ts", "first_ts", "ts")
"""Times of what a row is about, the more exact first."""
_SECOND = timedelta(seconds=1)
_OPEN = datetime.max.replace(tzinfo=UTC)
"""The end of a moment of which only the earliest is known."""


@dataclass(frozen=True, slots=True)
class Told:
    """Two things in an order: where the words for it stand, what is said to have come first and last, and whether it is so."""

    spans: tuple[tuple[int, int], ...]
    word: str
    first: CellValue
    last: CellValue
    so: bool | None


def sequences(text: str, ledger: Ledger) -> Iterator[Told]:
    """Each order that a text tells in such words."""
    groups = _groups(text, ledger)
    own = masked(text)
    cuts = [m.start() for m in _CUT.finditer(own) if not any(g.start <= m.start() < g.end for g in groups)]
    for word in (*_BACK.finditer(own), *_JOINS.finditer(own)):
        begin = max((c for c in cuts if c < word.start()), default=0)
        behind = [g for g in groups if g.start >= word.end()]
        alone = word[0].lower() == "followed" and bool(_ALONE.match(own, word.end()))
        back = word.re.pattern == _BACK.pattern or alone
        ahead = [g for g in groups if g.end <= (begin if back else word.start())]
        behind = [g for g in groups if g.start >= begin] if back else behind
        if not ahead or not behind:
            continue
        two = _nearest(ahead[::-1], own, cuts), _nearest(behind, own, cuts)
        if bool(word["late"]) != back:
            two = two[1], two[0]
        yield _told(word, *two, own, ledger)


def back(own: str, at: int) -> bool:
    """Whether the word of order that stands there points back at what was said before it: `after that`, `later, at *`."""
    return any(m.start() <= at < m.end() for m in _BACK.finditer(own))


def disordered(text: str, ledger: Ledger) -> str:
    """Why two things did not come in the order in which a text tells them; "" where they did, or nothing tells."""
    for told in sequences(text, ledger):
        if told.so is False:
            return f"{told.word!r}: [[{told.last.ref}]] did not come after [[{told.first.ref}]]: tell them in the order in which they came"
    return ""


def in_sequence(text: str, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a text such words stand that the times of both bear out."""
    return [span for told in sequences(text, ledger) if told.so for span in told.spans]


def untold(text: str, ledger: Ledger) -> str:
    """The word of an order that nothing tells; "" where each is told."""
    return next((told.word.lower() for told in sequences(text, ledger) if told.so is None), "")


def _groups(text: str, ledger: Ledger) -> list[Group]:
    """The groups of all clauses, by their places in the text."""
    return [Group(g.cells, c.at + g.start, c.at + g.end) for c in clauses(text, ledger) for g in c.groups]


def _nearest(groups: Sequence[Group], own: str, cuts: Sequence[int]) -> list[Group]:
    """The groups of one thing that is told: those of the part of the nearest, and the time that is told beside it."""
    near = groups[0]
    begin = max((c for c in cuts if c <= near.start), default=0)
    end = min((c for c in cuts if c >= near.end), default=len(own))
    part = [g for g in groups if begin <= g.start < end]
    last = max(part, key=lambda g: g.end)
    beside = [
        g for g in groups if g.start >= last.end and is_time(g.cells[0]) and _AT.fullmatch(own[last.end : g.start])
    ]
    return [*part, *beside[:1]]


def _told(word: re.Match[str], first: list[Group], last: list[Group], own: str, ledger: Ledger) -> Told:
    a, b = _which(first), _which(last)
    so: bool | None = None
    if a.id == b.id and not (is_time(a) and is_time(b)):
        sign = order(a, b, ledger, ends=ends(own))
        so = None if not sign else sign < 0
    elif (one := _life(a, own, first, ledger)) and (two := _life(b, own, last, ledger)):
        so = True if one[1] <= two[0] else False if one[0] >= two[1] else None
    spans = [word.span()]
    if so and a.id != b.id:
        begin, end = min(g.start for g in first), word.start()
        spans += [m.span("w") for m in _FIRST.finditer(own, begin, max(begin, end))]
    return Told(tuple(spans), word[0], a, b, so)


def _which(groups: Sequence[Group]) -> CellValue:
    """The time of a thing, else the cell that names it: whose row tells when it was."""
    times = [g for g in groups if is_time(g.cells[0])]
    return (times or groups)[-1].cells[-1]


def _life(cell: CellValue, own: str, groups: Sequence[Group], ledger: Ledger) -> tuple[datetime, datetime] | None:
    """From when to when a thing may have come; None where its row does not tell."""
    evidence = ledger.get(cell.id)
    names = [c.name for c in evidence.columns if TS.fullmatch(c.name)]
    column = next((n for n in _OF_ROW if n in names and held(ledger, cell, n) is not None), None)
    moment = cell if is_time(cell) else evidence.cell(column, cell.row) if column else None
    if moment is not None:
        span = _span(moment.value, moment.value)
        return (span[0], _OPEN) if span and moment.bound else span
    begin, end = (next((v for n in names if n in of and (v := held(ledger, cell, n)) is not None), None) for of in LIFE)
    said = own[min(g.start for g in groups) : max(g.end for g in groups) + 24]
    if ends(said) and end is not None:
        return _span(end, end)
    if _STARTED.search(said) and begin is not None:
        return _span(begin, begin)
    return _span(begin, end) if begin is not None and end is not None else None


def _span(begin: Cell, end: Cell) -> tuple[datetime, datetime] | None:
    """Two moments as times; the second is over when its last second is, unless it has a fraction."""
    if not isinstance(size(begin), str) or not isinstance(size(end), str):
        return None
    a, b = (datetime.fromisoformat(str(t).replace("Z", "+00:00")) for t in (begin, end))
    return a, b if "." in str(end) else b + _SECOND
