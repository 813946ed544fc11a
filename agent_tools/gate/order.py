"""In which order did it come? "Then", "before" and "the last" are held against the times of the rows, and their lines and steps.

Rank [[E6:3.rank]] ended before rank [[E6.rank]]      the rows' times say otherwise
The last loss was [[E7.loss]]                         the largest of a curve, and its first
"""

from __future__ import annotations

import re
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, Group, held, size
from store import lazy

TS = lazy.compile(r"ts|\w+_ts")
_PLACES = ("line_no", "first_line", "bin", "step", "first_step", "epoch", "attempt")
"""What tells the order of rows that have no time."""
_LISTED = "launcher_summary"
"""What a launcher lists of all that failed when everything is over: its lines do not stand in the order in which they failed."""
_ENDED = lazy.compile(r"(?i)\b(?:end(?:ed|s)?|finish\w*|stop\w*|died|exit\w*|complet\w*|over)\b")
_OF_END = lazy.compile(r"(?:^|_)(?:end|ended|finish\w*|stop\w*)(?:_|$)")
_GOES = lazy.compile(r"(?i)\b(?:to|then|later|until|before|next|followed|afterwards?)\b")
_NEXT = lazy.compile(r"(?i)\b(?:then|later|next|followed by|afterwards?)\b")
_NOT_ON = lazy.compile(
    r"(?i)[.;]|\bback\b|\b(?:before|ahead of) (?:that|it|this|them)\b|\bbeforehand\b|\bpreceded by\b"
)
"""Between two of which the one behind is not told as the later one."""
_EARLY, _LATE = lazy.compile(r"^(?:first|start)_(\w+)$"), lazy.compile(r"^(?:last|end)_(\w+)$")
_WHICH = lazy.compile(r"^(first|last|best|highest|lowest|min|max|start|end)_(\w+)$")
_PLACES_OF = ("step", "epoch", "line")
"""Which of many a measure is, and where: `last_loss` is that of `last_step`."""
LIFE = (("start_ts", "begin_ts"), ("end_ts",))
_EDGE = lazy.compile(
    r"(?i)\b(?:before|after|until|since|from|to|submitted|eligible|wait\w*|queued?|requeued?|then|later|earlier|by)\b"
)
"""What may lie outside of a life."""
_EDGE_OF = lazy.compile(r"(?i)\b(?:before|after|until|since|than|then|earlier|later)\b|[.;]")
_SIDE = lazy.compile(r"(?i)\b(after|before) (?:[a-z]+ ){0,3}$")
_AT = lazy.compile(r"(?i),? (?:at|on) ")
"""Between a thing and a moment that is told beside it."""
_OWN_TIMES = ("checkpoint_ts", "risen_ts", "signal_ts", "event_ts")
"""Times of what a row is about: a save, a rise, a signal, an event."""


def is_time(cell: CellValue) -> bool:
    """Whether a cell is a point in time."""
    return bool(TS.fullmatch(cell.column)) and isinstance(size(cell.value), str)


def order(a: CellValue, b: CellValue, ledger: Ledger, *, ends: bool = False) -> int | None:
    """-1 where the row of `a` came before that of `b`, 1 after it, 0 where they are level; None where nothing tells.

    `ends`: by when they ended, where that is known.
    """
    if a.id != b.id:
        return None
    names = [c.name for c in ledger.get(a.id).columns]
    times = sorted((n for n in names if TS.fullmatch(n)), key=lambda n: bool(_OF_END.search(n)) != ends)
    listed = held(ledger, a, "kind") == held(ledger, b, "kind") == _LISTED
    listed = listed or held(ledger, a, "source") == held(ledger, b, "source") == "launcher"
    if held(ledger, a, "file") == held(ledger, b, "file") and not listed:
        times += [n for n in _PLACES if n in names]
    level: int | None = None
    for column in times:
        first, second = size(held(ledger, a, column)), size(held(ledger, b, column))
        if column == a.column or first is None or second is None:
            continue
        if first != second and not _in_one_second(first, second):
            return -1 if first < second else 1  # type: ignore[operator]
        level = 0
    return level


def _in_one_second(first: float | str, second: float | str) -> bool:
    """Whether two times are of one second, of which one is known to no more than that."""
    if not isinstance(first, str) or not isinstance(second, str):
        return False
    return first[:19] == second[:19] and ("." in first) != ("." in second)


def ends(own: str) -> bool:
    """Whether a clause speaks of ends."""
    return bool(_ENDED.search(own))


def outside(word: str, cell: CellValue, moment: CellValue, ledger: Ledger) -> bool:
    """Whether every time of a cell's row lies on the other side of a moment than "before" or "after" says."""
    names = [c.name for c in ledger.get(cell.id).columns if TS.fullmatch(c.name)]
    times = [t for n in names if isinstance(t := size(held(ledger, cell, n)), str)]
    early = word.lower() == "before"
    return bool(times) and all(t > str(moment.value) if early else t < str(moment.value) for t in times)


def backwards(clause: Clause, ledger: Ledger) -> str:
    """Why a clause tells things in an order in which they did not come, or that nothing tells; "" where it does not."""
    own = clause.own
    for i, first in enumerate(clause.groups):
        for second in clause.groups[i + 1 :]:
            between = own[first.end : second.start]
            if not _GOES.search(between) or _NOT_ON.search(between):
                continue
            a, b = first.cells[-1], second.cells[0]
            told = _NEXT.search(between)
            if _turned(first, second, told is not None, ledger, ends(own)):
                return f"[[{a.ref}]] comes after [[{b.ref}]] in time: tell them in the order in which they came"
            if told and _untold(first, second, ledger):
                return f"{told[0]!r}: nothing tells whether [[{a.ref}]] came before [[{b.ref}]]; cite their times, or leave it out"
    return ""


