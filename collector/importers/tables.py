"""`TABLE.csv` and `TABLE.parquet`: rows that somebody already has in the columns of `inquest schema`.

SOURCE  any tool; the file's name is the table's, or begins with it (`gpu_sample-node1.csv`).
ROWS    that table. Times are ISO (without an offset UTC, as the schema has them) or epoch seconds; an empty cell is absent.
CAVEAT  a column that the table does not have is reported and left out; a cell of the wrong type is reported and absent.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from collector.formats import slurm_values as sv
from collector.formats.text import lines
from collector.importers.base import ImportContext, ImportFailed
from store.rows import Column, JobRow, RankRow, Row, columns, tables

_BATCH = 4096
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRUE, _FALSE = frozenset({"true", "t", "yes", "1"}), frozenset({"false", "f", "no", "0"})
_ABSENT = frozenset({"", "null", "none", "na", "n/a", "\\n"})


class WrongType(ValueError):
    """A cell that is not of its column's type."""


class Tables:
    """Reads tables by name."""

    name: ClassVar[str] = "tables"
    covers: ClassVar[tuple[str, ...]] = ()

    def claims(self, path: Path, head: bytes) -> int:
        """The name is a table's, and the first bytes are Parquet or a header of its columns."""
        table = table_of(path)
        if table is None:
            return 0
        if head.startswith(b"PAR1"):
            return 98
        first = head.partition(b"\n")[0].decode("utf-8-sig", "replace")
        known = {c.name for c in columns(tables()[table])}
        return 98 if known.intersection(_header(first)) else 0

    def covers_of(self, path: Path) -> tuple[str, ...]:
        """The table that this file fills."""
        table = table_of(path)
        return (table,) if table else ()

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """The file's rows in order."""
        table = table_of(path)
        if table is None:
            raise ImportFailed(f"no table of this name: there are {', '.join(tables())}")
        with path.open("rb") as stream:
            parquet = stream.read(4) == b"PAR1"
        kind = tables()[table]
        known = {c.name: c for c in columns(kind)}
        for number, cells in _parquet(path, ctx) if parquet else _csv(path, ctx):
            if number == 1:
                strange = [name for name in cells if name not in known]
                if strange:
                    ctx.problem(f"{table} has no column {', '.join(strange[:10])}: left out")
                if len(strange) == len(cells):
                    raise ImportFailed(f"{table}: none of its columns is here (see `inquest schema`)")
            yield _row(kind, known, cells, ctx, number)


def table_of(path: Path) -> str | None:
    """The table that a file's name stands for."""
    stem = path.name.partition(".")[0].lower()
    if path.suffix.lower() not in {".csv", ".parquet", ".gz"}:
        return None
    names = sorted(tables(), key=len, reverse=True)
    return next((t for t in names if stem == t or (stem.startswith(t) and stem[len(t)] in "-_")), None)


def _row(
    kind: type[Row], known: Mapping[str, Column], cells: Mapping[str, Any], ctx: ImportContext, number: int
) -> Row:
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        column = known.get(name)
        if column is None or cell is None:
            continue
        try:
            values[name] = typed(cell, column.python_type, ctx)
        except WrongType as wrong:
            ctx.problem(f"row {number}, {name}: {wrong}")
    values.setdefault("origin", f"{ctx.name}:{number}")
    if values.get("cluster") is None:
        values["cluster"] = ctx.cluster
    if issubclass(kind, JobRow) and values.get("job_id") is None and issubclass(kind, RankRow):
        values["job_id"] = ctx.job_id
    return kind(**values)


def typed(cell: Any, wanted: type, ctx: ImportContext) -> Any:
    """The cell as its column's type; None for an empty one. Raises WrongType."""
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in _ABSENT and (wanted is not str or not text):
            return None
        return cell if wanted is str else _from_text(text, wanted, ctx)
    if isinstance(cell, Decimal):
        cell = int(cell) if cell == cell.to_integral_value() else float(cell)
    if wanted is datetime:
        return _moment(cell, ctx)
    if wanted is str:
        return str(cell)
    if isinstance(cell, bool):
        if wanted is bool:
            return cell
        raise WrongType(f"{cell!r} is not a number")
    if isinstance(cell, (int, float)):
        return _number(cell, wanted)
    raise WrongType(f"{str(cell)[:40]!r} is not of type {wanted.__name__}")


