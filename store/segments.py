"""Spool to segments: DuckDB reads the CSV once and writes one Parquet file per partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from store.engine import PARQUET, literal, struct
from store.lake import nonce
from store.manifest import MAX_JOBS, Segment
from store.rows import columns
from store.spool import CSV_OPTIONS, LINE_LIMIT, Spool, Tally
from store.statements import Given, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ALWAYS = frozenset({"ts", "node", "job_id", "end_ts"})
"""Columns that every segment of a table that has them holds: what a segment is of is told by them."""


def from_spool(
    con: DuckDBPyConnection, spool: Spool, tallies: Sequence[Tally], folder: Path, form: str = PARQUET
) -> list[Segment]:
    """Write a closed spool's rows as segments into `folder`, one for each tally, in their order. `form` is how COPY writes them.

    A value that its column's type cannot hold (an integer of more than 64 bits) is stored as NULL.
    """
    from duckdb import ConversionException

    types = {"_p": "INTEGER", **{c.name: c.sql_type for c in columns(spool.row_type)}}
    limit = f", max_line_size={4 * spool.longest + 64}" if 4 * spool.longest > LINE_LIMIT else ""
    given = Given()
    source = f"read_csv({given.text(spool.path)}, {CSV_OPTIONS}{limit}, columns={struct(types)})"
    try:
        return _sealed(con, source, given, tallies, folder, form)
    except ConversionException:
        # A number that no column can hold must not cost the rows around it: the value goes, the row stays. The words are
        # put down first, since a cast over the CSV reader becomes a part of it and raises again.
        words = struct(dict.fromkeys(types, "VARCHAR"))
        con.execute(
            "CREATE OR REPLACE TEMP TABLE words AS "
            f"SELECT * FROM read_csv({literal(str(spool.path))}, {CSV_OPTIONS}{limit}, columns={words})"
        )
        kept = ", ".join(f'TRY_CAST("{name}" AS {kind}) AS "{name}"' for name, kind in types.items())
        segments = _sealed(con, f"(SELECT {kept} FROM words)", Given(), tallies, folder, form)
        con.execute("DROP TABLE words")
        return segments


def _sealed(
    con: DuckDBPyConnection, source: str, given: Given, tallies: Sequence[Tally], folder: Path, form: str
) -> list[Segment]:
    """`given` are the parameters of `source`."""
    names = tallies[0].columns if tallies else ()
    if len(tallies) > 1:
        run(con, f"CREATE OR REPLACE TEMP TABLE spool AS SELECT * FROM {source}", given)
        source, given = "spool", Given()
        # A small file costs by its columns: those that none of many files would have a value in are left out of them all.
        counts = run(con, f"SELECT {', '.join(f'count({quoted(n)})' for n in names)} FROM spool").fetchone() or ()
        names = tuple(n for n, c in zip(names, counts, strict=True) if c or n in ALWAYS)
    picked = ", ".join(map(quoted, names))
    segments: list[Segment] = []
    for tally in tallies:
        path = folder / f"{nonce()}.parquet"
        of = Given(given)
        where = f" WHERE _p = {of.number(tally.number)}" if len(tallies) > 1 else ""
        run(con, f"COPY (SELECT {picked} FROM {source}{where}) TO {of.text(path)} ({form})", of)
        segments.append(tally.segment(path.name, path.stat().st_size, names))
    if len(tallies) > 1:
        con.execute("DROP TABLE spool")
    return segments


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return f'"{name}"'


def describe(con: DuckDBPyConnection, paths: Sequence[Path], names: tuple[str, ...]) -> dict[str, Segment]:
    """What the manifest says about segments that have the columns `names`, by file name."""
    ends = [n for n in ("end_ts", "last_ts", "ts") if n in names]
    end = f"greatest({', '.join(ends)})"
    still_open = "bool_or(end_ts IS NULL)" if "end_ts" in names else "false"
    job = "job_id" if "job_id" in names else "NULL::VARCHAR"
    given = Given()
    found = run(
        con,
        f"""SELECT parse_filename(filename), count(*), epoch_us(min(ts)), epoch_us(max(ts)), count(*) > count(ts),
                   CASE WHEN {still_open} THEN NULL ELSE epoch_us(max({end})) END,
                   array_agg(DISTINCT {job}) FILTER ({job} IS NOT NULL), count(*) > count({job})
            FROM read_parquet({given.files(paths)}, filename = true) GROUP BY filename""",
        given,
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
