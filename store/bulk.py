"""A CSV file to segments without a row passing through Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from store.engine import PARQUET, literal, struct
from store.lake import NO_DAY, Partition, nonce
from store.manifest import Segment
from store.result import StoreError
from store.rows import Column, columns, tables
from store.segments import describe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Sealed = list[tuple[Partition, Path, Segment]]
MAX_LINE = 16_000_000
"""Longest record of a bulk file, in bytes."""


def seal_csv(
    con: DuckDBPyConnection,
    table: str,
    path: Path,
    names: Sequence[str],
    constants: Mapping[str, Any],
    line_end: str,
    folder: Path,
) -> Sealed:
    """Write the rows of a CSV file as segments into `folder`, one per day and node. Raises StoreError when it does not fit."""
    cols = _columns(table, (*names, *constants))
    if not path.stat().st_size:
        return []
    source = (
        f"read_csv({literal(str(path))}, auto_detect=false, header=false, delim=',', quote='\"', escape='\"', nullstr='', "
        f"allow_quoted_nulls=false, new_line={literal(line_end.encode('unicode_escape').decode())}, "
        f"max_line_size={MAX_LINE}, columns={struct({n: cols[n].sql_type for n in names})})"
    )
    return _seal(con, table, path, source, names, constants, folder)


def seal_parquet(con: DuckDBPyConnection, table: str, path: Path, constants: Mapping[str, Any], folder: Path) -> Sealed:
    """Write the rows of a Parquet file as segments into `folder`: the columns that the table has, cast to its types.

    Raises StoreError when it is no Parquet file, shares no column with the table, or a value cannot be cast.
    """
    cols = _columns(table, tuple(constants))
    source = f"read_parquet({literal(str(path))}, hive_partitioning = false)"
    try:
        found = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    except duckdb.Error as e:
        raise StoreError(f"{path.name} is not a Parquet file that can be read: {str(e).splitlines()[0]}") from e
    names = [str(f[0]) for f in found if f[0] in cols]
    if not names:
        raise StoreError(f"{path.name} has no column of {table}; see `inquest schema`")
    return _seal(con, table, path, source, names, constants, folder)


def _columns(table: str, names: Sequence[str]) -> dict[str, Column]:
    row_type = tables().get(table)
    if row_type is None:
        raise StoreError(f"no table {table!r}; there are {', '.join(tables())}")
    cols = {c.name: c for c in columns(row_type)}
    wrong = [n for n in names if n not in cols]
    if wrong:
        raise StoreError(f"{table} has no column {', '.join(wrong)}; see `inquest schema`")
    return cols


def _seal(
    con: DuckDBPyConnection,
    table: str,
    path: Path,
    source: str,
    names: Sequence[str],
    constants: Mapping[str, Any],
    folder: Path,
) -> Sealed:
    cols = _columns(table, ())
    fields = ", ".join(_field(c, names, constants) for c in cols.values())
    rows = f"SELECT {fields} FROM {source}"
    where = {"ts": "ts" in names, "node": "node" in names}
    try:
        if not any(where.values()):
            places: list[tuple[Any, Any]] = [(_day_of(constants.get("ts")), constants.get("node"))]
        else:
            places = con.execute(f"SELECT DISTINCT CAST(ts AS DATE), node FROM ({rows}) ORDER BY ALL").fetchall()
            if len(places) > 4:  # more readings of the file than that cost more than holding it
                con.execute(f"CREATE OR REPLACE TEMP TABLE bulk AS {rows}")
                rows = "SELECT * FROM bulk"
        written: list[tuple[Partition, Path]] = []
        for day, node in places:
            file = folder / f"{nonce()}.parquet"
            picked = rows
            if len(places) > 1:
                limits = (
                    f"CAST(ts AS DATE) IS NOT DISTINCT FROM {_day_sql(day)} AND node IS NOT DISTINCT FROM {_sql(node)}"
                )
                picked = f"SELECT * FROM ({rows}) WHERE {limits}"
            con.execute(f"COPY ({picked}) TO {literal(str(file))} ({PARQUET})")
            written.append((Partition(table, NO_DAY if day is None else str(day), node), file))
    except duckdb.Error as e:
        raise StoreError(f"{path.name} does not fit the columns {', '.join(names)} of {table}: {e}") from e
    described = describe(con, [file for _, file in written], tuple(cols))
    return [(place, file, described[file.name]) for place, file in written if file.name in described]


def _field(column: Column, names: Sequence[str], constants: Mapping[str, Any]) -> str:
    if column.name in names:
        return f'CAST("{column.name}" AS {column.sql_type}) AS "{column.name}"'
    return f'CAST({_sql(constants.get(column.name))} AS {column.sql_type}) AS "{column.name}"'


def _sql(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None).isoformat(" ") if value.tzinfo else value.isoformat(" ")
    return literal(str(value))


def _day_of(ts: datetime | None) -> str | None:
    if ts is None:
        return None
    return (ts.astimezone(UTC) if ts.tzinfo else ts).date().isoformat()


def _day_sql(day: Any) -> str:
    return "NULL" if day is None else f"DATE {literal(str(day))}"
