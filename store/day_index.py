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
from itertools import groupby
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
CREATE INDEX of_anyone ON segment (tbl) WHERE anyones;
"""
_FIELDS = "file, rows, bytes, ts_min, ts_max, null_ts, until, jobs, null_job, columns, key, pub"
_MOST = 5_000
"""Values that one condition names at most: where there are more, it is left to the rule that looks at every segment."""
_REMEMBERED = 512
"""Windows of which a reader remembers what was found."""
Found = list[tuple[str, Segment]]
Place = tuple[str, str]
"""A table and a day of it."""


class DayIndex:
    """Looks up segments of listed days. For one thread at a time."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._generation = ""
        self._con: sqlite3.Connection | None = None
        self._columns: dict[int, tuple[str, ...]] = {}
        self._known: dict[tuple[frozenset[str], str, Window], dict[str, Found]] = {}

    def find(self, table: str, window: Window) -> tuple[frozenset[str], dict[str, Found]]:
        """The days of the table that are listed as they stand, and of them by day the segments that a window wants, with their
        partitions' folders, in order. No day where the list cannot be read.
        """
        generation = day_marks.newest(self._lake)
        if generation != self._generation:
            self.close()
            if generation:
                self._open(generation)
            self._generation = generation
        days = day_marks.valid(self._lake, table, generation) if self._con is not None else frozenset[str]()
        if not days:
            return days, {}
        known = self._known.get((days, table, window))
        if known is not None:
            return days, known
        import sqlite3

        found: dict[str, Found] = {}
        try:
            for day, node, *raw in self._rows(table, window):
                s = self._segment(raw)
                if day in days and (window.node is None or node == node_folder(window.node)) and window.wants(s, node):
                    found.setdefault(day, []).append((f"{table}/{day}/{node}", s))
        except (sqlite3.Error, ValueError, KeyError, TypeError):
            return frozenset(), {}
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[days, table, window] = found
        return days, found

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

    from store.snapshot import Window  # which looks up here

    home = day_marks.folder(lake)
    home.mkdir(exist_ok=True)
    owned_like_folder(home)
    with locked(home / "building", wait=False) as ours:
        if not ours:
            return 0
        _clear(home)
        now = (today or datetime.now(UTC)).date().isoformat()
        past = {(t, d) for t in tables() for d in entries(lake.tables / t) if d != NO_DAY and d < now}
        before, index = day_marks.newest(lake), DayIndex(lake)
        listed = past & {
            (t, d) for t in tables() for d in index.find(t, Window(nodes=frozenset()))[0]
        }  # none where it cannot be read
        index.close()
        if past == listed:
            return 0
        generation = f"{time.time_ns():020d}-{nonce()}"
        with lake.scratch() as scratch:
            path = scratch / "index"
            with closing(sqlite3.connect(path, isolation_level=None)) as con:
                con.executescript(_MAKE)
                kept = _copied(con, home / f"{before}{day_marks.SUFFIX}", listed) if before else set[Place]()
                new = sorted(past - kept, key=lambda place: place[::-1])
                columns: dict[str, int] = dict(con.execute("SELECT names, id FROM columns"))
                con.execute("BEGIN")
                for _, places in groupby(new, key=lambda place: place[1]):
                    of_day = list(places)
                    with day_marks.still(lake):
                        rows = [row for table, day in of_day for row in _of_day(lake, table, day)]
                        for table, day in of_day:
                            day_marks.mark(lake, table, day, generation)
                    _put(con, rows, columns)
                for table in sorted({t for t, _ in kept}):
                    with day_marks.still(lake):
                        same = day_marks.valid(lake, table, before)
                        for day in (d for t, d in kept if t == table and d in same):
                            day_marks.mark(lake, table, day, generation)
                con.execute("COMMIT")
                con.executescript(_INDEXES)
            if lake.durable:
                sync_file(path)
            path.rename(home / f"{generation}{day_marks.SUFFIX}")
            if lake.durable:
                sync_folder(home)
        _clear(home)
    return len({day for _, day in new})


def _clear(home: Path) -> None:
    """Remove what belongs to no generation, or to one before the newest: readers that have it open keep it."""
    names = entries(home)
    newest = max((n.removesuffix(day_marks.SUFFIX) for n in names if n.endswith(day_marks.SUFFIX)), default="")
    old = [home / n for n in names if "." in n and n != f"{newest}{day_marks.SUFFIX}"]
    old += [home / t / n for t in names for n in entries(home / t) if not (newest and n.endswith(f".{newest}"))]
    for path in old:
        with suppress(OSError):
            path.unlink()


def _copied(con: sqlite3.Connection, old: Path, wanted: set[Place]) -> set[Place]:
    """Take over what another list has of these days; none where it cannot be read."""
    import sqlite3

    try:
        con.execute("ATTACH ? AS old", [str(old)])
        for name in ("columns", "segment", "job"):
            con.execute(f"INSERT INTO main.{name} SELECT * FROM old.{name}")
        con.execute("DETACH old")
        gone = set(con.execute("SELECT DISTINCT tbl, day FROM segment")) - wanted
        con.executemany("DELETE FROM segment WHERE tbl = ? AND day = ?", gone)
        con.execute("DELETE FROM job WHERE segment NOT IN (SELECT id FROM segment)")
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            con.execute("DETACH old")
        for name in ("columns", "segment", "job"):
            con.execute(f"DELETE FROM main.{name}")
        return set()
    return wanted


def _of_day(lake: Lake, table: str, day: str) -> Iterator[tuple[str, str, str, Segment]]:
    for node in sorted(entries(lake.tables / table / day)):
        have = manifest.load(lake.tables / table / day / node)
        for s in have.segments if have is not None else ():
            yield table, day, node, s


def _put(con: sqlite3.Connection, rows: Iterable[tuple[str, str, str, Segment]], columns: dict[str, int]) -> None:
    for table, day, node, s in rows:
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
