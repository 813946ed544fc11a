"""The base of every row type: field metadata, the registry of tables, and the DDL that derives from them.

A table is one frozen dataclass. Each field is `Annotated[type, col("what it is", unit="W")]`; the DuckDB type follows
from the Python type, so there is no second place where a column is declared.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, TypeVar

R = TypeVar("R", bound="type[Row]")

SQL_TYPES: dict[type, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    datetime: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Col:
    """What a column means: `doc` is one phrase, `unit` the unit of its values or an empty string."""

    doc: str
    unit: str = ""


def col(doc: str, unit: str = "") -> Col:
    """Describe a column."""
    return Col(doc, unit)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the schema shows it: `python_type` is one of the keys of `SQL_TYPES`."""

    name: str
    python_type: type
    doc: str
    unit: str

    @property
    def sql_type(self) -> str:
        """The DuckDB type."""
        return SQL_TYPES[self.python_type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row carries. Absent is `None` and never zero; times are UTC (timezone-aware in Python).

    `origin` is where the row was read: a file's path relative to what was imported, or a collector's source name.
    """

    TABLE: ClassVar[str] = ""
    KEY: ClassVar[tuple[str, ...]] = ()
    """Rows that agree in these are observations of one thing: a reader shows one row, the latest word on each column."""
    SETTLED: ClassVar[str] = ""
    """SQL over a row that is true of the later word of two with the same time; empty where the time alone tells."""
    CHOSEN: ClassVar[str] = ""
    """SQL over the merged rows that is true of those which a reader shows; empty where it shows all."""
    BELONGS: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Columns that say something of another one only: a reader shows what stood beside that one's latest value."""
    MERGED: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Columns of which not the latest value holds, with the SQL aggregate over all that was said of them."""
    OF_RUN: ClassVar[bool] = False
    """Rows of a log's lines (`file`, `line_no`): a reader shows them under the attempt of their run (`log_run`)."""

    cluster: Annotated[str | None, col("cluster's name")] = None
    node: Annotated[str | None, col("node's name as Slurm spells it")] = None
    ts: Annotated[datetime | None, col("when it happened or was sampled (UTC)")] = None
    origin: Annotated[str | None, col("file (and line) or source that the row was read from")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow(Row):
    """A row that can be tied to a job."""

    job_id: Annotated[str | None, col("job id as Slurm shows it (4812, 4812_7, 4812+1)")] = None
    attempt: Annotated[
        int | None,
        col(
            "1 for the first run of the job id, one more for each requeue; 0 and less for earlier runs that only a log tells of"
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRow(JobRow):
    """A row that can be tied to one rank of a job."""

    step_id: Annotated[str | None, col("Slurm step: 0, 1, batch, extern")] = None
    rank: Annotated[int | None, col("global rank")] = None
    local_rank: Annotated[int | None, col("rank on its node")] = None


_TABLES: dict[str, type[Row]] = {}


def table(cls: R) -> R:
    """Register a row type under its `TABLE` name (a decorator)."""
    if not cls.TABLE or cls.TABLE in _TABLES:
        raise TypeError(f"{cls.__name__}: TABLE is empty or taken: {cls.TABLE!r}")
    _TABLES[cls.TABLE] = cls
    return cls


def tables() -> dict[str, type[Row]]:
    """Every table by name, sorted."""
    return dict(sorted(_TABLES.items()))


_columns_cache: dict[type[Row], tuple[Column, ...]] = {}


def columns(row_type: type[Row]) -> tuple[Column, ...]:
    """The columns of a row type in declaration order: the common ones first."""
    known = _columns_cache.get(row_type)
    if known is None:
        hints: dict[str, Any] = {}
        for of in reversed(row_type.__mro__):
            hints |= _annotations(of)
        known = tuple(_column(f.name, hints[f.name]) for f in dataclasses.fields(row_type))
        _columns_cache[row_type] = known
    return known


@cache
def _annotations(of: type) -> dict[str, Any]:
    """A class's own annotations: those of a base are read once, not again for each of its tables."""
    return inspect.get_annotations(of, eval_str=True)


def _column(name: str, hint: Any) -> Column:
    if typing.get_origin(hint) is not Annotated:
        raise TypeError(f"column {name}: not Annotated with col(...)")
    inner, meta = typing.get_args(hint)[:2]
    if isinstance(inner, types.UnionType):
        inner = next(a for a in typing.get_args(inner) if a is not type(None))
    return Column(name, inner, meta.doc, meta.unit)


def ddl(row_type: type[Row]) -> str:
    """`CREATE TABLE` for a row type."""
    body = ",\n  ".join(f'"{c.name}" {c.sql_type}' for c in columns(row_type))
    return f"CREATE TABLE {row_type.TABLE} (\n  {body}\n)"
