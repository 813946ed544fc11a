"""What the questions of one connection see: each table over the segments of the moment, small ones as copies in memory.

Planning a question costs far more than running it on a small job, so what a question would otherwise plan again is made
once: a copy instead of a view over files, the minutes of a window instead of how they are derived, and a text's parse tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from store import echoes, redact_sql, views
from store.catalog import Need, QueryInfo
from store.manifest import Segment
from store.result import Cell
from store.rollup import EACH, MACRO, RUN, TOTALS, WINDOW, totals, window, without_job
from store.rows import GpuMinute, GpuSample
from store.statements import Given, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from store.engine import Settings

SMALL = 20_000
"""Up to so many rows a table is copied into memory once: planning a scan of its files costs more than the copy."""
_LONG = 1_000_000
"""Characters in a column's texts, beyond which running a query takes less than looking whether they hold what it needs."""
_MINUTES = "gpu_window_rows"
_GPUS = "gpu_totals_rows"
_JOBS = "_jobs"
_MOST_KEPT = 1_000_000
"""Up to so many rows of its tables, what several questions derive alike from them is kept: more would need the memory that they run in."""
_MOST_COPIES = 4
"""Of one table, over different files: it bounds the memory that those that stand aside hold."""

OPTIMIZERS = "disabled_optimizers"
"""The setting that says which passes of the optimizer are left out."""
_NEEDED = frozenset(
    {"filter_pushdown", "unused_columns", "deliminator", "cte_inlining", "materialized_cte", "build_side_probe_side"}
)
"""Passes without which a join of few rows could become a product of all of them, or a column be read that nobody wants."""

Files = tuple[Path, ...]
Opened = Mapping[str, Sequence[tuple[Path, Segment]]]


def _passes(con: DuckDBPyConnection) -> str:
    """The optimizer's passes that few rows do not need, as this version of the engine names them."""
    if not _left_out:
        found = con.execute("SELECT name FROM duckdb_optimizers()").fetchall()
        _left_out.append(",".join(sorted({str(row[0]) for row in found} - _NEEDED)))
    return _left_out[0]


_left_out: list[str] = []


@dataclass(slots=True)
class _Copy:
    """A table over certain files: TABLE or VIEW, and its name while another one bears the table's."""

    files: Files
    kind: str
    aside: str
    texts: dict[str, frozenset[object]] = field(default_factory=dict[str, "frozenset[object]"])
    """Of some of its columns, the values that stand there."""
    lines: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Of some of its columns, the texts that stand there, one below the other; None where they are long."""


def _of(sql: str, params: Mapping[str, Cell]) -> dict[str, Cell]:
    """The parameters that a text names: the engine takes no others."""
    named = set(re.findall(r"\$(\w+)", sql))
    return {name: value for name, value in params.items() if name in named}


class _Kept:
    """Rows that were derived once, by what they were derived from: a few tables whose names begin alike."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._by_source: dict[tuple[object, ...], str] = {}
        self._made = 0

    def named(self, con: DuckDBPyConnection, source: tuple[object, ...], sql: str, params: dict[str, Cell]) -> str:
        """The table of the rows that `sql` gives of `source`, derived unless it is kept already."""
        name = self._by_source.get(source)
        if name is None:
            name = f"{self._name}_{self._made % _MOST_COPIES}"
            run(con, f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}", params)
            self._made += 1
            self._by_source = {k: v for k, v in self._by_source.items() if v != name} | {source: name}
        return name


