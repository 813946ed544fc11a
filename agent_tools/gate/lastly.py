"""Which attempt the log is of, how many came before it, and what of the limit was allowed or used up.

The loss of the last attempt fell from [[E7.start_loss]] to [[E7.end_loss]].      the job's log reports of that attempt alone
The two earlier attempts together held [[E4.earlier_gpu_hours]].                the row counts three in all
The job used up [[E2.limit_share]] of the [[E2.time_limit_s]] that it was allowed.    its share of that very limit
It used all of its [[E2.time_limit_s]].                                         a share of one
All [[E2.node_count]] nodes were allocated.                                      as many as accounting counts
The program failed with [[E6.name]].                                           an exception that its row calls fatal
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held, job_of, size
from agent_tools.gate.denials import QUALIFIED
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.scope import last_attempt
from agent_tools.gate.tries import attempt_of
from agent_tools.references import HOLE
from store import lazy

_LAST = lazy.compile(
    r"(?i)\b(?:of|in|by) the (?P<w>last|latest|final) attempt\b|^\W*the (?P<v>last|latest|final) attempt\b"
)
_EARLIER = lazy.compile(rf"(?i)\bthe (?P<n>{SEVERAL}) (?:earlier|previous) attempts(?: together)?\b")
_ALLOWED = lazy.compile(rf"(?i){HOLE},? (?P<w>(?:that )?(?:it|the job|the run) was (?:allowed|given|granted))\b")
_WAS_ALLOWED = lazy.compile(rf"(?i)\b(?P<w>(?:was|is) (?:only )?(?:allowed|given|granted)) \(?(?={HOLE})")
_WERE_ALLOWED = lazy.compile(rf"(?i)(?P<c>{HOLE}+) (?:(?:were|was|are|is|had been) )?(?P<w>allowed|granted)\b")
_ALL_OF = lazy.compile(rf"(?i)\b(?:used|used up|ran for|took) (?P<w>all) of (?:its|the) (?P<c>{HOLE}+)")
_ALL_NODES = lazy.compile(
    rf"(?i)\b(?P<w>all)(?: of)?(?: its| the)? (?P<c>{HOLE}+|{SEVERAL}) (?P<noun>nodes|gpus)(?: (?:of|on) {HOLE}+)? (?:were|had been) (?:allocated|held|given|the job['’]s)\b"
)
_FAILED_WITH = lazy.compile(
    rf"(?i)\b(?:program|script|job|run|training|it) (?:then )?(?P<w>failed with|crashed with|died with) (?:an? )?(?={HOLE})"
)
_ELSEWHEN = lazy.compile(r"(?i)\b(?:before|after|until|when|while|since|because|by)\b")
"""Of an exception's time and reason its row alone tells."""
_CLOSE = lazy.compile(rf"(?i){HOLE},? (?P<w>close to|near) its (?:best|lowest),? (?={HOLE})")
_JOINED = lazy.compile(r"(?i), but\b")
"""Joins two things, and qualifies neither."""
_LIMITS = ("time_limit_s", "limit_h")
_OF_LOG = lazy.compile(r"^(?:loss|train|save|reward)_")
_FULL, _NEAR, _TWO = 0.99, 0.02, 2


def lastly(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out."""
    cells = [c for g in clause.groups for c in g.cells]
    if not cells or QUALIFIED.search(_JOINED.sub(",", clause.own)):
        return
    yield from _attempts(clause, cells, ledger)
    yield from _of_limit(clause, cells, ledger)
    for m in _ALL_NODES.finditer(clause.own):
        column = "gpus" if m["noun"].lower() == "gpus" else "node_count"
        if any(g.start == m.start("c") and g.column == column for g in clause.groups):
            yield m.span("w")
        elif m["c"][0] != HOLE[0] and {held(ledger, c, column) for c in cells} == {NUMBER_WORDS[m["c"].lower()]}:
            yield m.start("w"), m.end("c")
    for m in () if _ELSEWHEN.search(clause.own) else _FAILED_WITH.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end()), None)
        if (
            cell
            and cell.column in ("name", "exception")
            and held(ledger, cell, "severity") == "fatal"
            and held(ledger, cell, "kind") == "exception"
        ):
            yield m.span("w")
    for m in _CLOSE.finditer(clause.own):
        best = next((g.cells[0] for g in clause.groups if g.start == m.end()), None)
        ahead = [g.cells[-1] for g in clause.groups if g.end <= m.start("w")][-1:]
        x, y = (size(c.value) if c else None for c in (ahead[0] if ahead else None, best))
        one_row = best and ahead and (best.id, best.row) == (ahead[0].id, ahead[0].row) and best.column == "best_loss"
        if one_row and isinstance(x, float) and isinstance(y, float) and y > 0 and 0 <= x - y <= _NEAR * y:
            yield m.span("w")


def _attempts(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the last attempt`, of cells that are all of it; `the two earlier attempts`, of a row that counts one more."""
    for m in _LAST.finditer(clause.own):
        last = {last_attempt(ledger.get(c.id), ledger) for c in cells}
        if len(last) == 1 and None not in last and {_attempt(c, ledger) for c in cells} == last:
            yield m.span("w" if m["w"] else "v")
    for m in _EARLIER.finditer(clause.own):
        earlier = [c for c in cells if c.column.startswith("earlier_")]
        many = {held(ledger, c, "attempts") for c in earlier}
        if earlier and len(earlier) == len(cells) and many == {NUMBER_WORDS[m["n"].lower()] + 1}:
            yield m.span("n")


def _attempt(cell: CellValue, ledger: Ledger) -> int | None:
    """The attempt that a row is of; what is read from a job's log is of the one that the log is known to report of, where it is one."""
    if (own := attempt_of(cell, ledger)) is not None:
        return own
    evidence = ledger.get(cell.id)
    if not _OF_LOG.match(evidence.query):
        return None
    job = job_of(ledger, cell)
    told = [e for e in ledger.all() if e.query == "log_attempts" and str(e.params.get("job_id")) == job]
    numbers = {r["attempt"] for e in told for r in e.dicts() if r["reports"]}
    number = next(iter(numbers)) if len(numbers) == 1 else None
    return number if isinstance(number, int) else None


def _of_limit(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`* that it was allowed`, of a time limit; `all of its *`, of a share of one."""
    for m in _ALLOWED.finditer(clause.own):
        if any(g.end == m.start() + 1 and g.column in _LIMITS for g in clause.groups):
            yield m.span("w")
    for m in _WERE_ALLOWED.finditer(clause.own):
        if any(g.start == m.start("c") and g.column in _LIMITS for g in clause.groups):
            yield m.span("w")
    for m in _WAS_ALLOWED.finditer(clause.own):
        if any(g.start == m.end() and g.column in _LIMITS for g in clause.groups):
            yield m.span("w")
    for m in _ALL_OF.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("c")), None)
        share = size(held(ledger, cell, "limit_share")) if cell and cell.column == "time_limit_s" else None
        if isinstance(share, float) and share >= _FULL:
            yield m.span("w")
