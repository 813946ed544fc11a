"""Evidence: a query's answer under an id (`E7`), and the ledger that hands the ids out.

A cell of evidence is named by a reference: `[[E7.requested_bytes]]` (first row) or `[[E7:3.node]]` (row 3, from 0).
An answer without a row has one cell all the same, `[[E7.row_count]]`: that nothing was found is an observation too.
The ledger also remembers which cells were *shown* to whoever reasons: a cell that nobody saw cannot be cited.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from store.redact import redact_lines
from store.result import Cell, Coverage, Result, ResultColumn, digest

FOUND = "row_count"
"""The cell of an answer that has no row: how many it has."""
OR_LATER, OR_LESS = "or_later", "or_less"
"""Columns that name others of their row: times that are an earlier line's, so that what they tell of came then or later, and
measures that are counted from such a time."""
MAX_ROWS = 200
"""Rows that a piece of evidence keeps unless its asker says otherwise."""


class Asks(Protocol):
    """What the ledger needs of a reader: `store.Reader` has it, and so has a fake in a test."""

    def ask(self, name: str, /, *, max_rows: int = ..., **params: Cell) -> Result:
        """Run a named query."""
        ...


@dataclass(frozen=True, slots=True)
class CellValue:
    """One cell with its address: `ref` is the text between the double brackets, canonical (`E7:3.node`)."""

    ref: str
    id: str
    row: int
    column: str
    value: Cell
    unit: str = ""
    sql_type: str = ""
    doc: str = ""
    bound: str = ""
    """`or later` for a time that is only the earliest there can be, `or less` for a measure that is only the most."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One answered question. `rows` may hold fewer than `row_count` rows, then `truncated` is true."""

    id: str
    tool: str
    arguments: dict[str, Any]
    query: str
    sql: str
    params: dict[str, Cell]
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int
    truncated: bool
    sha256: str
    coverage: tuple[Coverage, ...] = ()
    caveat: str = ""
    _places: dict[str, int] = field(init=False, repr=False, compare=False)
    """Each column's position: cells are asked for by name, thousands of times for one sentence."""

    def __post_init__(self) -> None:
        """Find the columns' places."""
        last_to_first = reversed([*enumerate(self.columns)])  # of two of one name the first is meant
        object.__setattr__(self, "_places", {c.name: i for i, c in last_to_first})

    def index(self, column: str) -> int:
        """Position of a column. Raises KeyError with the names that exist."""
        i = self._places.get(column)
        if i is None:
            raise KeyError(f"{self.id}: no column {column!r}; there are {', '.join(c.name for c in self.columns)}")
        return i

    def cell(self, column: str, row: int = 0) -> CellValue:
        """One cell with its address. Raises KeyError for an unknown column, IndexError for a row that is not held."""
        if column == FOUND and row == self.row_count == 0:
            return CellValue(f"{self.id}.{FOUND}", self.id, 0, FOUND, 0, "rows", "BIGINT")
        i = self.index(column)
        if not 0 <= row < len(self.rows):
            raise IndexError(f"{self.id}: no row {row}; it holds {len(self.rows)} of {self.row_count} rows")
        c = self.columns[i]
        name = f"{self.id}.{column}" if row == 0 else f"{self.id}:{row}.{column}"
        bound = self._bounds(row).get(column, "")
        return CellValue(name, self.id, row, column, self.rows[row][i], c.unit, c.sql_type, c.doc, bound)

    def cells(self) -> Iterator[CellValue]:
        """Every cell that is held, row by row."""
        for number, row in enumerate(self.rows):
            place = self.id if number == 0 else f"{self.id}:{number}"
            bounds = self._bounds(number)
            for c, value in zip(self.columns, row, strict=True):
                bound = bounds.get(c.name, "")
                yield CellValue(f"{place}.{c.name}", self.id, number, c.name, value, c.unit, c.sql_type, c.doc, bound)

    def _bounds(self, row: int) -> dict[str, str]:
        """The columns of a row whose values are only a bound, with the words for it."""
        bounds: dict[str, str] = {}
        for which in (OR_LATER, OR_LESS):
            names = self.rows[row][self._places[which]] if which in self._places else None
            if isinstance(names, str):
                bounds |= dict.fromkeys(names.split(), which.replace("_", " "))
        return bounds

    def value(self, column: str, row: int = 0) -> Cell:
        """The bare value of a cell; None also where the evidence holds no such row."""
        i = self.index(column)
        return self.rows[row][i] if 0 <= row < len(self.rows) else None

    def ref(self, column: str, row: int = 0) -> str:
        """The reference to put into a sentence: `[[E7.column]]`. Raises as `cell` does."""
        return f"[[{self.cell(column, row).ref}]]"

    def dicts(self) -> list[dict[str, Cell]]:
        """The rows by column name."""
        names = [c.name for c in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    @property
    def looked(self) -> bool:
        """False where no table that the query reads has any row: then an empty answer proves nothing."""
        return any(c.segments > 0 for c in self.coverage) if self.coverage else True


class Ledger:
    """Every piece of evidence of one run, in order of recording."""

    def __init__(self) -> None:
        self._by_id: dict[str, Evidence] = {}
        self._by_key: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._shown: dict[str, set[tuple[int, str]]] = {}
        self._whole: set[str] = set()
        self._numeric: dict[str, tuple[str, ...]] = {}
        """Of evidence that was shown whole, the columns in which a row holds a number."""
        self._everything = False

    def record(self, result: Result, tool: str, arguments: dict[str, Any]) -> Evidence:
        """Give a result its id, without the secrets in its text; the digest is of the rows as they are kept.

        An exact repeat (query, parameters and rows) gets the evidence it already has.
        """
        rows = _without_secrets(result.rows)
        sha256 = digest([c.name for c in result.columns], rows)
        key = _key(result.query, result.sql, result.params, result.row_count, sha256)
        known = self._by_key.get(key)
        if known is not None:
            return self._by_id[known]
        evidence = Evidence(
            id=f"E{max((int(known[1:]) for known in self._by_id), default=0) + 1}",
            tool=tool,
            arguments=dict(arguments),
            query=result.query,
            sql=result.sql,
            params=dict(result.params),
            columns=result.columns,
            rows=rows,
            row_count=result.row_count,
            truncated=result.truncated,
            sha256=sha256,
            coverage=result.coverage,
            caveat=result.caveat,
        )
        self._by_id[evidence.id] = evidence
        self._by_key[key] = evidence.id
        self._shown[evidence.id] = set()
        return evidence

    def restore(self, evidence: Evidence, *, shown: bool = True) -> None:
        """Put evidence back under the id that it had: a verdict or a chat is read again. Raises ValueError if it is taken.

        `shown=False`: none of its cells may be cited until it is shown again.
        """
        if evidence.id in self._by_id:
            raise ValueError(f"{evidence.id} is there already")
        self._by_id[evidence.id] = evidence
        self._by_key[_key(evidence.query, evidence.sql, evidence.params, evidence.row_count, evidence.sha256)] = (
            evidence.id
        )
        self._shown[evidence.id] = set()
        if shown:
            self._whole.add(evidence.id)

    def ask(
        self, reader: Asks, query: str, /, *, tool: str | None = None, max_rows: int = MAX_ROWS, **params: Any
    ) -> Evidence:
        """Ask a named query and record its answer; `tool` is the query's name unless given.

        An exact repeat is answered from the ledger: what was true for one sentence is true for the next.
        """
        given = {k: v for k, v in params.items() if v is not None}
        asked = json.dumps([query, max_rows, given], sort_keys=True, default=str)
        if asked not in self._asked:
            result = reader.ask(query, max_rows=max_rows, **params)
            self._asked[asked] = self.record(result, tool or query, given).id
        return self._by_id[self._asked[asked]]

    def peek(self, reader: Asks, query: str, /, **params: Any) -> list[dict[str, Cell]]:
        """The rows of a named query, without recording them: nothing can cite them. Raises StoreError."""
        result = reader.ask(query, **params)
        names = [c.name for c in result.columns]
        return [dict(zip(names, row, strict=True)) for row in result.rows]

    def forget_repeats(self) -> None:
        """Have questions asked again that were answered before; an answer that is the same keeps its id."""
        self._asked.clear()

    def get(self, id: str) -> Evidence:
        """The evidence of an id. Raises KeyError with the ids that exist."""
        try:
            return self._by_id[id]
        except KeyError:
            last = f"E1 to E{len(self._by_id)}" if self._by_id else "none yet"
            raise KeyError(f"no evidence {id!r}; there is {last}") from None

    def all(self) -> list[Evidence]:
        """Every evidence in order."""
        return list(self._by_id.values())

    def mark_shown(self, id: str, rows: Iterable[int] | None = None, columns: Iterable[str] | None = None) -> None:
        """Note that these cells were shown to the one who reasons; no rows or no columns given means all that are held."""
        evidence = self.get(id)
        if rows is None and columns is None:
            self._whole.add(id)
            return
        names = list(columns) if columns is not None else [c.name for c in evidence.columns]
        for row in range(len(evidence.rows)) if rows is None else rows:
            self._shown[id].update((row, name) for name in names)

    def show_all(self) -> None:
        """Count everything recorded so far as shown: the deterministic reasoner reads whole results."""
        self._whole.update(self._by_id)

    def unseen(self) -> Ledger:
        """The same evidence under the same ids, none of it shown: for another one who reasons on it."""
        made = Ledger()
        for evidence in self._by_id.values():
            made.restore(evidence, shown=False)
        made._asked = dict(self._asked)
        return made

    @contextmanager
    def seen_whole(self) -> Generator[None]:
        """Count everything as shown, what is recorded meanwhile too, until the end; then what was shown before."""
        kept, self._everything = (set(self._whole), {id: set(cells) for id, cells in self._shown.items()}), True
        try:
            yield
        finally:
            self._everything = False
            self._whole = kept[0]
            self._shown = {id: kept[1].get(id, set()) for id in self._by_id}

    def is_shown(self, id: str, row: int, column: str) -> bool:
        """Whether this cell was shown. False for an unknown id, row or column; the count of an empty answer is shown only by
        itself, by whoever knows that a source was looking."""
        evidence = self._by_id.get(id)
        if evidence is not None and column == FOUND and row == evidence.row_count == 0:
            return (0, FOUND) in self._shown[id]
        if evidence is None or not 0 <= row < len(evidence.rows) or all(c.name != column for c in evidence.columns):
            return False
        return self._everything or id in self._whole or (row, column) in self._shown[id]

    def shown(self) -> list[CellValue]:
        """Every shown cell, in order of evidence, row and column."""
        found: list[CellValue] = []
        for evidence in self._by_id.values():
            if self._everything or evidence.id in self._whole:
                found += evidence.cells()
            else:
                held = sorted(s for s in self._shown[evidence.id] if s[0] < len(evidence.rows))
                found += [evidence.cell(name, row) for row, name in held]
        return found

    def measured(self) -> Iterator[str]:
        """Names of the columns in which a shown cell holds a number, in order of evidence and column."""
        for id, evidence in self._by_id.items():
            if self._everything or id in self._whole:
                if id not in self._numeric:
                    self._numeric[id] = _numeric(evidence, lambda r, name: True)
                yield from self._numeric[id]
            else:
                seen = self._shown[id]
                yield from _numeric(evidence, lambda r, name, seen=seen: (r, name) in seen)


def _numeric(evidence: Evidence, seen: Callable[[int, str], bool]) -> tuple[str, ...]:
    """The columns of which one of the seen cells holds a number."""
    return tuple(
        c.name
        for i, c in enumerate(evidence.columns)
        if any(_number(row[i]) and seen(r, c.name) for r, row in enumerate(evidence.rows))
    )


def _number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without_secrets(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """The rows without secrets; a column is read downwards, since a key may stand in the lines of a log."""
    columns: list[Sequence[Cell]] = []
    for column in zip(*rows, strict=True):
        texts = iter(redact_lines([c for c in column if isinstance(c, str)]))
        columns.append([next(texts) if isinstance(c, str) else c for c in column])
    return tuple(zip(*columns, strict=True)) if columns else rows


def _key(query: str, sql: str, params: dict[str, Cell], row_count: int, sha256: str) -> str:
    """What makes two answers the same evidence."""
    return json.dumps([query, sql, params, row_count, sha256], sort_keys=True, default=str)
