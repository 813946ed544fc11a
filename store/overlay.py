"""What waits to be taken in, as a reader sees it: segments of its own over the chunks in LAKE/incoming.

A reader need not be able to write the lake, and never does; yet what a node handed over a second ago is in its answers.
Chunks become segments in a temporary folder, a table when a question first asks for it, and go when they are published.

    parts = overlay.parts(tables)             what waited, before the lake's own picture is taken
    chosen = overlay.choose(parts, counted)   which of it the picture lacks; None where the picture is to be taken again

A chunk was not published when `parts` looked. If the picture counts the chunk's batch it has all of it (see `store.snapshot`),
and else nothing: compaction, which makes a batch unrecognisable, lets it be for far longer than a picture takes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from store import commits, engine, incoming
from store.bulk import fits_csv, seal_csv
from store.incoming import Chunk
from store.lake import Lake, Partition, locked, nonce
from store.manifest import Segment
from store.result import StoreError
from store.rollup import derive
from store.rows import GpuMinute, GpuSample, columns, tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST, MOST_BYTES = 32, 32 << 20
"""Chunks that are read together; a larger one is left to whoever takes it in."""
PATIENCE_S, WITHIN_S = 3.0, 60.0
"""So long in a minute is a reader kept by chunks. Whoever may write the lake takes them in meanwhile."""
SURE_S = 1.0
"""So long is taken for unpublished what was: far shorter than compaction waits (`compact.SETTLE_S`)."""
SLOW_S = 20.0
"""A picture that took longer than this since the look at what was published is taken again, on a host that stands still at times:
compaction may have been at what was published meanwhile (`compact.SETTLE_S`)."""
TRIES = 8
MOST_LOOKED_AT = 512

_NAME = "inquest-waiting-"

Sealed = list[tuple[Partition, Path, Segment]]


@dataclass(slots=True, eq=False)
class Part:
    """Chunks of one version that are read together, and the segments made of them so far, by table."""

    chunks: list[Chunk]
    checked: float
    tables: dict[str, Sealed] = field(default_factory=dict[str, Sealed])


class _Gone(Exception):
    """A chunk was taken in while it was read."""


class Overlay:
    """Belongs to one reader, which calls it for one question at a time."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self.folder = Path(tempfile.gettempdir()) / f"{_NAME}{nonce()}"
        """Where its segments lie, once there are any."""
        self.left = 0
        """How many chunks the last answer lacks, because they are too many to read now, or cannot be read here."""
        self._parts: list[Part] = []
        self._con: DuckDBPyConnection | None = None
        self._held, self._pid = ExitStack(), os.getpid()
        self._stamp: tuple[int, int] | None = None
        self._beyond = 0
        self._free_s, self._at = PATIENCE_S, time.monotonic()

    @property
    def told(self) -> str:
        """What the last answer lacks, in words; empty where nothing is missing."""
        if not self.left:
            return ""
        some = "One chunk" if self.left == 1 else f"{self.left} chunks"
        return f"{some} of what nodes handed over lately could not be read yet: `inquest compact` takes them in."

    def close(self) -> None:
        """Remove what it made; not for whoever was forked since, which has the same folder."""
        if self._con is None or os.getpid() != self._pid:
            return
        self._con.close()
        self._con = None
        self._parts.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._held.close()

    def parts(self, names: Collection[str]) -> list[Part]:
        """What waits and is not published, with its segments of these tables."""
        for _ in range(TRIES):
            self._forget_published()
            self._notice_new()
            try:
                return self._sealed(names)
            except _Gone:
                self._stamp = None
        self.left = sum(len(part.chunks) for part in self._parts)
        return []

    def choose(self, parts: Sequence[Part], counted: Mapping[str, str | None]) -> list[Part] | None:
        """The parts that a picture lacks which counts these batches; None where it has some chunks of a part and not others, or came
        too late after the look at them."""
        chosen: list[Part] = []
        now = time.monotonic()
        again = any(now - part.checked > SLOW_S for part in parts)
        for part in parts:
            there = [counted.get(commits.batch_of(self._lake, c.key) or "") is not None for c in part.chunks]
            if any(there):
                self._drop(part)
                again |= not all(there)
            else:
                chosen.append(part)
        return None if again else chosen

    def _drop(self, part: Part) -> None:
        self._parts.remove(part)
        self._stamp = None  # chunks of it that still wait are to be found again
        for path in {path for sealed in part.tables.values() for _, path, _ in sealed}:
            path.unlink(missing_ok=True)

    def _forget_published(self) -> None:
        now = time.monotonic()
        for part in list(self._parts):
            if now - part.checked < SURE_S or not (part.tables or self._free_s > 0):
                continue
            if any(commits.published(self._lake, chunk.key) for chunk in part.chunks):
                self._drop(part)
            part.checked = now

    def _notice_new(self) -> None:
        now = time.monotonic()
        self._free_s = min(PATIENCE_S, self._free_s + PATIENCE_S * (now - self._at) / WITHIN_S)
        self._at = now
        try:
            stat = incoming.folder(self._lake).stat()
        except OSError:
            return
        stamp = (stat.st_ino, stat.st_mtime_ns)
        if stamp == self._stamp:
            return
        waiting = incoming.waiting(self._lake)
        present = set(waiting)
        for part in list(self._parts):
            if not present.issuperset(part.chunks):
                self._drop(part)
        known = {chunk for part in self._parts for chunk in part.chunks}
        fresh = [c for c in waiting if c not in known and not commits.published(self._lake, c.key)]
        # A folder that changed just now may change again without its time showing it.
        self._stamp = stamp if time.time() - stat.st_mtime > 2.0 else None
        self._beyond = len(fresh[:-MOST_LOOKED_AT])
        # What came last is what somebody waits for.
        for _, chunks in incoming.grouped(fresh[: -MOST_LOOKED_AT - 1 : -1], MOST, MOST_BYTES):
            self._parts.append(Part(chunks, now))

    def _sealed(self, names: Collection[str]) -> list[Part]:
        self.left = self._beyond
        usable: list[Part] = []
        for part in list(self._parts):
            begun = time.monotonic()
            if not part.tables and self._free_s <= 0:
                self.left += len(part.chunks)
                continue
            try:
                for table in names:
                    self._seal(part, table)
            except (StoreError, OSError, duckdb.Error) as error:
                if not all(chunk.path.is_dir() for chunk in part.chunks):
                    self._drop(part)
                    raise _Gone from error
                self.left += len(part.chunks)  # no room for them here, say
                continue
            self._free_s -= time.monotonic() - begun
            usable.append(part)
        return usable

    def _seal(self, part: Part, table: str) -> None:
        """Make a table's segments. Raises StoreError, OSError, duckdb.Error; or _Gone, without which all was there."""
        if table in part.tables:
            return
        if table == GpuMinute.TABLE:  # nobody hands that over: it is derived
            self._seal(part, GpuSample.TABLE)
            part.tables[table] = derive(self._engine(), part.tables[GpuSample.TABLE], self.folder)
            return
        names = incoming.columns_of(part.chunks[0].layout()).get(table)
        known = [c.name for c in columns(tables()[table])]
        names = known if names is None else names
        files = [path for chunk in part.chunks if (path := chunk.path / f"{table}.csv").exists()]
        con = self._engine()
        try:
            sealed = seal_csv(con, table, files, names, {}, "\n", self.folder, known_only=True)
        except StoreError:
            good = [path for path in files if fits_csv(con, table, path, names, "\n", known_only=True)]
            if good == files:
                raise
            sealed = seal_csv(con, table, good, names, {}, "\n", self.folder, known_only=True)
        if not all(chunk.path.is_dir() for chunk in part.chunks):  # a file that was missing may have been taken in
            raise _Gone
        part.tables[table] = sealed

    def _engine(self) -> DuckDBPyConnection:
        if self._con is None:
            self.folder.mkdir(mode=0o700)
            self._held.enter_context(locked(self.folder / "lock"))
            _sweep(self.folder)
            self._con = engine.writing(memory_mb=256, threads=1, spill=self.folder / "spill")
        return self._con


def _sweep(mine: Path) -> None:
    """Remove the folders of readers of ours that were killed: their locks can be had."""
    for folder in mine.parent.glob(f"{_NAME}*"):
        with suppress(OSError):
            stat = folder.stat()
            if folder == mine or stat.st_uid != os.geteuid() or time.time() - stat.st_mtime < 5.0:
                continue  # or it may be between its making and its locking
            with locked(folder / "lock", wait=False) as ours:
                if ours:
                    shutil.rmtree(folder)
