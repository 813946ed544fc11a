"""What the questions of one connection see: each table over the segments of the moment, small ones as copies in memory.

Planning a question costs far more than running it on a small job, so what a question would otherwise plan again is made
once: a copy instead of a view over files, the minutes of a window instead of how they are derived, and a text's parse tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from store import views
from store.manifest import Segment
from store.result import Cell
from store.rollup import MACRO, WINDOW, window, without_job
from store.rows import GpuMinute, GpuSample

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

SMALL = 20_000
"""Up to so many rows a table is copied into memory once: planning a scan of its files costs more than the copy."""
_MINUTES = "gpu_window_rows"
_parsed: dict[str, Statement] = {}
_MOST_PARSED = 512

Files = tuple[Path, ...]


def parsed(con: DuckDBPyConnection, sql: str) -> Statement:
    """A statement's parse tree, made once in a process. For texts of ours, of which there are few; not for a stranger's."""
    known = _parsed.get(sql)
    if known is None:
        if len(_parsed) >= _MOST_PARSED:
            _parsed.clear()
        (known,) = con.extract_statements(sql)
        _parsed[sql] = known
    return known


class Shown:
    """The tables of one connection, of which each question gets those that it reads."""

    def __init__(self, con: DuckDBPyConnection) -> None:
        self._con = con
        self._files: dict[str, Files] = {}
        self._kinds: dict[str, str] = {}
        self._minutes: tuple[Files, Files, Cell, Cell] | None = None
        self._macro = ""

    def put(self, opened: Mapping[str, Sequence[tuple[Path, Segment]]], sql: str, params: Mapping[str, Cell]) -> None:
        """Make a question's tables those of these segments."""
        by_minute = MACRO in sql
        for table, segments in opened.items():
            if by_minute and table == GpuSample.TABLE and table not in sql:
                segments = without_job(segments)
            self._show(table, segments)
        if by_minute:
            alike = sql.count(MACRO) == sql.count(f"{MACRO}($from_ts, $to_ts)")
            self._show_window(params.get("from_ts"), params.get("to_ts"), alike)

    def _show(self, table: str, segments: Sequence[tuple[Path, Segment]]) -> None:
        files = tuple(path for path, _ in segments)
        if self._files.get(table) == files:
            return
        if table in self._kinds:
            self._con.execute(f"DROP {self._kinds.pop(table)} {table}")
            del self._files[table]
        rows = sum(s.rows for _, s in segments)
        kind = "TABLE" if rows <= SMALL else "VIEW"
        if not segments:
            self._con.execute(parsed(self._con, f"CREATE TEMP TABLE {table} ({views.definition(table)})"))
        else:
            self._con.execute(f"CREATE TEMP {kind} {table} AS {views.view(table, segments)}")
        self._kinds[table], self._files[table] = kind, files

    def _show_window(self, from_ts: Cell, to_ts: Cell, alike: bool) -> None:
        """`gpu_window`: as its rows where they are few and the question asks only for the window `from_ts` to `to_ts`."""
        if not alike or {self._kinds.get(GpuSample.TABLE), self._kinds.get(GpuMinute.TABLE)} != {"TABLE"}:
            if self._macro != WINDOW:
                self._con.execute(parsed(self._con, WINDOW))
                self._macro = WINDOW
            return
        minutes = (self._files[GpuSample.TABLE], self._files[GpuMinute.TABLE], from_ts, to_ts)
        if self._minutes != minutes:
            made = f"CREATE OR REPLACE TEMP TABLE {_MINUTES} AS {window('$from_ts', '$to_ts')}"
            self._con.execute(parsed(self._con, made), {"from_ts": from_ts, "to_ts": to_ts})
            self._minutes = minutes
        simple = f"CREATE OR REPLACE TEMP MACRO {MACRO}(from_ts, to_ts) AS TABLE SELECT * FROM {_MINUTES}"
        if self._macro != simple:
            self._con.execute(parsed(self._con, simple))
            self._macro = simple
