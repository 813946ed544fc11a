"""Many rows of one table, column by column: what a source that repeats itself gives in place of a row for each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from store.rows.base import Row


@dataclass(slots=True)
class Block:
    """`count` rows of `row_type` in order. `constants` are the same in every row, `columns` have `count` values each.

    A column of the table that is in neither is NULL. Nothing is in both.
    """

    row_type: type[Row]
    count: int
    constants: dict[str, Any]
    columns: dict[str, Sequence[Any]]

    @property
    def TABLE(self) -> str:
        """The table's name, as a row has it."""
        return self.row_type.TABLE

    def rows(self) -> Iterator[Row]:
        """The same rows one by one."""
        names = tuple(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield self.row_type(**self.constants, **dict(zip(names, values, strict=True)))

    def part(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop` as a block of their own."""
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        return Block(self.row_type, stop - start, dict(self.constants), columns)


def one_by_one(rows: Iterator[Row | Block]) -> Iterator[Row]:
    """The rows with the blocks among them taken apart."""
    for row in rows:
        if isinstance(row, Block):
            yield from row.rows()
        else:
            yield row
