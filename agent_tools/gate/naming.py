"""Is every figure named? A figure is told as what its column is, so its clause has a word of that column.

    The job gave up [[E7.span_min]] before its end.      no word says: from the first to the last report
    The job failed after [[E1.elapsed_s]].               `after` says the time running

Without it any verb that claims nothing by itself makes of a true figure a false story. What the words are is not listed here: they
are the column's own, by its name, its description and its unit.
LIMIT: by the clause; that the nearest word is of the figure other checks see to.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agent_tools.evidence import FOUND, CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, Group, clauses, held
from agent_tools.gate.vocabulary import COLUMN_WORDS, GRAMMAR, UNITS
from agent_tools.gate.words import spoken_of, stem, stems
from agent_tools.references import HOLE
from store import lazy

_SAYS_ITSELF = frozenset({"C", "W"})
"""Units that are of one thing only, so that the figure says itself what it is."""
_GRAMMAR = frozenset(stem(w) for w in GRAMMAR)
"""Words of descriptions that name nothing."""
_ALSO: dict[str, str] = {
    "elapsed": "after within ran lasted longest shortest long short",
    "lived": "after within ran lasted long",
    "quiet": "silent silence reported report reports progress",
    "peak": "reached used held",
    "rss": "held used",
    "used": "full filled",
    "limit": "allowed granted",
    "points": "values losses",
    "events": "times often",
    "n": "times often",
    "share": "part",
    "sm": "works worked hard",
    "seconds": "time",
    "timeout": "gave waited waiting timed",
}
"""What parts of columns' names are told by besides, beside a figure only."""
_TAKES = "took takes taking slow slower slowest fast faster fastest quicker quickest"
"""What is said of how long something took."""
_NO_TAKING = frozenset({"before", "after", "quiet", "wait", "waited", "limit", "gap", "since", "span"})
"""Parts of columns' names that are spans of nothing that anybody took."""
_AHEAD = lazy.compile(r"(?i)\b(?:for|in|after|within) (?:only |just )?(?:a run of )?$")
"""Ahead of how long a life was."""
_ON = lazy.compile(r"(?i)\b(?:on|over|across|from) $")
_IT = lazy.compile(
    r"(?i)\W*(?P<else>otherwise,? )?(?:it|they) (?:was|were|had|has|is|are|stood)\b(?P<begun> (?:begun|started) (?:at|with|from)\b)?"
)
"""A clause about what the one before it names."""
_FIRST, _FREE = lazy.compile(r"^(?:first|start)_"), lazy.compile(r"_free(?:_|$)")
_LINKED = lazy.compile(
    r"(?i)[\s(]*(?:(?:out )?of|against|versus|vs\.?|compared (?:to|with)|to|and|or|,|only)[\s(]*(?:the |its |their |all |only |just )?"
)
"""Between two figures of which the one that is named names the other."""
_OWNER = lazy.compile(r"^(?:value|first_value|last_value|rise|n|count|cnt|total)$")
"""Columns that are named by what their row is of."""


def unnamed(text: str, ledger: Ledger) -> str:
    """Why a figure of a text is told as nothing, in words that say what to do; "" where each is named."""
    told: set[str] = set()
    before: list[str] = []
    for clause in clauses(text, ledger):
        own = [w for w in re.findall(r"[^\W\d_]+", clause.own.replace(HOLE, " ").lower()) if stem(w) not in _GRAMMAR]
        words = [*own, *before] if (of_it := _of_it(clause)) else own
        before = own
        named = [_named(g, words, clause, ledger) or g.column in told for g in clause.groups]
        for i, group in enumerate(clause.groups):
            itself = of_it is False and unit_of(group.cells[0]) in _SAYS_ITSELF  # of another measure than it stands for
            if itself or (not named[i] and not _beside_named(i, clause, named)):
                cell = group.cells[0]
                about = f" ({cell.doc})" if cell.doc else ""
                return f"[[{cell.ref}]] is {cell.column}{about}, and no word beside it says so: name what it is, or leave it out"
        told |= {g.column for g in clause.groups}
    return ""


