"""What of a table is there at one moment: the segments that are committed, as one consistent picture.

Manifests are read, then the commit records of the keys in them, then the manifests again (those that did not change
are known by their inode and time). A publication whose record was read had entered all its manifests before, so the
second reading has all of it; one that was not yet committed when its record was read does not count, although some of
it may be seen. Past days that did not change since they were listed are looked up instead (see `store.day_index`): whoever changes
such a day takes it off the list before. Segments of a publication that was replaced or merged stay listed or on disk for a grace period.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from store import commits, manifest
from store.day_index import DayIndex
from store.lake import NO_DAY, Lake, Partition, entries, folder_node, node_folder, read_raw
from store.manifest import MANIFEST, Manifest, Segment
from store.rows import columns, tables

if TYPE_CHECKING:
    from store.overlay import Overlay


@dataclass(frozen=True, slots=True)
class Window:
    """What a question wants of a table; None is no limit. Times in microseconds since 1970 (UTC), nodes as their folders.

    With `jobs` it wants their rows and those without a job; with `nodes` too, of the latter those on one of these nodes, or with
    `either` anybody's there. With `nodes` alone it wants the rows on these.
    """

    jobs: frozenset[str] | None = None
    node: str | None = None
    nodes: frozenset[str] | None = None
    either: bool = False
    start: int | None = None
    end: int | None = None

    def of(self, table: str) -> Window:
        """The window for one table: what a thing is was written down long before anything happened to it."""
        if table in OF_JOBS:
            return Window(jobs=self.jobs)
        return dataclasses.replace(self, start=None, end=None) if table in TIMELESS else self

    def reaches(self, table: str, day: str) -> bool:
        """Could a row of the table that this window wants stand under this day?"""
        if day == NO_DAY:
            return True
        if self.end is not None and _starts(day) > self.end:
            return False
        # What lasts stands under the day on which it began.
        return self.start is None or "end_ts" in _columns_of(table) or _starts(day) + DAY_US > self.start

    def on(self, node: str) -> bool:
        """Could a row that this window wants stand under this folder of a node?"""
        if self.node is not None:
            return node == node_folder(self.node)
        return self.nodes is None or self.jobs is not None or node in self.nodes

    def wants(self, s: Segment, node: str) -> bool:
        """Could the segment, of the partition with this folder name for its node, hold a row of this window?"""
        on = self.nodes is None or node in self.nodes
        if self.jobs is None:
            if not on:
                return False
        elif "job_id" not in s.columns or (s.jobs is not None and self.jobs.isdisjoint(s.jobs)):
            jobless = s.null_job or "job_id" not in s.columns
            if not (on and (jobless or (self.either and self.nodes is not None))):
                return False
        if s.null_ts:
            return True
        if self.start is not None and s.until is not None and s.until < self.start:
            return False
        return self.end is None or s.ts_min is None or s.ts_min <= self.end


EVERYTHING = Window()
TIMELESS = frozenset({"gpu_device"})
"""Tables whose rows hold until a later one of the same thing: no question's time leaves any of them out."""
OF_JOBS = frozenset({"log_run"})
"""Tables whose rows say of a job what holds whatever node or time a question is limited to."""
DAY_US = 86_400 * 1_000_000
TRIES = 8
"""So often is a picture taken again where what waits was taken in meanwhile."""
T = TypeVar("T")
Opened = list[tuple[Path, Segment]]
RACY_S = 2.0
"""A file that changed so shortly ago could change again without its time showing it: it is read again."""


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    """What a file held: when its `stamp` (inode, time and size) is the same, or where that cannot tell yet, its bytes."""

    stamp: tuple[int, int, int] | None
    raw: bytes
    value: T