def _from_text(text: str, wanted: type, ctx: ImportContext) -> Any:
    if wanted is bool:
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise WrongType(f"{text[:40]!r} is neither true nor false")
    if wanted is datetime:
        moment = sv.time(text, UTC)
        if moment is None:
            raise WrongType(f"{text[:40]!r} is not a time (2026-03-01T10:00:00Z)")
        return moment
    try:
        if wanted is int and len(text) < 20:
            return _number(int(text), int)
    except ValueError:
        pass
    try:
        return _number(float(text), wanted)
    except ValueError:
        raise WrongType(f"{text[:40]!r} is not a number") from None


def _number(value: float, wanted: type) -> int | float | bool:
    if wanted is float:
        return float(value)
    if wanted is bool:
        if value in (0, 1):
            return bool(value)
        raise WrongType(f"{value!r} is neither true nor false")
    if isinstance(value, float) and (not math.isfinite(value) or not value.is_integer()):
        raise WrongType(f"{value!r} is not a whole number")
    if not -(2**63) <= value < 2**63:
        raise WrongType("too large for a whole number of 64 bits")
    return int(value)


def _moment(cell: Any, ctx: ImportContext) -> datetime | None:
    if isinstance(cell, datetime):
        return sv.to_utc(cell, UTC)
    if isinstance(cell, date):
        return sv.to_utc(datetime(cell.year, cell.month, cell.day), UTC)
    moment = sv.time(cell, UTC)
    if moment is None:
        raise WrongType(f"{str(cell)[:40]!r} is not a time")
    return moment


def _header(first: str) -> list[str]:
    try:
        return [c.strip().lower() for c in next(csv.reader([first]), list[str]())]
    except csv.Error:
        return []


def _csv(path: Path, ctx: ImportContext) -> Iterator[tuple[int, dict[str, Any]]]:
    """Data rows from 1. A quoted cell may hold newlines."""
    csv.field_size_limit(16 << 20)  # a log line or a traceback may be longer than csv's own limit
    reader = csv.reader(text + "\n" for _, text in lines(path, ctx))
    try:
        names = [c.strip().lower() for c in next(reader, list[str]())]
        for number, values in enumerate(reader, 1):
            if not values:
                continue
            if len(values) != len(names):
                ctx.problem(f"row {number}: {len(values)} cells where the header has {len(names)}")
            yield number, dict(zip(names, values, strict=False))
    except csv.Error as error:
        raise ImportFailed(f"not readable as CSV: {error}") from None


def _parquet(path: Path, ctx: ImportContext) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows through DuckDB, which may read this one file and nothing else."""
    import duckdb

    con = duckdb.connect(":memory:", config={"threads": "1", "memory_limit": "512MB"})
    try:
        con.execute("SET TimeZone = 'UTC'")
        con.execute("SET allowed_paths = ?", [[str(path.resolve())]])
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
        source = [str(path.resolve())]
        shape = con.execute("DESCRIBE SELECT * FROM read_parquet(?)", source).fetchall()
        exact = {str(c[0]).lower() for c in shape if str(c[1]) == "TIMESTAMP WITH TIME ZONE"}
        quoted = [(str(c[0]), '"' + str(c[0]).replace('"', '""') + '"') for c in shape]
        wanted = ", ".join(f"epoch_us({q}) AS {q}" if name.lower() in exact else q for name, q in quoted)
        found = con.execute(f"SELECT {wanted} FROM read_parquet(?)", source)
        names = [name.lower() for name, _ in quoted]
        number = 0
        while batch := found.fetchmany(_BATCH):
            for values in batch:
                number += 1
                cells = dict(zip(names, values, strict=True))
                for name in exact:
                    if isinstance(cells[name], int):
                        cells[name] = _EPOCH + timedelta(microseconds=cells[name])
                yield number, cells
        ctx.bytes_read += ctx.size
    except (duckdb.Error, OverflowError) as error:
        raise ImportFailed(f"not readable as Parquet: {str(error).splitlines()[0][:200]}") from None
    finally:
        con.close()
