"""Views of evidence for the families: cells that carry their own reference, rows and tables of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent_tools.evidence import Evidence
from store.result import Cell as Value


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its value, and the reference that a sentence uses in its place (`[[E7:3.node]]`)."""

    value: Value
    ref: str

    def __bool__(self) -> bool:
        """True where the value is neither absent nor zero nor empty."""
        return bool(self.value)

    def __str__(self) -> str:
        """The reference, so that an f-string cites."""
        return self.ref

    @property
    def text(self) -> str:
        """The value as text, empty where it is absent."""
        return "" if self.value is None else str(self.value)

    @property
    def number(self) -> float | None:
        """The value as a number; None where it is absent or no number."""
        return float(self.value) if isinstance(self.value, int | float) and not isinstance(self.value, bool) else None


class RowView:
    """One row of evidence. `row["state"]` is the cell, `row.get("state")` its bare value."""

    __slots__ = ("_evidence", "index")

    def __init__(self, evidence: Evidence, index: int) -> None:
        self._evidence = evidence
        self.index = index

    def __getitem__(self, column: str) -> Cell:
        """The cell. Raises KeyError for a column that the query does not have."""
        return Cell(self._evidence.value(column, self.index), self._evidence.ref(column, self.index))

    def get(self, column: str) -> Value:
        """The bare value, None where it is absent."""
        return self._evidence.value(column, self.index)

    def text(self, column: str) -> str:
        """The value as text, empty where it is absent."""
        value = self.get(column)
        return "" if value is None else str(value)

    def number(self, column: str) -> float | None:
        """The value as a number, None where it is absent."""
        value = self.get(column)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def has(self, column: str) -> bool:
        """Whether the cell holds a value: only then is it worth a reference in a sentence."""
        return self.get(column) is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(c.name for c in self._evidence.columns)


class View:
    """The answer to one query. False where it has no row."""

    __slots__ = ("evidence", "rows")

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.rows = [RowView(evidence, i) for i in range(len(evidence.rows))]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RowView]:
        return iter(self.rows)

    @property
    def first(self) -> RowView | None:
        """The first row, None where there is none."""
        return self.rows[0] if self.rows else None

    @property
    def row_count(self) -> int:
        """How many rows the query has in all, those that are not held included."""
        return self.evidence.row_count

    def where(self, test: Callable[[RowView], bool]) -> list[RowView]:
        """The rows that pass a test."""
        return [r for r in self.rows if test(r)]

    def one_of(self, column: str, *values: Value) -> list[RowView]:
        """The rows whose cell is one of these values."""
        return [r for r in self.rows if r.get(column) in values]