class Snapshots:
    """Reads snapshots of a lake's tables and remembers manifests and records that cannot have changed."""

    def __init__(self, lake: Lake, overlay: Overlay | None = None, *, settled: bool = False) -> None:
        """With an overlay what waits to be taken in belongs to the picture. Of a lake that is `settled`, which nobody writes
        any more, one picture of each table is taken, and each window chooses from it."""
        self._lake = lake
        self._overlay = overlay
        self._whole: dict[str, list[tuple[str, str, Path, Segment]]] | None = {} if settled else None
        self._index: DayIndex | None = DayIndex(lake)
        self._manifests: dict[str, _Known[Manifest]] = {}
        self._records: dict[str, _Known[commits.Commit]] = {}
        self._paths: dict[tuple[str, str], Path] = {}
        self._places: dict[str, Path] = {}

    def take(self, tables: Iterable[str], wanted: Mapping[str, Window] | None = None) -> dict[str, Opened]:
        """The committed segments of tables that their windows want, with their paths, in a stable order.

        One moment for all the tables: a batch is in all of them or in none.
        """
        windows = {t: (wanted or {}).get(t, EVERYTHING).of(t) for t in tables}
        if self._whole is None or (self._overlay is not None and self._overlay.parts(())):
            return self._take(windows)
        return {t: self._chosen(t, window) for t, window in windows.items()}

    def _chosen(self, table: str, window: Window) -> Opened:
        """What a window wants of a table of a settled lake."""
        assert self._whole is not None
        whole = self._whole.get(table)
        if whole is None:
            found = self._picture({table: EVERYTHING})[0][table]
            whole = self._whole[table] = [(path.parts[-3], path.parts[-2], path, s) for path, s in found]
        return [
            (path, s)
            for day, node, path, s in whole
            if window.reaches(table, day) and window.on(node) and window.wants(s, node)
        ]

    def _take(self, windows: Mapping[str, Window]) -> dict[str, Opened]:
        names = list(windows)
        if self._overlay is None:
            return self._picture(windows)[0]
        tries = 0
        while True:
            waiting = self._overlay.parts(names)
            opened, counted = self._picture(windows)
            lacking = self._overlay.choose(waiting, counted)
            tries += 1
            if lacking is not None or tries >= TRIES:
                break
        if lacking is None:
            self._overlay.left += sum(len(part.chunks) for part in waiting)
        for part in lacking or ():
            for table in names:
                window = windows[table]
                node = None if window.node is None else node_folder(window.node)
                for place, path, s in part.tables[table]:
                    home = node_folder(place.node)
                    if node in (None, home) and window.wants(s, home):
                        opened[table].append((path, s))
        return opened

    def _picture(self, windows: Mapping[str, Window]) -> tuple[dict[str, Opened], dict[str, str | None]]:
        """What is published; and of each batch that has a segment there whether it is, which of its publications."""
        first = {t: self._read(t, window) for t, window in windows.items()}
        keys = {s.key for found in first.values() for _, s in found if s.key is not None}
        if not any(first.values()):
            return {t: [] for t in windows}, {}
        current = {key: self._pub(key) for key in keys}
        opened = {
            t: [
                (self._path(folder, s.file), s)
                for folder, s in self._read(t, window)
                if s.key is None or (s.key in current and current[s.key] == s.pub)
            ]
            for t, window in windows.items()
        }
        return opened, current

    def _path(self, folder: str, file: str) -> Path:
        path = self._paths.get((folder, file))  # putting a path together takes longer than looking at the file
        if path is None:
            path = self._paths[folder, file] = self._lake.tables / folder / file
        return path

    def _pub(self, key: str) -> str | None:
        path = self._places.get(key)
        if path is None:
            path = self._places[key] = commits.path_of(self._lake, key)
        commit = _cached(path, key, self._records, commits.of)
        return None if commit is None else commit.pub

    def distrust(self) -> None:
        """Look at every manifest from now on: what the list of past days names is not there."""
        self._index = self._whole = None

    def close(self) -> None:
        """Close what is open."""
        if self._index is not None:
            self._index.close()

    def _read(self, table: str, window: Window) -> list[tuple[str, Segment]]:
        listed, found = (frozenset[str](), {}) if self._index is None else self._index.find(table, window)
        by_day = dict(found)
        for partition in partitions(self._lake, table, window, listed):
            file = self._path(partition, MANIFEST)
            m = _cached(file, partition, self._manifests, manifest.of)
            if m is not None:
                _, day, node = partition.split("/")
                by_day.setdefault(day, []).extend((partition, s) for s in m.segments if window.wants(s, node))
        return [pair for day in sorted(by_day) for pair in by_day[day]]


def partitions(
    lake: Lake, table: str, window: Window = EVERYTHING, without: frozenset[str] = frozenset()
) -> Iterator[str]:
    """The folders (below LAKE/tables) of a table's partitions that the window wants, sorted, but for those of some days."""
    base = f"{lake.tables}/{table}"
    for day in sorted(entries(base)):
        if day in without or not window.reaches(table, day):
            continue
        for node in sorted(entries(f"{base}/{day}")):
            if window.on(node):
                yield f"{table}/{day}/{node}"


def partition_of(folder: str) -> Partition:
    """The partition of a folder below LAKE/tables."""
    table, day, node = folder.split("/")
    return Partition(table, day, folder_node(node))


@cache
def _columns_of(table: str) -> frozenset[str]:
    return frozenset(c.name for c in columns(tables()[table]))


@cache
def _starts(day: str) -> int:
    from datetime import UTC, datetime

    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000


def _cached(path: Path, name: str, cache: dict[str, _Known[T]], of: Callable[[bytes, Path], T]) -> T | None:
    try:
        st = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        cache.pop(name, None)
        return None
    stamp = (st.st_ino, st.st_mtime_ns, st.st_size)
    known = cache.get(name)
    if known is not None and known.stamp == stamp:
        return known.value
    raw = read_raw(path)
    if raw is None:
        cache.pop(name, None)
        return None
    value = known.value if known is not None and known.raw == raw else of(raw, path)
    settled = time.time() - st.st_mtime > RACY_S
    cache[name] = _Known(stamp, b"", value) if settled else _Known(None, raw, value)
    return value