class Shown:
    """The tables of one connection, of which each question gets those that it reads.

    Questions leave out segments by different parameters, so one job's questions need a table over a few sets of files in
    turn: those that are not needed now stand aside under another name.
    """

    def __init__(self, con: DuckDBPyConnection, settings: Settings) -> None:
        """`settings` is what was set last of the connection's engine."""
        self._con = con
        self._settings = settings
        self._copies: dict[str, dict[Files, _Copy]] = {}
        self._now: dict[str, _Copy] = {}
        self._made = 0
        self._minutes = _Kept(_MINUTES)
        self._gpus = _Kept(_GPUS)
        self._once: dict[str, _Kept] = {}
        self._macro = self._each = self._redacts = ""

    def put(self, opened: Opened, sql: str, params: Mapping[str, Cell]) -> None:
        """Make a question's tables those of these segments."""
        if (
            redact_sql.MACRO in sql and (redacts := redact_sql.macro(sql, params)) != self._redacts
        ):  # few do, and it is long
            run(self._con, redacts)
            self._redacts = redacts
        by_gpu = TOTALS in sql
        by_minute = by_gpu or MACRO in sql
        for table, segments in opened.items():
            if by_minute and table == GpuSample.TABLE and table not in sql:
                segments = without_job(segments)
            self._show(table, segments, opened)
        if by_minute:
            alike = sql.count(MACRO) == sql.count(f"{MACRO}($from_ts, $to_ts)")
            self._show_window(params.get("from_ts"), params.get("to_ts"), alike)
        self._leave_out(opened)
        if by_gpu:
            self._show_gpus(params, sql.count(TOTALS) == sql.count(f"{TOTALS}({', '.join(RUN)})"))

    def once(self, info: QueryInfo, opened: Opened, params: Mapping[str, Cell]) -> tuple[str, Mapping[str, Cell]]:
        """The text to run of a question whose tables are shown, and its parameters: what it derives as others do stands there as rows."""
        once = info.once
        if once is None or sum(s.rows for table in once.tables for _, s in opened[table]) > _MOST_KEPT:
            return info.sql, params
        asked = _of(once.sql, params)
        of = (*(self._now[table].files for table in once.tables), *asked.values())
        kept = self._once.setdefault(once.name, _Kept(f"{once.name}_rows")).named(self._con, of, once.sql, asked)
        sql = f"WITH {once.name} AS (FROM {kept}){once.rest}"
        return sql, _of(sql, params)

    def _leave_out(self, opened: Opened) -> None:
        """Leave out what the optimizer would do for many rows: over few it takes longer than it can save.

        Where each minute has a job, a list of nodes is never looked through: a join with it would be for nothing.
        """
        few = all(self._now[table].kind == "TABLE" for table in opened)
        owned = GpuMinute.TABLE in opened and not without_job(opened[GpuMinute.TABLE])
        passes = _passes(self._con) if few else "in_clause" if owned else ""
        if passes != self._settings.get(OPTIMIZERS, ""):
            run(self._con, f"SET {OPTIMIZERS} = '{passes}'")
            self._settings[OPTIMIZERS] = passes

    def _show_gpus(self, params: Mapping[str, Cell], alike: bool) -> None:
        """`gpu_totals`: as its rows, which most questions about a run's GPUs want, where the question asks for the run's only."""
        made = EACH
        if alike:
            asked = {p[1:]: params.get(p[1:]) for p in RUN}
            of = (self._now[GpuSample.TABLE].files, self._now[GpuMinute.TABLE].files, *asked.values())
            kept = self._gpus.named(self._con, of, totals(*RUN), asked)
            made = EACH[: EACH.index(" AS TABLE ")] + f" AS TABLE SELECT * FROM {kept}"
        if self._each != made:
            run(self._con, made)
            self._each = made

    def lacks(self, needs: Sequence[Sequence[Need]], opened: Opened) -> bool:
        """Whether these segments are known not to have the rows that a question needs. Few rows are looked through."""
        return any(not any(self._may_have(need, opened) for need in line) for line in needs)

    def _may_have(self, need: Need, opened: Opened) -> bool:
        segments = opened[need.table]
        if not segments or not need.column:
            return bool(segments)
        self._show(need.table, segments, opened)
        copy = self._now[need.table]
        if copy.kind != "TABLE":
            return True
        if need.pattern:
            lines = self._lines(need.table, need.column, copy)
            return lines is None or re.search(need.pattern, lines) is not None
        texts = copy.texts.get(need.column)
        if texts is None:
            found = run(self._con, f'SELECT DISTINCT "{need.column}" FROM {need.table}').fetchall()
            texts = copy.texts[need.column] = frozenset(row[0] for row in found)
        return not texts.isdisjoint(need.values)

    def _lines(self, table: str, column: str, copy: _Copy) -> str | None:
        if column not in copy.lines:
            asked = (
                f'SELECT string_agg("{column}"::VARCHAR, chr(10)) FROM {table} '
                f'HAVING coalesce((SELECT sum(length("{column}"::VARCHAR)) FROM {table}), 0) <= {_LONG}'
            )
            found = run(self._con, asked).fetchone()
            copy.lines[column] = None if found is None else found[0] or ""
        return copy.lines[column]

    def _show(self, table: str, segments: Sequence[tuple[Path, Segment]], opened: Opened) -> None:
        files = tuple(path for path, _ in (*segments, *views.beside(table, opened)))
        now = self._now.get(table)
        if now is not None and now.files == files:
            return
        if now is not None:
            self._con.execute(f"ALTER {now.kind} {table} RENAME TO {now.aside}")
            del self._now[table]
        copies = self._copies.setdefault(table, {})
        copy = copies.pop(files, None)
        if copy is not None:
            self._con.execute(f"ALTER {copy.kind} {copy.aside} RENAME TO {table}")
        else:
            if len(copies) >= _MOST_COPIES:
                oldest = copies.pop(next(iter(copies)))
                self._con.execute(f"DROP {oldest.kind} {oldest.aside}")
                self._con.execute(f"DROP TABLE IF EXISTS {oldest.aside}{_JOBS}")
            copy = self._make(table, segments, opened, files)
        self._now[table] = copies[files] = copy  # at the end: the first is the one that was not used for longest

    def _make(
        self,
        table: str,
        segments: Sequence[tuple[Path, Segment]],
        opened: Opened,
        files: Files,
    ) -> _Copy:
        kind = "TABLE" if sum(s.rows for _, s in segments) <= SMALL else "VIEW"
        self._made += 1
        aside, known = f"{table}_{self._made}", None
        if kind == "VIEW" and views.tells_echoes(table, segments, opened):
            known = f"{aside}{_JOBS}"  # what is known of the jobs is made once, and not for every question
            given = Given()
            run(self._con, f"CREATE TEMP TABLE {known} AS {views.accounts(opened, given)}", given)
        given = Given()
        if not segments:
            run(self._con, f"CREATE TEMP TABLE {table} ({views.definition(table)})")
        elif kind == "VIEW":  # which keeps its text, and has no parameters
            self._con.execute(f"CREATE TEMP VIEW {table} AS {views.shown(table, segments, opened, known)}")
        elif views.tells_echoes(table, segments, opened):
            run(self._con, f"CREATE TEMP TABLE {table} AS {views.by_run(table, segments, opened, given)}", given)
            if run(self._con, f"FROM {table} WHERE {echoes.MAY_BE} LIMIT 1").fetchone():
                self._con.execute(f"ALTER TABLE {table} RENAME TO {aside}")
                given = Given()
                marked = views.marked(f"FROM {aside}", opened, given=given)
                run(self._con, f"CREATE TEMP TABLE {table} AS {marked}", given)
                self._con.execute(f"DROP TABLE {aside}")
        else:
            run(self._con, f"CREATE TEMP TABLE {table} AS {views.shown(table, segments, opened, known, given)}", given)
        return _Copy(files, kind, aside)

    def _show_window(self, from_ts: Cell, to_ts: Cell, alike: bool) -> None:
        """`gpu_window`: as its rows where they are few and the question asks only for the window `from_ts` to `to_ts`."""
        sample, minute = self._now[GpuSample.TABLE], self._now[GpuMinute.TABLE]
        if not alike or {sample.kind, minute.kind} != {"TABLE"}:
            if self._macro != WINDOW:
                run(self._con, WINDOW)
                self._macro = WINDOW
            return
        of = (sample.files, minute.files, from_ts, to_ts)
        asked = {"from_ts": from_ts, "to_ts": to_ts}
        kept = self._minutes.named(self._con, of, window("$from_ts", "$to_ts"), asked)
        simple = f"CREATE OR REPLACE TEMP MACRO {MACRO}(from_ts, to_ts) AS TABLE SELECT * FROM {kept}"
        if self._macro != simple:
            run(self._con, simple)
            self._macro = simple
