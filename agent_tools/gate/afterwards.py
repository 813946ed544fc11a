"""What came so much later, only after the job's end, or so long after its own start: reckoned from the times of the rows.

Training fell silent at [[E4.progress_ts]], and the job ended at [[E4.end_ts]], [[E4.quiet_min]] later.    the one less the other
Node [[E9.node]] went down only after the job had ended, at [[E9.since_ts]].                              its row counts from that end
Process [[E6.pid]] died [[E6.lived_s]] after its start.                                                  its own, by its row
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import format_cell, unit_of
from agent_tools.gate.clauses import Clause, clauses, held, job_of, size
from agent_tools.gate.order import is_time
from agent_tools.references import HOLE
from store import lazy

_LATER = lazy.compile(rf"(?i)(?P<a>{HOLE}+) (?P<w>later|afterwards|earlier)\b")
_ONLY_AFTER = lazy.compile(
    r"(?i)\b(?P<w>only after) (?:(?:the|its) (?:job|run) (?:had |was |has )?(?:ended|finished|stopped|over)|the end of (?:the|its) (?:job|run)|(?:the|its) (?:job|run)['’]s end)\b"
)
_ITS_START = lazy.compile(
    rf"(?i)\b(?:process|rank|pid|task) (?P<a>{HOLE}+) (?:had )?(?P<w>died|ended|exited|was ended|was killed) (?P<b>{HOLE}+) (?P<s>after (?:its (?:own )?start|it (?:had )?(?:begun|began|started)))(?=\W*$|,)"
)
_FEW = lazy.compile(
    rf"(?i)\b(?P<w>a few) steps (?P<way>after|before) (?:the |its )?(?:(?:last |latest )?(?:checkpoint|save|one) (?:of|at) )?step (?={HOLE})"
)
_FEWEST, _MOST = 2, 10
_DENIED = lazy.compile(r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|before)\b|n['’]t\b")
_IN = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def afterwards(text: str, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a text such words stand that the times bear out."""
    found: list[tuple[int, int]] = []
    for clause in clauses(text, ledger):
        spans = [
            *_later(clause),
            *_only_after(clause, ledger),
            *_of_its_start(clause, ledger),
            *_few_steps(clause, ledger),
        ]
        found += [(clause.at + a, clause.at + b) for a, b in spans]
    return found


def _later(clause: Clause) -> Iterator[tuple[int, int]]:
    """`at *, and * at *, * later`: as much as lies between the two times that are told last, of one row."""
    for m in _LATER.finditer(clause.own):
        span = next((g.cells[0] for g in clause.groups if g.start == m.start("a") and len(g.cells) == 1), None)
        times = [c for g in clause.groups if g.end <= m.start("a") for c in g.cells if is_time(c)][-2:]
        if span is None or len(times) != 2 or unit_of(span) not in _IN or _DENIED.search(clause.own):
            continue
        a, b = (_moment(c) for c in times)
        value = size(span.value)
        one_row = len({(c.id, c.row) for c in (span, *times)}) == 1
        if a is None or b is None or not isinstance(value, float) or not one_row:
            continue
        gap = (b - a).total_seconds() * (-1 if m["w"].lower() == "earlier" else 1)
        if gap > 0 and abs(gap - value * _IN[unit_of(span)]) <= _slack(span):
            yield m.span("w")


def _few_steps(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`step *, a few steps after step *`: two steps of one job, two to ten apart, on the side that is said."""
    for m in _FEW.finditer(clause.own):
        other = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        ahead = [
            c
            for g in clause.groups
            if g.end <= m.start()
            for c in g.cells
            if c.column in ("step", "last_step", "first_step")
        ]
        if (
            other is None
            or not ahead
            or job_of(ledger, other) != job_of(ledger, ahead[-1])
            or _DENIED.search(clause.own[: m.start()])
        ):
            continue
        x, y = size(ahead[-1].value), size(other.value)
        if (
            isinstance(x, float)
            and isinstance(y, float)
            and _FEWEST <= (x - y if m["way"].lower() == "after" else y - x) <= _MOST
        ):
            yield m.span("w")


def _slack(span: CellValue) -> float:
    """Half of what the last figure of a span stands for as it is shown, in seconds."""
    shown = format_cell(span).split(" ")[0]
    places = len(shown.partition(".")[2])
    return max(0.5, 0.5 * 10**-places * _IN[unit_of(span)])


def _moment(cell: CellValue) -> datetime | None:
    value = size(cell.value)
    return datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else None


def _only_after(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`only after the job had ended`: every row that is cited counts what it tells from the job's end on."""
    cells = [c for g in clause.groups for c in g.cells]
    late = [_after_end(c, ledger) for c in cells]
    if cells and all(v is not None and v > 0 for v in late) and not _DENIED.search(clause.own):
        yield from (m.span("w") for m in _ONLY_AFTER.finditer(clause.own))


def _after_end(cell: CellValue, ledger: Ledger) -> float | None:
    """How long after the job's end it came that a row tells, by what it counts up to that end or from it on."""
    after, before = size(held(ledger, cell, "after_end_s")), size(held(ledger, cell, "before_end_s"))
    return after if isinstance(after, float) else -before if isinstance(before, float) else None


def _of_its_start(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`process * died * after its start`: how long its own row says that it lived; `died`, where it did not exit by itself with a zero."""
    for m in _ITS_START.finditer(clause.own):
        first, span = (next((g for g in clause.groups if g.start == m.start(w)), None) for w in "ab")
        if first is None or span is None or len(first.cells) != 1 or len(span.cells) != 1:
            continue
        a, b = first.cells[0], span.cells[0]
        if (a.id, a.row) != (b.id, b.row) or b.column != "lived_s":
            continue
        ended = held(ledger, a, "exit_signal") or held(ledger, a, "exit_code")
        if m["w"].lower() in ("ended", "exited") or ended:
            yield m.span("s")
            yield from [m.span("w")] if m["w"].lower() == "died" else []