def misplaced(clause: Clause, ledger: Ledger) -> str:
    """Why a moment is not on that side of a thing on which a clause puts it (`after [[signal_name]] at [[first_ts]]`); "" where it is.

    The time is the thing's own, or that of what came before or after it: it is false in both readings where it lies on the other side.
    """
    for thing, moment in pairwise(clause.groups):
        a, b = thing.cells[-1], moment.cells[0]
        word = _SIDE.search(clause.own[: thing.start])
        if word is None or not is_time(b) or is_time(a) or not isinstance(a.value, str):
            continue
        if _AT.fullmatch(clause.own[thing.end : moment.start]) and outside(
            "before" if word[1].lower() == "after" else "after", a, b, ledger
        ):
            return f"[[{b.ref}]] is not {word[1].lower()} [[{a.ref}]]: tell them in the order in which they came"
    return ""


def _turned(first: Group, second: Group, told: bool, ledger: Ledger, ended: bool) -> bool:
    a, b = first.cells[-1], second.cells[0]
    if a.column == b.column:
        if not told and (first.subject or size(a.value) is None):
            return False
        return order(a, b, ledger, ends=ended) == 1
    x, y = size(a.value), size(b.value)
    if told and isinstance(x, str) and isinstance(y, str):
        return x > y
    late, early = _LATE.match(a.column), _EARLY.match(b.column)
    return bool((a.id, a.row) == (b.id, b.row) and late and early and late[1] == early[1])


def _untold(first: Group, second: Group, ledger: Ledger) -> bool:
    a, b = first.cells[-1], second.cells[0]
    return first.subject and a.column == b.column and a.id == b.id and order(a, b, ledger) is None


def astray(clause: Clause, ledger: Ledger) -> str:
    """Why a time cannot be of the attempt or the process that a clause puts it to: it lies outside of its life; "" where it can."""
    for first, second in pairwise(clause.groups):
        a, other = (first, second) if first.column == "attempt" else (second, first)
        attempt, cell = a.cells[0], other.cells[0]
        when = _own_moment(cell, ledger)
        if a.column != "attempt" or not when or attempt.id == cell.id:
            continue
        begin, end = held(ledger, attempt, "start_ts"), held(ledger, attempt, "end_ts")
        if begin is None or end is None or _EDGE_OF.search(clause.own[first.end : second.start]):
            continue
        if not str(begin) <= when <= str(end):
            return f"[[{cell.ref}]] lies outside of the life of [[{attempt.ref}]]: cite the one that it is of"
    for i, group in enumerate(clause.groups[1:], 1):
        a, moment = clause.groups[i - 1].cells[-1], group.cells[0]
        if (
            a.column not in ("attempt", "rank", "pid")
            or not is_time(moment)
            or (a.id, a.row) == (moment.id, moment.row)
        ):
            continue
        begin, end = (next((t for n in names if (t := held(ledger, a, n))), None) for names in LIFE)
        if begin is None or end is None or _EDGE.search(clause.own[: group.start]):
            continue
        if not str(begin) <= str(moment.value) <= str(end):
            return f"[[{moment.ref}]] lies outside of the life of [[{a.ref}]]: cite the one that it is of"
    return ""


def _own_moment(cell: CellValue, ledger: Ledger) -> str:
    """When what a cell's row is about came, where it has a time of its own; "" where it has not."""
    for column in _OWN_TIMES:
        if isinstance(value := size(held(ledger, cell, column)), str):
            return value
    return ""


def mispaired(clause: Clause, ledger: Ledger) -> str:
    """Why a measure is not that of the step beside it (`step [[last_step]] had a loss of [[first_loss]]`); "" where it is."""
    for i, place in enumerate(clause.groups):
        where = _WHICH.match(place.cells[0].column)
        if where is None or where[2] not in _PLACES_OF:
            continue
        for other in (*clause.groups[max(i - 1, 0) : i], *(clause.groups[i + 1 : i + 2] if i == 0 else ())):
            a, b = place.cells[0], other.cells[-1]
            what = _WHICH.match(b.column)
            between = clause.own[min(place.end, other.end) : max(place.start, other.start)]
            if what is None or what[1] == where[1] or what[2] in _PLACES_OF or (a.id, a.row) != (b.id, b.row):
                continue
            if re.search(r"(?i)[,;:]|\b(?:and|to|from|until|then|first|last|best|highest|lowest)\b", between):
                continue
            if held(ledger, a, f"{where[1]}_{what[2]}") != b.value:
                return f"[[{b.ref}]] is not that of [[{a.ref}]]: cite the one that is"
    return ""


def at_end(cell: CellValue, ledger: Ledger, *, last: bool) -> bool:
    """Whether a cell's row is the last of its answer (or the first), by time, line or step."""
    evidence = ledger.get(cell.id)
    if evidence.truncated or len(evidence.rows) < 2:
        return False
    rows = [evidence.cell(cell.column, r) for r in range(len(evidence.rows)) if r != cell.row]
    signs = [order(cell, other, ledger) for other in rows]
    return any(signs) and all(s in (0, 1 if last else -1) for s in signs)
