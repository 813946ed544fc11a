"""Questions to a lake: an in-memory DuckDB that sees the lake and nothing else, bounded in memory, threads and time."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import duckdb

from store import catalog, cells, engine, regex, strangers, views
from store.alarm import Alarm, raise_if_called_off
from store.catalog import QueryInfo
from store.lake import Lake
from store.overlay import Overlay
from store.pruning import windows
from store.result import SIGNALLED, Cell, Coverage, QueryTimeout, Result, ResultColumn, StoreError
from store.rows import columns, tables
from store.shown import OPTIMIZERS, SMALL, Shown
from store.snapshot import Opened, Snapshots, Window
from store.statements import run

Self = TypeVar("Self", bound="Reader")
_NEIGHBOURS = catalog.parse("neighbours", strangers.NEIGHBOURS)
_MOST = 10_000
"""Rows of a question that is asked before another one: beyond them it limits nothing."""


class Reader:
    """Asks the questions of the catalog, one at a time, from any thread. A context manager."""

    def __init__(
        self,
        lake: Lake | Path | str,
        *,
        memory_mb: int = 1024,
        threads: int = 2,
        timeout_s: float = 30.0,
        prune: bool = True,
        settled: bool = False,
    ) -> None:
        """Raises StoreError when there is no lake. `prune=False` opens every segment of a table, for tests. `settled` says
        that nobody writes the lake any more: what it holds is looked up once, and not for every question."""
        self.lake = Lake.of(lake)
        self.lake.check()
        self._timeout_s = timeout_s
        self._prune = prune
        self._alarm = Alarm(timeout_s, _interrupting(weakref.ref(self)))
        weakref.finalize(self, self._alarm.stop)
        self._overlay = Overlay(self.lake)
        weakref.finalize(self, self._overlay.close)
        self.snapshots = Snapshots(self.lake, self._overlay, settled=settled)
        self._busy = threading.Lock()
        settings: engine.Settings = {}
        if self.lake.throw_away:
            self._con, settings = engine.asking_throw_away(
                memory_mb=memory_mb, threads=threads, adjustable=[OPTIMIZERS]
            )
        else:
            self._con = engine.asking(
                memory_mb=memory_mb,
                threads=threads,
                folders=[self.lake.tables, self._overlay.folder],
                adjustable=[OPTIMIZERS],
            )
        self._shown = Shown(self._con, settings)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._alarm.stop()
        self._con.close()
        self.snapshots.close()
        self._overlay.close()

    @property
    def lacks(self) -> str:
        """What nodes handed over and the last answer does not have, in words; empty where it has all."""
        return self._overlay.told

    def interrupt(self) -> None:
        """Stop the question that is being answered."""
        self._con.interrupt()

    def catalog(self) -> dict[str, QueryInfo]:
        """Every question by name."""
        return catalog.catalog()

    def ask(self, query: str, *, max_rows: int = 200, **params: Any) -> Result:
        """Answer a question of the catalog: at most `max_rows` rows, and how many there are.

        Raises StoreError for an unknown question or parameter and for a segment that cannot be read, QueryTimeout when
        it runs past the reader's limit.
        """
        info = self.catalog().get(query)
        if info is None:
            raise StoreError(f"no query {query!r}; there are {', '.join(self.catalog())}")
        bound, caveat = _searchable(info, _bound(info, params))
        result = self.run(info, bound, max_rows)
        return replace(result, caveat=f"{result.caveat} {caveat}".strip()) if caveat else result

    def run(self, info: QueryInfo, params: dict[str, Cell], max_rows: int) -> Result:
        """Answer a question, in or out of the catalog, with parameters that are complete. Raises as `ask` does."""
        with self._busy:
            return self._run(info, params, max_rows)

    def _run(self, info: QueryInfo, params: dict[str, Cell], max_rows: int) -> Result:
        started = time.perf_counter()
        wanted = self._wanted(info, params) if self._prune else None
        for attempt in (1, 2, 3):
            opened = self.snapshots.take(views.with_beside(info.tables), wanted)
            try:
                names, types, rows, total = self._execute(info, params, opened, max_rows)
                break
            except duckdb.IOException as e:
                # Compacted or aged out since the manifest was read: once more with the manifest as it is now.
                gone = [str(p) for o in opened.values() for p, _ in o if not p.exists()]
                if attempt == 3 or not gone:
                    raise _broken(info.name, e, opened) from e
                if attempt == 2:  # taken away by hand, perhaps, and still listed
                    self.snapshots.distrust()
            except (duckdb.InvalidInputException, duckdb.SerializationException, duckdb.InternalException) as e:
                raise _broken(info.name, e, opened) from e
            except duckdb.OutOfMemoryException as e:
                raise StoreError(
                    f"{info.name}: needs more memory than the reader may use: narrow it by job, node or time"
                ) from e
        else:
            raise AssertionError("unreachable")
        if info.hides:
            shown, rows = strangers.hidden(
                info, names, list(rows), params, lambda nodes: self._neighbours(params, nodes)
            )
            types = [t for n, t in zip(names, types, strict=True) if n in shown]
            names = shown
        described = {c.name: c for c in info.columns}
        columns = tuple(
            ResultColumn(n, t, _unit(info, described[n].unit, params), described[n].doc)
            if n in described
            else ResultColumn(n, t)
            for n, t in zip(names, types, strict=True)
        )
        return Result(
            info.name,
            info.sql,
            params,
            columns,
            tuple(rows),
            total,
            total > len(rows),
            tuple(_coverage(t, opened[t]) for t in info.tables),
            f"{info.caveat} {self.lacks}".strip(),
            time.perf_counter() - started,
        )

    def _wanted(self, info: QueryInfo, params: dict[str, Cell]) -> dict[str, Window]:
        """What is wanted of each table, with what the question that is to be asked before says of it."""
        if not info.first:
            return windows(info, params)
        first = self.catalog()[info.first]
        bound = {p.name: params.get(p.name, p.default) for p in first.params}
        found = self._run(first, bound, _MOST)
        if found.truncated:
            return windows(info, {})
        rows = found.dicts()
        named = frozenset(str(row["node"] or "") for row in rows) if "node" in {c.name for c in found.columns} else None
        return windows(info, params, [str(row["job_id"]) for row in rows if row.get("job_id") is not None], named)

    def _neighbours(self, params: dict[str, Cell], nodes: str) -> strangers.Rows:
        """Who else was on these nodes."""
        asked = {"job_id": params["job_id"], "nodes": nodes}
        return list(self._run(_NEIGHBOURS, asked, strangers.AT_MOST).rows)

    def coverage(self) -> list[Coverage]:
        """What the lake holds, by table, tables without a row included."""
        with self._busy:
            return [_coverage(t, o) for t, o in self.snapshots.take(tables()).items()]

    def _execute(
        self, info: QueryInfo, params: dict[str, Cell], opened: dict[str, Opened], max_rows: int
    ) -> tuple[list[str], list[str], tuple[tuple[Cell, ...], ...], int]:
        try:
            with self._alarm.armed():
                return self._answer(info, params, opened, max_rows)
        except duckdb.InterruptException as e:
            if self._alarm.rang:
                raise QueryTimeout(
                    f"{info.name}: ran past {self._timeout_s:g} s: narrow it by job, node or time"
                ) from e
            if not self._alarm.signalled:
                raise
            raise_if_called_off()
        except RuntimeError as e:
            # A signal's handler had its say while the engine ran: the engine stops, and forgets what the handler raised.
            if str(e) == SIGNALLED:
                raise KeyboardInterrupt from e
            raise
        # A signal's handler would have raised by now: it took note of the signal, and the answer is wanted all the same.
        return self._execute(info, params, opened, max_rows)

    def _answer(
        self, info: QueryInfo, params: dict[str, Cell], opened: dict[str, Opened], max_rows: int
    ) -> tuple[list[str], list[str], tuple[tuple[Cell, ...], ...], int]:
        alone = info.alone and _others(params["job_id"], opened)  # which costs less than to look into the tables
        if info.empty and (alone or self._shown.lacks(info.needs, opened)):
            return [c.name for c in info.columns], list(info.empty), (), 0
        self._shown.put(opened, info.sql, params)
        sql, given = self._shown.once(info, opened, params)
        cursor = run(self._con, sql, given)
        names = [d[0] for d in cursor.description or ()]
        types = [str(d[1]) for d in cursor.description or ()]
        found = cursor.fetchmany(max_rows + 1)
        total = len(found)
        if total > max_rows:
            # Going on to the end of an answer is cheaper than asking again how long it is, unless it is very long.
            total += len(cursor.fetchmany(SMALL))
            if total > SMALL:
                counted = self._con.execute(f"SELECT count(*) FROM ({sql})", given or None).fetchone()
                total = int(counted[0]) if counted else total
        return names, types, tuple(tuple(cells.cell(v) for v in row) for row in found[:max_rows]), total


def _interrupting(reader: weakref.ref[Reader]) -> Callable[[], None]:
    """Stops what a reader runs; it does not keep alive a reader that nobody else holds."""

    def interrupt() -> None:
        held = reader()
        if held is not None:
            held.interrupt()

    return interrupt


def _bound(info: QueryInfo, given: dict[str, Any]) -> dict[str, Cell]:
    unknown = sorted(set(given) - {p.name for p in info.params})
    if unknown:
        known = ", ".join(p.name for p in info.params) or "none"
        raise StoreError(f"{info.name}: no parameter {', '.join(unknown)}; it takes {known}")
    bound: dict[str, Cell] = {}
    for p in info.params:
        value = cells.cell(given[p.name]) if p.name in given else p.default
        if value is None and not p.optional:
            raise StoreError(f"{info.name}: parameter {p.name} ({p.sql_type}) is missing")
        if p.sql_type == "TIMESTAMP":  # DuckDB would ignore a zone's offset
            try:
                value = cells.instant_us(cells.microseconds(value))
            except ValueError as e:
                raise StoreError(f"{info.name}: {p.name}: {e}: write a time as 2026-03-01T10:00:00Z") from e
        bound[p.name] = value
    return bound


def _searchable(info: QueryInfo, bound: dict[str, Cell]) -> tuple[dict[str, Cell], str]:
    """What is no regular expression is searched as the text that it is; the caveat says so."""
    said: list[str] = []
    for p in info.params:
        given = bound[p.name]
        if p.regex and isinstance(given, str) and (why := regex.fault(given)):
            bound[p.name] = regex.literal(given)
            said.append(f"{p.name} is no regular expression ({why}): it was searched as the text that it is.")
    return bound, " ".join(said)


def _unit(info: QueryInfo, unit: str, params: dict[str, Cell]) -> str:
    """A unit as the header gives it; `$metric` stands for that of the column whose name the parameter holds."""
    if not unit.startswith("$"):
        return unit
    named = params.get(unit[1:])
    return next((c.unit for t in info.tables for c in columns(tables()[t]) if c.name == named), "")


def _others(job: Cell, opened: Mapping[str, Opened]) -> bool:
    """Whether segments tell of another job than this one."""
    return any(
        s.jobs != (job,) and s.jobs != () for found in opened.values() for _, s in found if "job_id" in s.columns
    )


def _coverage(table: str, opened: Opened) -> Coverage:
    first = min((s.ts_min for _, s in opened if s.ts_min is not None), default=None)
    last = max((s.ts_max for _, s in opened if s.ts_max is not None), default=None)
    rows = sum(s.rows for _, s in opened)
    return Coverage(table, len(opened), rows, cells.instant_us(first), cells.instant_us(last))


def _broken(query: str, error: Exception, opened: dict[str, Opened]) -> StoreError:
    text = str(error)
    named = [str(p) for o in opened.values() for p, _ in o if str(p) in text or p.name in text]
    where = f" in {named[0]}" if named else ""
    return StoreError(
        f"{query}: cannot read a segment{where}: {text.splitlines()[0]}. Run `inquest doctor`, then import again"
    )