def _of_it(clause: Clause) -> bool | None:
    """Whether a clause tells of what the one before it names: where that had begun, of figures that are first ones, and how it was otherwise,
    of those that are called so; False where it is told of another measure, None where it is of nothing before it."""
    m = _IT.match(clause.own)
    of = None if m is None else _FIRST if m["begun"] else _FREE if m["else"] else None
    figures = [g.column for g in clause.groups if not g.subject and not isinstance(g.cells[0].value, str)]
    if m is None or of is None:
        return None
    return all(of.search(c) for c in figures) or (False if m["else"] else None)


def _named(group: Group, words: Collection[str], clause: Clause, ledger: Ledger) -> bool:
    return all(_is_named(c, words, clause, ledger) for c in group.cells)


def _is_named(cell: CellValue, words: Collection[str], clause: Clause, ledger: Ledger) -> bool:
    if cell.column in SUBJECTS or cell.column == FOUND or isinstance(cell.value, str) or cell.value is None:
        return True
    if unit_of(cell) in _SAYS_ITSELF:
        return True
    if _OWNER.match(cell.column) and _of_row(cell, clause, ledger):
        return True
    own = _own(cell)
    return not own or any(spoken_of(w, own) for w in words) or _counted(cell, clause) or _placed(cell, clause)


def _own(cell: CellValue) -> frozenset[str]:
    parts = cell.column.lower().split("_")
    said = [*parts, cell.doc, UNITS.get(unit_of(cell), "")]
    said += [f"{COLUMN_WORDS.get(p, '')} {_ALSO.get(p, '')}" for p in parts]
    if unit_of(cell) in ("s", "ms", "us", "min", "h") and not _NO_TAKING & {*parts}:
        said.append(_TAKES)
    return stems(" ".join(said)) - _GRAMMAR


def _placed(cell: CellValue, clause: Clause) -> bool:
    """Whether its place names it: how long a life was behind `after`, a number right behind the text that it numbers."""
    at = next(i for i, g in enumerate(clause.groups) if any(c is cell for c in g.cells))
    group, before = clause.groups[at], clause.groups[at - 1] if at else None
    if {"elapsed", "lived"} & {*cell.column.split("_")} and _AHEAD.search(clause.own[: group.start]):
        return True
    if cell.column == "hosts" and _ON.search(clause.own[: group.start]):
        return re.match(r"(?i) (?:nodes|machines)\b", clause.own[group.end :]) is not None
    text = before is not None and isinstance(before.cells[-1].value, str) and before.cells[-1].row == cell.row
    return text and before is not None and before.cells[-1].id == cell.id and group.start - before.end <= 1


def _counted(cell: CellValue, clause: Clause) -> bool:
    """Whether it counts what stands in every sentence: jobs, runs."""
    parts = {stem(p) for p in cell.column.lower().split("_")} & {"job", "run"}
    return bool(parts & stems(clause.own.replace(HOLE, " ")))


def _of_row(cell: CellValue, clause: Clause, ledger: Ledger) -> bool:
    """Whether a clause cites what the row of a bare value is of."""
    same = [c for g in clause.groups for c in g.cells if (c.id, c.row) == (cell.id, cell.row)]
    return any(isinstance(c.value, str) for c in same) or held(ledger, cell, "counter") is not None


def _beside_named(at: int, clause: Clause, named: list[bool]) -> bool:
    """Whether its neighbour is named and they are one measure's two: `* of *`, `from * to *`, `* against *`."""
    own, group = clause.own, clause.groups[at]
    for other in (at - 1, at + 1):
        if not 0 <= other < len(named) or not named[other]:
            continue
        first, second = sorted((group, clause.groups[other]), key=lambda g: g.start)
        figure = not isinstance(first.cells[0].value, str) and not isinstance(second.cells[0].value, str)
        if (
            figure
            and unit_of(first.cells[0]) == unit_of(second.cells[0])
            and _akin(first.cells[-1], second.cells[0])
            and _LINKED.fullmatch(own[first.end : second.start])
        ):
            return True
    return False


def _akin(a: CellValue, b: CellValue) -> bool:
    """Whether two figures can be one measure's two: of one answer, or with a part of their names in common."""
    return a.id == b.id or not stems(" ".join(a.column.split("_"))).isdisjoint(stems(" ".join(b.column.split("_"))))
