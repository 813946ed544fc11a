"""Is a figure told as a bound of itself? One that is known is said as it is, but the highest is a bound of all the others.

At least [[E5.gpus]] GPUs took part.                  they are known
A report took at most [[E7.max_loss]].                the highest of its column, by its name or among the rows
The job ended within its limit of [[E1.time_limit_s]].      held against what its row says of how long it ran
"""

from __future__ import annotations

from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import Clause, held, size
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
_LIMIT = r"(?: (?:the|its|their|his|a))?(?: (?:[a-z]+['’]s))?(?: (?:time|memory|wall|run|walltime))?(?: limit| walltime)?(?: of)?(?: only| just)? $"
_WITHIN = lazy.compile(
    rf"(?i)\b(?:within|inside|short of|below|well under|safely under|(?:ended|finished|stopped|done) before){_LIMIT}"
)
_MET = lazy.compile(
    r"(?i)\b(?:ran|runs|run|running|got|came|bumped) (?:right )?(?:in)?to(?: the end of)?"
    rf"{_LIMIT}|\b(?:reach(?:ed|es|ing)?|hit|hits|hitting|exceed(?:ed|s|ing)?|pass(?:ed|es|ing)?|overran|overstepped|used up|exhausted|beyond|past|(?:cut off|cut short|stopped|ended|killed|cancelled) (?:at|by|after)){_LIMIT}"
)
_WAS_MET = lazy.compile(
    r"(?i)^ (?:was|were|had been|has been|is) (?:finally |simply )?(?:reached|hit|exceeded|passed|used up|exhausted|overrun|over|up|met)\b"
)
_KEPT = lazy.compile(
    r"(?i)^ (?:was|were|had been|has been|is) (?:never |not )(?:reached|hit|exceeded|passed|used up|exhausted)\b|^ (?:was|were|is) (?:kept|respected|observed)\b"
)
_NOT = lazy.compile(r"(?i)\b(?:not|never|without|nor|cannot|n['’]t)\b[^,;:]{0,24}$")
_THE_LIMIT = lazy.compile(r"(?i)\bmemory (?:was|is|became) the (?:limit|limiting factor|bottleneck)\b")
_CAP = lazy.compile(r"(?:^|_)limit(?:_|$)")
_SPENT = lazy.compile(r"(?:^|_)(?:elapsed|lived|peak|used|rss)(?:_|$)")
_CLOSE = 0.98
"""From which share of a limit on it is said to be reached: sampling and the clock cut something off."""
_REACHED = lazy.compile(
    r"(?i)^ (?:(?:then|soon|had|has|nearly|already|almost) )*(?P<w>reached|hit|filled|attained|touched|used up|exhausted|matched|equalled|equaled|was equal to|were equal to|was as (?:large|high|much) as)(?: up)?(?: (?:the|its|their|a|all|full|whole|[a-z]+['’]s))*(?: [a-z]+){0,2}(?: of)? $"
)
"""Between two figures of one unit, of which the first is told to be as large as the second."""


def bounded(clause: Clause, ledger: Ledger) -> str:
    """Why a figure of a clause is no bound as it says; "" where it is one, or none is said."""
    return (
        _was_the_limit(clause, ledger)
        or _beyond_itself(clause, ledger)
        or _limited(clause, ledger)
        or _unreached(clause)
    )


def _was_the_limit(clause: Clause, ledger: Ledger) -> str:
    """Why memory was not what set the limit, as a clause says: the row used less of it than all; "" where it did, or nothing tells."""
    m = _THE_LIMIT.search(clause.own)
    for cell in (c for g in clause.groups for c in g.cells) if m else ():
        used = size(held(ledger, cell, "used"))
        if isinstance(used, float) and used < _CLOSE and not held(ledger, cell, "oom_kills"):
            return f"{m[0] if m else ''!r} is not what the row of [[{cell.ref}]] says of how much of it was used: turn it round, or leave it out"
    return ""


def _limited(clause: Clause, ledger: Ledger) -> str:
    """Why a limit was not kept, or not met, as a clause says: the row has what was spent of it."""
    own = clause.own
    for group in clause.groups:
        cell = group.cells[0]
        limit, unit = size(cell.value), unit_of(cell)
        if not _CAP.search(cell.column) or not isinstance(limit, float) or not unit or unit == "ratio":
            continue
        ahead, behind = own[: group.start], own[group.end :]
        within, met = _WITHIN.search(ahead), _MET.search(ahead)
        kept = within or _KEPT.match(behind)
        found = kept or met or _WAS_MET.match(behind)
        spent = _spent(cell, ledger) if found else None
        if found is None or spent is None:
            continue
        ended = "TIMEOUT" if unit in ("s", "min", "h") else "OUT_OF_MEMORY"
        over = spent >= limit * _CLOSE or held(ledger, cell, "state") == ended
        denied = (within or met) is found and _NOT.search(ahead[: found.start()])
        if (bool(kept) == over) if not denied else (bool(kept) != over):
            return f"{found[0].strip()!r} is not what the row of [[{cell.ref}]] says of how much of it was spent: turn it round, or leave it out"
    return ""


def _spent(cell: CellValue, ledger: Ledger) -> float | None:
    """What the row of a limit says was spent, in the limit's unit."""
    for column in ledger.get(cell.id).columns:
        if _SPENT.search(column.name) and not _CAP.search(column.name) and column.name != cell.column:
            other = ledger.get(cell.id).cell(column.name, cell.row)
            if unit_of(other) == unit_of(cell) and isinstance(value := size(other.value), float):
                return value
    return None


def _unreached(clause: Clause) -> str:
    """Why a figure is not as large as the one that a clause says it reached; "" where it is."""
    for first, second in pairwise(clause.groups):
        a, b = first.cells[-1], second.cells[0]
        x, y = size(a.value), size(b.value)
        said = _REACHED.match(clause.own[first.end : second.start])
        if said is None or not isinstance(x, float) or not isinstance(y, float) or not unit_of(a):
            continue
        if unit_of(a) == unit_of(b) and x < y * _CLOSE and not _NOT.search(clause.own[: first.end + said.start("w")]):
            return f"{said['w']!r} is not what [[{a.ref}]] and [[{b.ref}]] show: tell them beside each other"
    return ""


def _beyond_itself(clause: Clause, ledger: Ledger) -> str:
    never = never_above(clause)
    own, of_one = clause.own, any(g.subject for g in clause.groups)
    for group in clause.groups:
        if group.subject or size(group.cells[0].value) is None:
            continue
        bound, more = _BOUND.search(own[: group.start]), _OR_MORE.match(own, group.end)
        if bound and any(a <= bound.start() < b for a, b in never):
            continue
        at = bound[0].strip().lower() if bound else ""
        if at == "up to" and not more and _HIGHEST.search(group.column):
            continue
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
