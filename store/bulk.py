"""CSV files to segments without a row passing through Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from store.engine import PARQUET, literal, literals, struct
from store.lake import NO_DAY, Partition, nonce
from store.manifest import Segment
from store.result import StoreError
from store.rows import Column, columns, tables
from store.segments import ALWAYS, describe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Sealed = list[tuple[Partition, Path, Segment]]
MAX_LINE = 16_000_000
"""Longest record of a bulk file, in bytes."""


def seal_csv(
    con: DuckDBPyConnection,
    table: str,
    paths: Sequence[Path],
    names: Sequence[str],
    constants: Mapping[str, Any],
    line_end: str,
    folder: Path,
    *,
    known_only: bool = False,
) -> Sealed:
    """Write the rows of CSV files as segments into `folder`, one per day and node. Raises StoreError where one does not fit.

    With `known_only` columns that the table does not have are left out.
    """
    cols = _columns(table, (*(n for n in names if not known_only), *constants))
    filled = [p for p in paths if p.stat().st_size]
    if not filled:
        return []
    return _seal(
        con, table, filled[0], _csv(filled, names, cols, line_end), [n for n in names if n in cols], constants, folder
    )


def fits_csv(
    con: DuckDBPyConnection,
    table: str,
    path: Path,
    names: Sequence[str],
    line_end: str,
    *,
    known_only: bool = False,
) -> bool:
    """Do all values of a CSV file fit the columns `names` of the table?"""
    try:
        cols = _columns(table, () if known_only else names)
        con.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {_csv([path], names, cols, line_end)}")
    except (duckdb.Error, StoreError):
        return False
    return True


def _csv(paths: Sequence[Path], names: Sequence[str], cols: Mapping[str, Column], line_end: str) -> str:
    return (
        f"read_csv({literals([str(p) for p in paths])}, auto_detect=false, header=false, delim=',', quote='\"', escape='\"', nullstr='', "
        f"allow_quoted_nulls=false, new_line={literal(line_end.encode('unicode_escape').decode())}, "
        f"max_line_size={MAX_LINE}, buffer_size={2 * MAX_LINE}, columns={struct({n: cols[n].sql_type if n in cols else 'VARCHAR' for n in names})})"
    )


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
    # A column that has no value in the whole file is left out: it reads as NULL and costs nothing to write.
    given = {*names, *(n for n, v in constants.items() if v is not None), *ALWAYS}
    cols = {n: c for n, c in _columns(table, ()).items() if n in given}
    fields = ", ".join(_field(c, names, constants) for c in cols.values())
    whole = folder / f"{nonce()}.parquet"
    try:
        # The source is read once; whether it has to be split by day and node is asked of the segment that came of it.
        con.execute(f"COPY (SELECT {fields} FROM {source}) TO {literal(str(whole))} ({PARQUET})")
        rows = f"FROM read_parquet({literal(str(whole))})"
        places = con.execute(f"SELECT DISTINCT CAST(ts AS DATE), node {rows} ORDER BY ALL").fetchall()
        written: list[tuple[Partition, Path]] = []
        for day, node in places:
            file = whole
            if len(places) > 1:
                file = folder / f"{nonce()}.parquet"
                picked = (
                    f"CAST(ts AS DATE) IS NOT DISTINCT FROM {_day_sql(day)} AND node IS NOT DISTINCT FROM {_sql(node)}"
                )
                con.execute(f"COPY (SELECT * {rows} WHERE {picked}) TO {literal(str(file))} ({PARQUET})")
            written.append((Partition(table, NO_DAY if day is None else str(day), node), file))
    except duckdb.Error as e:
        raise StoreError(f"{path.name} does not fit the columns {', '.join(names)} of {table}: {e}") from e
    described = describe(con, [file for _, file in written], tuple(cols)) if written else {}
    return [(place, file, described[file.name]) for place, file in written]


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


def _day_sql(day: Any) -> str:
    return "NULL" if day is None else f"DATE {literal(str(day))}"
