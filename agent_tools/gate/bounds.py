"""Is a figure told as a bound of itself? One that is known is said as it is, but the highest is a bound of all the others.

At least [[E5.gpus]] GPUs took part.                  they are known
A report took at most [[E7.max_loss]].                the highest of its column, by its name or among the rows
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, size
from agent_tools.gate.extent import never_above
from agent_tools.references import HOLE
from store import lazy

_BOUND = lazy.compile(
    r"(?i)(?:\b(?:at least|at most|nearly|almost|up to|more than|less than|fewer than|over|under|beyond|all but|(?:about |roughly )?double"
    r"|(?:about |roughly )?half|many times|several times))\s+$"
)
_OR_MORE = lazy.compile(r"(?i)\s*(?:[a-z]+ )?(?:or|and) (?:more|less|fewer|so|above|below|over)\b|\s*(?:plus|or so)\b")
AT_BOUND = lazy.compile(rf"(?i)\bat (?:most|least)\s+(?={HOLE})")
_HIGHEST, _LOWEST = (
    lazy.compile(r"(?:^|_)(?:max|peak|highest|longest)(?:_|$)"),
    lazy.compile(r"(?:^|_)(?:min|lowest|shortest)(?:_|$)"),
)


def bounded(clause: Clause, ledger: Ledger) -> str:
    """Why a figure of a clause is no bound as it says; "" where it is one, or none is said."""
    never = never_above(clause)
    own, of_one = clause.own, any(g.subject for g in clause.groups)
    for group in clause.groups:
        if group.subject or size(group.cells[0].value) is None:
            continue
        bound, more = _BOUND.search(own[: group.start]), _OR_MORE.match(own, group.end)
        if bound and any(a <= bound.start() < b for a, b in never):
            continue
        at = bound[0].strip().lower() if bound else ""
        if (
            not more
            and at in ("at most", "at least")
            and len(group.cells) == 1
            and _edge(group.cells[0], ledger, high=at == "at most", of_one=of_one)
        ):
            continue
        if more or (bound and (at in ("at most", "at least") or len(clause.measures()) < 2)):
            word = (more or bound)[0].strip()  # type: ignore[index]
            return f"{word!r} beside [[{group.cells[0].ref}]] changes what it says: the figure is known, so say it as it is"
    return ""


def _edge(cell: CellValue, ledger: Ledger, *, high: bool, of_one: bool) -> bool:
    """Whether a figure is the highest (or the lowest) of its column, by name or, where the clause is of no one row, among the rows."""
    if (_HIGHEST if high else _LOWEST).search(cell.column):
        return True
    if of_one:
        return False
    evidence = ledger.get(cell.id)
    values = [v for r in range(len(evidence.rows)) if isinstance(v := size(evidence.value(cell.column, r)), float)]
    whole = not evidence.truncated and len(values) == len(evidence.rows) > 1
    return whole and size(cell.value) == (max(values) if high else min(values))
