"""What a query answers: cells that are plain JSON values, with the question that produced them.

Times are text, `2026-03-01T10:00:00Z` (UTC, fraction only where there is one), so that a result can be written down,
digested and compared on another machine.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result: DuckDB type, unit ("" for none) and one phrase of documentation."""

    name: str
    sql_type: str
    unit: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a query could look at: a table with zero segments is *unavailable*, which is not the same as empty.

    `rows` counts the rows of the table's segments that were opened, before the query's own conditions.
    """

    table: str
    segments: int
    rows: int
    first_ts: str | None = None
    last_ts: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one query. `truncated` says that `rows` holds fewer than `row_count` rows."""

    query: str
    sql: str
    params: dict[str, Cell]
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int
    truncated: bool
    coverage: tuple[Coverage, ...] = ()
    caveat: str = ""
    elapsed_s: float = field(default=0.0, compare=False)

    @property
    def sha256(self) -> str:
        """Digest of column names and cells: the same rows give the same digest on every machine."""
        return digest([c.name for c in self.columns], self.rows)

    def index(self, column: str) -> int:
        """Position of a column. Raises KeyError with the names that exist."""
        for i, c in enumerate(self.columns):
            if c.name == column:
                return i
        raise KeyError(f"{self.query}: no column {column!r}; there are {', '.join(c.name for c in self.columns)}")

    def dicts(self) -> list[dict[str, Cell]]:
        """The rows by column name."""
        names = [c.name for c in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def digest(names: list[str], rows: Any) -> str:
    """SHA-256 over a canonical JSON of names and rows; a float that is not finite is written as its name."""
    import hashlib  # with it comes OpenSSL, some 4 MB that a node's collector would have for nothing

    text = json.dumps([names, [[_plain(c) for c in row] for row in rows]], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, float) and not math.isfinite(cell):
        return repr(cell)
    return cell


SIGNALLED = "Query interrupted"
"""What the engine's RuntimeError says where a signal came while it ran; what the signal's handler raised is lost."""


class StoreError(Exception):
    """Something about the lake or a question is wrong; the text names the remedy."""


class QueryTimeout(StoreError):
    """A query ran past its wall clock; the text names the query and the limit."""
