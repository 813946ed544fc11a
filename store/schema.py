"""The tables as data: what `inquest schema` prints and what a model is told."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from store.rows import Column, columns, ddl, tables


@dataclass(frozen=True, slots=True)
class Table:
    """A table: what one row is, its columns with units and types, and the statement that would create it."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    ddl: str


def schema() -> list[Table]:
    """Every table, sorted by name."""
    return [Table(name, inspect.getdoc(t) or "", columns(t), ddl(t)) for name, t in tables().items()]
