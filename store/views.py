"""A table as a view over the segments that a question needs.

Two accounting files, or a file and a later poll, tell of the same attempt of a job: such rows are all kept, and read as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from store import echoes
from store.engine import literals
from store.manifest import Segment
from store.rows import LogRun, SlurmJob, columns, tables
from store.statements import Given

Segments = Sequence[tuple[Path, Segment]]
Opened = Mapping[str, Segments]


def definition(table: str) -> str:
    """The columns of a table with their types, as SQL defines them."""
    return ", ".join(f'"{c.name}" {c.sql_type}' for c in columns(tables()[table]))


def select(
    table: str, segments: Sequence[tuple[Path, Segment]], file: str | None = None, given: Given | None = None
) -> str:
    """SQL that gives the table's columns as this version knows them, from segments of any version.

    A column that a segment does not have reads as NULL, one that this version does not know is left out. `file` names one
    more column: the path of the segment that a row stands in. With `given`, here and below, the paths are parameters.
    """
    cols = columns(tables()[table])
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for path, s in segments:
        by_columns.setdefault(s.columns, []).append(str(path))
    if not by_columns:
        nulls = ", ".join(f'NULL::{c.sql_type} AS "{c.name}"' for c in cols)
        return f"SELECT {nulls} WHERE false"
    parts: list[str] = []
    for have, paths in by_columns.items():
        names = set(have)
        picked = ", ".join(f'"{c.name}"' if c.name in names else f'NULL::{c.sql_type} AS "{c.name}"' for c in cols)
        named = f'{picked}, filename AS "{file}"' if file else picked
        told = ", filename = true" if file else ""
        of = given.files(paths) if given is not None else literals(paths)
        parts.append(f"SELECT {named} FROM read_parquet({of}, hive_partitioning = false{told})")
    return " UNION ALL ".join(parts)


def view(table: str, segments: Segments, given: Given | None = None) -> str:
    """`select`, with the rows that are observations of one thing (`KEY`) merged: of each column its latest value,
    or what `MERGED` makes of all.

    A row that does not know its cluster belongs to the one cluster that knows the job or node (the first word of the key).
    """
    rows = select(table, segments, given=given)
    key = tables()[table].KEY
    if not key:
        return rows
    belongs = tables()[table].BELONGS
    if sum(s.rows for _, s in segments) == 1:  # nothing to merge, and planning how to takes long
        if not belongs:
            return rows
        sole = ", ".join(f'CASE WHEN "{of}" IS NOT NULL THEN "{n}" END AS "{n}"' for n, of in belongs.items())
        return f"SELECT * REPLACE ({sole}) FROM ({rows})"
    names = [c.name for c in columns(tables()[table])]
    subject, together = key[0], tables()[table].MERGED
    owner = f'coalesce("cluster", max("cluster") OVER (PARTITION BY "{subject}"))'
    order = ", ".join(w for w in ('"ts"', tables()[table].SETTLED, '"origin"') if w)
    merged = ", ".join(
        f'"{n}"'
        if n in key
        else f'"{n}_" AS "{n}"'
        if n == "cluster"
        else f'{together.get(n) or _latest(n, belongs.get(n), order)} AS "{n}"'
        for n in names
    )
    by = ", ".join([*(f'"{k}"' for k in ("cluster_", *key)), f'CASE WHEN "{subject}" IS NULL THEN "origin" END'])
    whole = f'SELECT {merged} FROM (SELECT *, {owner} AS "cluster_" FROM ({rows})) GROUP BY {by}'
    chosen = tables()[table].CHOSEN
    return f"SELECT * FROM ({whole}) QUALIFY {chosen}" if chosen else whole


def with_beside(names: Iterable[str]) -> tuple[str, ...]:
    """These tables, and those that `shown` needs for them: of which run the lines of a log are, and what accounting says of its job."""
    named = tuple(names)
    wanted: list[str] = [LogRun.TABLE] if any(tables()[n].OF_RUN for n in named) else []
    wanted += echoes.ACCOUNTS if any(map(echoes.concerns, named)) else ()
    return (*named, *(t for t in wanted if t not in named))


def beside(table: str, opened: Opened) -> list[tuple[Path, Segment]]:
    """The segments of other tables that `shown` reads for this one."""
    runs = opened.get(LogRun.TABLE, ()) if tables()[table].OF_RUN else ()
    return [*runs, *(p for t in echoes.ACCOUNTS for p in opened.get(t, ()) if echoes.concerns(table))]


def accounts(opened: Opened, given: Given | None = None) -> str:
    """What `shown` has to know of jobs to tell echoes apart, from these segments."""
    of = (*echoes.ACCOUNTS, LogRun.TABLE)
    return echoes.accounts(*(select(t, opened.get(t, ()), given=given) for t in of))


def tells_echoes(table: str, segments: Segments, opened: Opened) -> bool:
    """Whether `shown` needs `accounts` for this table."""
    return echoes.concerns(table) and bool(segments) and bool(opened.get(SlurmJob.TABLE))


def shown(table: str, segments: Segments, opened: Opened, known: str | None = None, given: Given | None = None) -> str:
    """`by_run`, and `echo` for whose words are not about its job. `opened` has the segments of the tables that tell so;
    `known` is a table with the rows of `accounts`."""
    rows = by_run(table, segments, opened, given)
    return marked(rows, opened, known, given) if tells_echoes(table, segments, opened) else rows


def marked(rows: str, opened: Opened, known: str | None = None, given: Given | None = None) -> str:
    """These rows of a table that `tells_echoes`, with the echoes marked."""
    return echoes.marked(rows, f"FROM {known}" if known else accounts(opened, given))


def by_run(table: str, segments: Segments, opened: Opened, given: Given | None = None) -> str:
    """`view`, with the rows of a log under the attempt of the run in whose lines they stand."""
    rows = view(table, segments, given)
    runs = opened.get(LogRun.TABLE, ())
    if segments and runs and tables()[table].OF_RUN:
        told = select(LogRun.TABLE, runs, given=given)
        spans = f"SELECT DISTINCT cluster, job_id, attempt, file, first_line, last_line FROM ({told})"
        rows = (
            f"SELECT l.* REPLACE (coalesce(r.attempt, l.attempt) AS attempt) FROM ({rows}) AS l "
            f"LEFT JOIN ({spans}) AS r ON r.job_id = l.job_id AND r.file = l.file AND r.cluster IS NOT DISTINCT FROM l.cluster "
            "AND l.line_no BETWEEN r.first_line AND r.last_line"
        )
    return rows


def _latest(column: str, of: str | None, order: str) -> str:
    """The latest value that is known; or, of a column that belongs to another, what stood beside the latest of that."""
    if of is None:
        return f'arg_max("{column}", ({order}))'
    return f'(arg_max({{\'v\': "{column}"}}, ({order})) FILTER (WHERE "{of}" IS NOT NULL)).v'
