"""Is the one also the last, or the longest of somebody's? A superlative that is said of a figure besides what it is called.

The last loss, [[E7.last_loss]], is also the lowest of the run.                    the row's lowest is as large
The highest loss, [[E7.highest_loss]], was the last one reported.                  it came at the last step
The longest of [[E1:2.user]]'s jobs was [[E1:2.job_id]], with [[E1:2.elapsed_s]].    no other row of that user has as much
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held, size
from agent_tools.gate.scope import whole
from agent_tools.references import HOLE
from store import lazy

_EDGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("last", "final", "latest"), ("last", "end")),
    **dict.fromkeys(("first", "earliest"), ("first", "start")),
    **dict.fromkeys(("lowest", "smallest"), ("min", "lowest", "best")),
    **dict.fromkeys(("highest", "largest"), ("max", "highest")),
}
"""What a superlative is called in columns' names."""
_NAME = lazy.compile(
    r"^(?P<e>first|last|start|end|min|lowest|best|max|highest)_(?P<what>loss|grad_norm|reward|accuracy)$"
)
_IS_ALSO = lazy.compile(
    rf"(?i)\b(?:is|was) (?:also |still |again |at the same time )*(?P<w>the (?P<s>{'|'.join(_EDGES)})(?: (?:one|loss|value|norm))?(?: (?:reported|logged|seen))?(?: of (?:all|the (?:whole )?run|the training|them all))?)(?=\W*$|,)"
)
_LONGEST_OF = lazy.compile(
    rf"(?i)^\W*the (?P<w>(?P<more>longest)|shortest)(?: job)? of (?:(?:user )?(?P<u>{HOLE}+)['’]s jobs|(?:the )?jobs of (?:user )?(?P<v>{HOLE}+)) (?:was|is) (?:job )?(?P<j>{HOLE}+)(?P<rest>.*)$"
)
_WITH = lazy.compile(rf"(?i)^(?:[\s{HOLE},.:;()]|\b(?:with|at|which|ran|lasted|took|for)\b)*$")
_DENIED = lazy.compile(r"(?i)\b(?:no|not|never|none|neither|nor|nearly|almost|but|except)\b|n['’]t\b")


def recorded(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause such superlatives stand that the rows bear out."""
    return [] if _DENIED.search(clause.own) else [*_is_also(clause, ledger), *_longest_of(clause, ledger)]


def _is_also(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    for m in _IS_ALSO.finditer(clause.own):
        ahead = [c for g in clause.groups if g.end <= m.start() for c in g.cells if _NAME.match(c.column)]
        if len(ahead) == 1 and _also(ahead[0], m["s"].lower(), ledger):
            yield m.span("w")


def _also(cell: CellValue, said: str, ledger: Ledger) -> bool:
    """Whether a row's figure of one edge is that of another one too: as large, and at the same step where both are told."""
    own = _NAME.match(cell.column)
    if own is None or own["e"] in _EDGES[said]:
        return False
    for edge in _EDGES[said]:
        value, step = held(ledger, cell, f"{edge}_{own['what']}"), held(ledger, cell, f"{edge}_step")
        place = held(ledger, cell, f"{own['e']}_step")
        told = own["e"] in ("min", "max") or edge in ("min", "max") or place is None or step is None
        if value is not None and (value == cell.value) and (told or place == step):
            return True
    return False


def _longest_of(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the longest of *'s jobs was *`: no row of that user has as long a run."""
    m = _LONGEST_OF.match(clause.own)
    user, job = (
        next((g.cells[0] for g in clause.groups if m and g.start in at and len(g.cells) == 1), None)
        for at in ((m.start("u"), m.start("v")) if m else (), (m.start("j"),) if m else ())
    )
    if m is None or user is None or job is None or user.column != "user" or job.column != "job_id":
        return
    evidence = ledger.get(job.id)
    names = {c.name for c in evidence.columns}
    cells = [c for g in clause.groups for c in g.cells if c is not user]
    own_row = all((c.id, c.row) == (job.id, job.row) and c.column in ("job_id", "elapsed_s") for c in cells)
    if not own_row or not {"user", "elapsed_s"} <= names or not whole(evidence, ledger) or not _WITH.match(m["rest"]):
        return
    rows = [r for r in range(len(evidence.rows)) if evidence.value("user", r) == user.value]
    lives = {r: size(evidence.value("elapsed_s", r)) for r in rows}
    own = lives.get(job.row)
    rest = [v for r, v in lives.items() if r != job.row and isinstance(v, float)]
    known = isinstance(own, float) and bool(rest) and len(rest) == len(lives) - 1
    if known and isinstance(own, float) and (own > max(rest) if m["more"] else own < min(rest)):
        yield m.span("w")
