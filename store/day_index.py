"""The segments of past days in one file, so that a question need not look at the manifest of every node of every day.

Made anew by compaction for days that nobody has listed since they changed (see `store.day_marks`). A reader looks up what its
window may want in an SQLite file that nobody changes any more; it is chosen once more by the same rule as from manifests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from store import day_marks, manifest
from store.lake import NO_DAY, Lake, entries, locked, node_folder, nonce, owned_like_folder, sync_file, sync_folder
from store.manifest import Segment
from store.rows import tables

if TYPE_CHECKING:
    import sqlite3

    from store.snapshot import Window

_MAKE = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE columns (id INTEGER PRIMARY KEY, names TEXT UNIQUE);
CREATE TABLE segment (
  id INTEGER PRIMARY KEY, tbl TEXT, day TEXT, node TEXT, file TEXT, rows INTEGER, bytes INTEGER, ts_min INTEGER, ts_max INTEGER,
  null_ts INTEGER, until INTEGER, jobs TEXT, null_job INTEGER, columns INTEGER, key TEXT, pub TEXT, jobless INTEGER, anyones INTEGER
);
CREATE TABLE job (tbl TEXT, job TEXT, segment INTEGER, PRIMARY KEY (tbl, job, segment)) WITHOUT ROWID;
"""
_INDEXES = """
CREATE INDEX by_node ON segment (tbl, node);
CREATE INDEX by_day ON segment (day);
CREATE INDEX of_anyone ON segment (tbl) WHERE anyones;
"""
_FIELDS = "file, rows, bytes, ts_min, ts_max, null_ts, until, jobs, null_job, columns, key, pub"
_MOST = 5_000
"""Values that one condition names at most: where there are more, it is left to the rule that looks at every segment."""
_REMEMBERED = 512
"""Windows of which a reader remembers what was found."""
Found = list[tuple[str, Segment]]


