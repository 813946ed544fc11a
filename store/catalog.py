r"""The questions that can be asked: one `.sql` file each, described by its header.

    -- job_events: What happened to a job in the scheduler's eyes, in order.
    -- TABLES: slurm_job_event
    -- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
    -- COLUMN event: what happened
    -- COLUMN after_s [s]: seconds since the submission
    -- CAVEAT: what an empty answer or a figure does not prove
    SELECT ...

`-- EMPTY: VARCHAR, BIGINT` gives the columns' types, and says that the query has no row where none of its tables has one:
planning it for nothing is then spared. `-- NEEDS: slurm_job, log_event.kind = signal | slurm` says more: no row where
`slurm_job` has none and `log_event` has none of these kinds; of several such lines each must hold. `log_line.text ~ loss|epoch`
needs a row whose text matches that regular expression, which has no comma outside of parentheses; as in the engine, `.` is any
character but a line's end, and a number is the text that it prints as.

`-- NONE: XID, GPU event` names what there was none of where the query has no row; each has all of its words in a sentence that
says so; `log exception` is told as what the log holds, and no more. Queries without it say nothing by an empty answer that anybody could put into words.

`-- HIDES: process_name, message` names the columns in which a row that is not the job's own may name a stranger: see
`store.strangers`. Such a query has a column `_own` besides; columns that begin with `_` are not part of its answer.

`-- WITH: attempts_asked` puts the common table expressions of `queries/shared/attempts_asked.sql` before the query's own; of
several, with commas between them, each may use those before it. `-- ONCE: train_step` in such a file, beside which a query names no
other, lets a connection keep the rows of its last expression, which has the file's name, for as long as that table's stay the same.

Planning a query takes longer than running it on a small job, and grows with the columns that are handed on from one common
table expression to the next: each names those that are read, and no `SELECT *` stands over a wide table.

A regular expression is compiled each time that its query runs, which takes longer than a small job's lines: what is compiled is
each counted repeat written out, and each character outside of ASCII byte by byte. So no `.{0,60}`, but `\C{0,60}` (bytes, where no
group begins or ends in them), and no count where it does not matter.

A unit `[$metric]` is that of the column whose name the parameter `metric` holds.

Parameters `job_id`, `node`, `from_ts` and `to_ts` let the reader leave out segments, where the text of the query shows
that every table it reads is limited by them; `-- PRUNE:` says so instead of the text, and `-- FIRST:` names a question that
is asked before for what it is to be limited by: see `store.pruning`.

`-- ALONE: job_id` says that the query has no row where any of its tables tells of another job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from store import lazy, pruning
from store.pruning import Limits, pruned_by
from store.result import Cell, ResultColumn, StoreError

QUERIES = Path(__file__).parent / "queries"
SHARED = QUERIES / "shared"


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: DuckDB type, whether it may be left out, and its default then; whether the query matches with it."""

    name: str
    sql_type: str
    optional: bool = False
    default: Cell = None
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """Rows of a table; with a column those that have one of these texts there, or one that the pattern matches."""

    table: str
    column: str = ""
    values: frozenset[str] = frozenset()
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Once:
    """What several questions derive alike from some tables: the SQL that gives its rows, and `rest`, the question that reads them as `name`."""

    name: str
    tables: tuple[str, ...]
    sql: str
    rest: str


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A question as its header describes it. `prunes` are, by table, the parameters by which segments may be left out; `first` is the
    question that is asked before for that. `alone`: there is no row where another job is known. `once` is the part of it that need not
    be derived for it alone.

    `empty` are its columns' types where it is known without running it when there is no row, else nothing: then that is
    so where in one of `needs` no part has a row. `none` are the things of which an empty answer says that there were none. `hides` are the columns that may name a stranger.
    """

    name: str
    title: str
    tables: tuple[str, ...]
    params: tuple[Param, ...]
    columns: tuple[ResultColumn, ...]
    caveat: str
    sql: str
    prunes: Mapping[str, Limits]
    empty: tuple[str, ...] = ()
    needs: tuple[tuple[Need, ...], ...] = ()
    none: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    first: str = ""
    alone: bool = False
    once: Once | None = None


@cache
def catalog() -> dict[str, QueryInfo]:
    """Every question by name. Raises StoreError when a header is wrong."""
    return {p.stem: parse(p.stem, p.read_text(encoding="utf-8")) for p in sorted(QUERIES.glob("*.sql"))}


_HEAD = lazy.compile(r"--\s?(.*)")
_COLUMN = lazy.compile(r"COLUMN\s+(\w+)\s*(?:\[([^\]]*)\])?\s*:\s*(.*)")
_MATCHES = lazy.compile(r"\bregexp_matches\((?:[^$(),]|\((?:[^()]|\([^()]*\))*\))*,\s*\$(\w+)\s*[,)]")
_PARAM = lazy.compile(r"(\w+)\s+([A-Z][A-Z ()\d,]*(?:\[\])?)(?:\s*=\s*(.+))?")


def parse(name: str, text: str) -> QueryInfo:
    """Read a query file. Raises StoreError that says which line of the header is wrong."""
    lines = text.strip().splitlines()
    head: list[str] = []
    while lines and (m := _HEAD.fullmatch(lines[0].strip())):
        head.append(m[1].strip())
        lines.pop(0)
    if not head or not head[0].startswith(f"{name}:"):
        raise StoreError(f"{name}.sql: the first line must be '-- {name}: what it answers'")
    fields: dict[str, str] = {}
    columns: list[ResultColumn] = []
    needs: list[str] = []
    last = ""
    for line in head[1:]:
        column = _COLUMN.fullmatch(line)
        key, colon, value = line.partition(":")
        if column:
            columns.append(ResultColumn(column[1], "", column[2] or "", column[3]))
            last = "COLUMN"
        elif colon and key == "NEEDS":
            needs.append(value)
        elif colon and key in (
            "TABLES",
            "PARAMS",
            "CAVEAT",
            "PRUNE",
            "EMPTY",
            "NONE",
            "WITH",
            "HIDES",
            "FIRST",
            "ALONE",
        ):
            fields[key] = value.strip()
            last = key
        elif last == "COLUMN":
            columns[-1] = replace(columns[-1], doc=f"{columns[-1].doc} {line}")
        elif last:
            fields[last] += " " + line
        else:
            raise StoreError(f"{name}.sql: cannot read the header line {line!r}")
    if len(empty := _words(fields.get("EMPTY", ""))) not in (0, len(columns)):
        raise StoreError(f"{name}.sql: EMPTY gives {len(empty)} types for {len(columns)} columns")
    sql, once = _with(name, fields.get("WITH", ""), "\n".join(lines).strip().rstrip(";").rstrip())
    tables = _words(fields.get("TABLES", ""))
    patterns = frozenset(_MATCHES.findall(sql))
    found = (_param(name, p) for p in _split(fields.get("PARAMS", "")))
    params = tuple(replace(p, regex=p.name in patterns) for p in found)
    if "PRUNE" in fields:
        prunes = pruning.read(name, fields["PRUNE"], tables)
    else:
        prunes = dict.fromkeys(tables, Limits(frozenset(pruned_by(sql, tables)) & {p.name for p in params}))
    return QueryInfo(
        name,
        head[0].partition(":")[2].strip(),
        tables,
        params,
        tuple(columns),
        fields.get("CAVEAT", ""),
        sql,
        prunes,
        empty,
        tuple(tuple(_need(name, n, tables) for n in _split(line)) for line in needs) or (tuple(map(Need, tables)),),
        tuple(_split(fields.get("NONE", ""))),
        _words(fields.get("HIDES", "")),
        fields.get("FIRST", ""),
        "ALONE" in fields,
        once,
    )


_ONCE = lazy.compile(r"(?m)^-- ONCE: (.*)$")


def _with(query: str, shared: str, sql: str) -> tuple[str, Once | None]:
    """The query after the common table expressions that it shares with others, and what of them is derived once."""
    if not shared:
        return sql, None
    texts: list[str] = []
    once: tuple[str, tuple[str, ...]] | None = None
    for name in _split(shared):
        path = SHARED / f"{name}.sql"
        if not path.is_file():
            raise StoreError(f"{query}.sql: there is no queries/shared/{name}.sql")
        text = path.read_text(encoding="utf-8")
        texts.append(re.sub(r"(?m)^--.*\n", "", text).strip())
        if (told := _ONCE.search(text)) is not None:
            once = name, _words(told[1])
    if once is not None and len(texts) > 1:
        raise StoreError(f"{query}.sql: {once[0]} is derived once: no other expression goes with it")
    common = ", ".join(texts)
    own = re.match(r"WITH\s+", sql)
    rest = f", {sql[own.end() :]}" if own else f"\n{sql}"
    whole = f"WITH {common}{rest}"
    return whole, Once(*once, f"WITH {common}\nFROM {once[0]}", rest) if once else None


def _words(text: str) -> tuple[str, ...]:
    return tuple(w for w in re.split(r"[,\s]+", text) if w and w != "none")


def _split(text: str) -> list[str]:
    return [p.strip() for p in re.split(r",(?![^(]*\))", text) if p.strip() and p.strip() != "none"]


def _param(query: str, text: str) -> Param:
    m = _PARAM.fullmatch(text)
    if m is None:
        raise StoreError(f"{query}.sql: cannot read the parameter {text!r}: write 'name TYPE' or 'name TYPE = default'")
    if m[3] is None:
        return Param(m[1], m[2].strip())
    return Param(m[1], m[2].strip(), True, _default(m[3].strip()))


_NEED = lazy.compile(r"(\w+)(?:\.(\w+)\s*(?:=\s*(\w+(?:\s*\|\s*\w+)*)|~\s*(\S.*)))?")


def _need(query: str, text: str, tables: tuple[str, ...]) -> Need:
    m = _NEED.fullmatch(text)
    if m is None or m[1] not in tables:
        raise StoreError(
            f"{query}.sql: cannot read the need {text!r}: write 'table', 'table.column = value | value' or 'table.column ~ pattern'"
        )
    return Need(m[1], m[2] or "", frozenset(re.split(r"\s*\|\s*", m[3])) if m[3] else frozenset(), m[4] or "")


def _default(text: str) -> Cell:
    if text.upper() == "NULL":
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d*\.\d+(?:e-?\d+)?|-?\d+e-?\d+", text):
        return float(text)
    return text.strip("'")
