"""Spool to segments: DuckDB reads the CSV once and writes one Parquet file per partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from store.engine import PARQUET, literal, literals, struct
from store.lake import nonce
from store.manifest import MAX_JOBS, Segment
from store.rows import Row, columns
from store.spool import CSV_OPTIONS, LINE_LIMIT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def from_spool(
    con: DuckDBPyConnection, spool: Path, longest: int, row_type: type[Row], count: int, folder: Path
) -> dict[int, Segment]:
    """Write the rows of partition number 0 to `count` - 1 as segments into `folder`; segments by partition number."""
    types = {"_p": "INTEGER", **{c.name: c.sql_type for c in columns(row_type)}}
    limit = f", max_line_size={4 * longest + 64}" if 4 * longest > LINE_LIMIT else ""
    source = f"read_csv({literal(str(spool))}, {CSV_OPTIONS}{limit}, columns={struct(types)})"
    files: dict[int, str] = {}
    if count > 1:
        con.execute(f"CREATE OR REPLACE TEMP TABLE spool AS SELECT * FROM {source}")
        source = "spool"
    for number in range(count):
        files[number] = f"{nonce()}.parquet"
        where = f" WHERE _p = {number}" if count > 1 else ""
        target = literal(str(folder / files[number]))
        con.execute(f"COPY (SELECT * EXCLUDE (_p) FROM {source}{where}) TO {target} ({PARQUET})")
    if count > 1:
        con.execute("DROP TABLE spool")
    names = tuple(c.name for c in columns(row_type))
    described = describe(con, [folder / f for f in files.values()], names)
    return {number: described[file] for number, file in files.items()}


def describe(con: DuckDBPyConnection, paths: Sequence[Path], names: tuple[str, ...]) -> dict[str, Segment]:
    """What the manifest says about segments that have the columns `names`, by file name."""
    end = "greatest(end_ts, ts)" if "end_ts" in names else "ts"
    still_open = "bool_or(end_ts IS NULL)" if "end_ts" in names else "false"
    job = "job_id" if "job_id" in names else "NULL::VARCHAR"
    found = con.execute(
        f"""SELECT parse_filename(filename), count(*), epoch_us(min(ts)), epoch_us(max(ts)), count(*) > count(ts),
                   CASE WHEN {still_open} THEN NULL ELSE epoch_us(max({end})) END,
                   array_agg(DISTINCT {job}) FILTER ({job} IS NOT NULL), count(*) > count({job})
            FROM read_parquet({literals([str(p) for p in paths])}, filename = true) GROUP BY filename"""
    ).fetchall()
    sizes = {p.name: p.stat().st_size for p in paths}
    segments: dict[str, Segment] = {}
    for file, rows, ts_min, ts_max, null_ts, until, jobs, null_job in found:
        few = "job_id" in names and len(jobs or ()) <= MAX_JOBS
        jobs = tuple(sorted(jobs or ())) if few else None
        segments[file] = Segment(
            file, rows, sizes[file], ts_min, ts_max, null_ts, until, jobs, "job_id" in names and null_job, names
        )
    return segments