class DayIndex:
    """Looks up segments of listed days. For one thread at a time."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._generation = ""
        self._con: sqlite3.Connection | None = None
        self._columns: dict[int, tuple[str, ...]] = {}
        self._known: dict[tuple[frozenset[str], str, Window], dict[str, Found]] = {}

    def days(self) -> frozenset[str]:
        """The days that are listed as they stand; none where the list cannot be read."""
        generation, days = day_marks.valid(self._lake)
        if generation != self._generation:
            self.close()
            if days:
                self._open(generation)
            self._generation = generation
        return days if self._con is not None else frozenset()

    def find(self, table: str, window: Window, days: frozenset[str]) -> dict[str, Found] | None:
        """By day the segments that a window wants, with their partitions' folders, in order; `days` is what `days()` gave.

        None where the list cannot be read.
        """
        known = self._known.get((days, table, window))
        if known is not None:
            return known
        import sqlite3

        found: dict[str, Found] = {}
        try:
            for day, node, *raw in self._rows(table, window):
                s = self._segment(raw)
                if day in days and (window.node is None or node == node_folder(window.node)) and window.wants(s, node):
                    found.setdefault(day, []).append((f"{table}/{day}/{node}", s))
        except (sqlite3.Error, ValueError, KeyError, TypeError):
            return None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[days, table, window] = found
        return found

    def close(self) -> None:
        """Forget the list."""
        if self._con is not None:
            self._con.close()
        self._con, self._generation = None, ""
        self._columns, self._known = {}, {}

    def _open(self, generation: str) -> None:
        import sqlite3  # here and below: most commands read no list, and start without it

        path = day_marks.folder(self._lake) / f"{generation}{day_marks.SUFFIX}"
        try:
            # `immutable`: the file never changes, so no lock is asked of a file system that may have none.
            self._con = sqlite3.connect(
                f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            found = self._con.execute("SELECT id, names FROM columns")
            self._columns = {i: tuple(json.loads(names)) for i, names in found}
        except (sqlite3.Error, ValueError):
            self.close()

    def _rows(self, table: str, w: Window) -> Iterator[Sequence[Any]]:
        """What the window could want, and perhaps more."""
        assert self._con is not None
        nodes = w.nodes if w.node is None else frozenset({node_folder(w.node)})
        on, at = _among("node", nodes)
        begun = "(null_ts OR ((?1 IS NULL OR until IS NULL OR until >= ?1) AND (?2 IS NULL OR ts_min IS NULL OR ts_min <= ?2)))"
        times: list[Any] = [w.start, w.end, table]
        if w.jobs is None:
            sql = f"SELECT id FROM segment WHERE tbl = ?3 AND {on}"
            values: list[Any] = at
        else:
            of, named = _among("job", w.jobs)
            # Of others' segments only what also holds rows without a job, on these nodes where the question names some.
            others = "1" if w.either and w.nodes is not None else "jobless"
            sql = (
                f"SELECT segment FROM job WHERE tbl = ?3 AND {of} UNION SELECT id FROM segment WHERE tbl = ?3 AND anyones "
                f"UNION SELECT id FROM segment WHERE tbl = ?3 AND {others} AND {on}"
            )
            values = named + at
        return self._con.execute(
            f"SELECT day, node, {_FIELDS} FROM segment WHERE id IN ({sql}) AND {begun} ORDER BY id", times + values
        )

    def _segment(self, raw: Sequence[Any]) -> Segment:
        file, rows, size, first, last, null_ts, until, jobs, null_job, columns, key, pub = raw
        return Segment(
            file, rows, size, first, last, bool(null_ts), until, None if jobs is None else tuple(json.loads(jobs)),
            bool(null_job), self._columns[columns], key, pub,
        )  # fmt: skip


def build(lake: Lake, *, today: datetime | None = None) -> int:
    """List the days before today (UTC) that changed since they were listed, or never were. Gives their number. Raises StoreError."""
    import sqlite3

    home = day_marks.folder(lake)
    home.mkdir(exist_ok=True)
    owned_like_folder(home)
    with locked(home / "building", wait=False) as ours:
        if not ours:
            return 0
        _clear(home)
        now = (today or datetime.now(UTC)).date().isoformat()
        past = {d for t in tables() for d in entries(lake.tables / t) if d != NO_DAY and d < now}
        before, listed = day_marks.valid(lake)
        new = sorted(past - listed)
        if not new:
            return 0
        generation = f"{time.time_ns():020d}-{nonce()}"
        with lake.scratch() as scratch:
            path = scratch / "index"
            with closing(sqlite3.connect(path, isolation_level=None)) as con:
                con.executescript(_MAKE)
                kept = _copied(con, home / f"{before}{day_marks.SUFFIX}", listed & past) if before else frozenset[str]()
                new = sorted(past - kept)
                columns: dict[str, int] = dict(con.execute("SELECT names, id FROM columns"))
                con.execute("BEGIN")
                for day in new:
                    with day_marks.still(lake):
                        rows = list(_of_day(lake, day))
                        (home / f"{day}.{generation}").touch()
                    _put(con, day, rows, columns)
                for day in sorted(kept):
                    with day_marks.still(lake):
                        same = (home / f"{day}.{before}").exists()
                        if same:
                            (home / f"{day}.{generation}").touch()
                    if not same:
                        con.execute("DELETE FROM segment WHERE day = ?", [day])
                con.execute("COMMIT")
                con.executescript(_INDEXES)
            if lake.durable:
                sync_file(path)
            path.rename(home / f"{generation}{day_marks.SUFFIX}")
            if lake.durable:
                sync_folder(home)
        _clear(home)
    return len(new)


def _clear(home: Path) -> None:
    """Remove what belongs to no generation, or to one before the newest: readers that have it open keep it."""
    names = [p.name for p in home.iterdir()]
    newest = max((n.removesuffix(day_marks.SUFFIX) for n in names if n.endswith(day_marks.SUFFIX)), default="")
    for name in names:
        if "." in name and name != f"{newest}{day_marks.SUFFIX}" and not (newest and name.endswith(f".{newest}")):
            with suppress(FileNotFoundError):
                (home / name).unlink()


def _copied(con: sqlite3.Connection, old: Path, days: frozenset[str] | set[str]) -> frozenset[str]:
    """Take over what another list has of these days; none where it cannot be read."""
    import sqlite3

    try:
        con.execute("ATTACH ? AS old", [str(old)])
        for name in ("columns", "segment", "job"):
            con.execute(f"INSERT INTO main.{name} SELECT * FROM old.{name}")
        con.execute("DETACH old")
        gone = {d for (d,) in con.execute("SELECT DISTINCT day FROM segment")} - days
        con.executemany("DELETE FROM segment WHERE day = ?", [(d,) for d in gone])
        con.execute("DELETE FROM job WHERE segment NOT IN (SELECT id FROM segment)")
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            con.execute("DETACH old")
        for name in ("columns", "segment", "job"):
            con.execute(f"DELETE FROM main.{name}")
        return frozenset()
    return frozenset(days)


def _of_day(lake: Lake, day: str) -> Iterator[tuple[str, str, Segment]]:
    for table in tables():
        for node in sorted(entries(lake.tables / table / day)):
            have = manifest.load(lake.tables / table / day / node)
            for s in have.segments if have is not None else ():
                yield table, node, s


def _put(con: sqlite3.Connection, day: str, rows: Iterable[tuple[str, str, Segment]], columns: dict[str, int]) -> None:
    for table, node, s in rows:
        names = json.dumps(s.columns)
        if names not in columns:
            columns[names] = len(columns) + 1
            con.execute("INSERT INTO columns VALUES (?, ?)", [columns[names], names])
        has = "job_id" in s.columns
        done = con.execute(
            f"INSERT INTO segment (tbl, day, node, {_FIELDS}, jobless, anyones) VALUES ({', '.join('?' * 17)})",
            [
                table, day, node, s.file, s.rows, s.bytes, s.ts_min, s.ts_max, s.null_ts, s.until,
                None if s.jobs is None else json.dumps(s.jobs), s.null_job, columns[names], s.key, s.pub,
                s.null_job or not has, has and s.jobs is None,
            ],
        )  # fmt: skip
        if has and s.jobs is not None:
            con.executemany(
                "INSERT OR IGNORE INTO job VALUES (?, ?, ?)", [(table, job, done.lastrowid) for job in s.jobs]
            )


def _among(name: str, values: frozenset[str] | None) -> tuple[str, list[Any]]:
    if values is None or len(values) > _MOST:
        return "1", []
    return f"{name} IN ({', '.join('?' * len(values))})", sorted(values)
