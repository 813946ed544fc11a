"""A sentence in clauses, each with its cells: cells of one column that are said in one breath are a group.

Ranks [[E6.rank]] and [[E6:1.rank]] ran on [[E6.node]].      one clause, two groups: two ranks, a node
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_tools.evidence import CellValue, Ledger
from agent_tools.references import BadReference, marks, masked, resolve
from store import lazy
from store.result import Cell

SUBJECTS = frozenset(
    {"job_id", "rank", "node", "gpu", "gpu_uuid", "gpu_index", "user", "pid", "local_rank", "uuid", "task"}
)
"""Columns that say of whom or of what a row is."""

_AGAINST = lazy.compile(r"(?i)[\s(]*(?:against|versus|vs\.?|compared (?:to|with))\s*")
"""Between the figures of two that were named before, told in the same order."""
_CLAUSE = lazy.compile(r"(?<=[.;!?])\s+|\n+|\s[–—]\s")
_JOINED = lazy.compile(r"[^\w(]*(?:and|or|&)?[^\w(]*(?:the )?[^\w(]*")
TIME = lazy.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


@dataclass(slots=True)
class Group:
    """Cells of one column that are said in one breath: `ranks A, B and C`."""

    cells: list[CellValue]
    start: int
    end: int

    @property
    def column(self) -> str:
        """The column that its cells have in common."""
        return self.cells[0].column

    @property
    def subject(self) -> bool:
        """Whether it says of whom or of what a row is."""
        return self.column in SUBJECTS


@dataclass(slots=True)
class Clause:
    """A clause with its cells; positions are those of the clause, which begins `at` a place of its text. `own` is its text with the references masked."""

    text: str
    groups: list[Group] = field(default_factory=list[Group])
    at: int = 0

    @property
    def own(self) -> str:
        """The text with each reference as holes."""
        return masked(self.text)

    def sole(self, place: int) -> Group | None:
        """The group of a single cell that begins at a place of the clause; None where none does."""
        return next((g for g in self.groups if g.start == place and len(g.cells) == 1), None)

    def measures(self) -> list[tuple[CellValue, int, int]]:
        """Each cell that can be larger or smaller than another, with where its group begins and ends."""
        return [(c, g.start, g.end) for g in self.groups if not g.subject for c in g.cells if size(c.value) is not None]


def clauses(text: str, ledger: Ledger) -> list[Clause]:
    """The clauses of a text that have cells."""
    found: list[Clause] = []
    at = 0
    for piece in _CLAUSE.split(text):
        at = text.index(piece, at)
        clause = Clause(piece, at=at)
        at += len(piece)
        for mark in marks(piece):
            try:
                cell = resolve(mark.ref, ledger)
            except BadReference:
                continue
            last = clause.groups[-1] if clause.groups else None
            if last and last.column == cell.column and _JOINED.fullmatch(masked(piece)[last.end : mark.start]):
                last.cells.append(cell)
                last.end = mark.end
            else:
                clause.groups.append(Group([cell], mark.start, mark.end))
        if clause.groups:
            found.append(clause)
    return found


def against(clause: Clause) -> tuple[Group, Group] | None:
    """The two figures of one column that end a clause as `* against *`; None where it has none."""
    if len(clause.groups) < 2:
        return None
    a, b = clause.groups[-2:]
    alone = a.column == b.column and len(a.cells) == len(b.cells) == 1
    return (a, b) if alone and _AGAINST.fullmatch(clause.own[a.end : b.start]) else None


def segments(groups: Sequence[Group], anew: Sequence[int] = ()) -> list[list[Group]]:
    """The groups of a clause, anew wherever a kind of cell comes again: there another subject begins; at the places `anew` too."""
    made: list[list[Group]] = []
    for group in groups:
        begins = made and any(made[-1][-1].end <= at <= group.start for at in anew)
        if not made or begins or any(kind(g.column) == kind(group.column) for g in made[-1]):
            made.append([])
        made[-1].append(group)
    return made


def kind(column: str) -> str:
    """What a column holds one of, or a list of: `all_ranks` are ranks."""
    return column.removeprefix("all_").removesuffix("s") if column.startswith("all_") else column


def held(ledger: Ledger, cell: CellValue, column: str) -> Cell:
    """What the row of a cell has in another column; None where it has no such column."""
    evidence = ledger.get(cell.id)
    if column not in {c.name for c in evidence.columns}:
        return None
    return evidence.value(column, cell.row)


def job_of(ledger: Ledger, cell: CellValue) -> str:
    """The job that a cell is of, by its row, else by what its answer was asked for; "" where it is of none."""
    return str(held(ledger, cell, "job_id") or ledger.get(cell.id).params.get("job_id") or "")


def size(value: Cell) -> float | str | None:
    """What can be larger or smaller: a number, or a time."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return value if isinstance(value, str) and TIME.match(value) else None
