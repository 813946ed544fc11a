"""Rows to plain files on the node's disk, until they are handed over to the lake.

    SPOOL/lock             flock of the collector that lives here
    SPOOL/open-ID/         the chunk that is being written: TABLE.csv (the store's CSV), columns.json
    SPOOL/ready-ID/        chunks that wait; their id makes a batch's, so that a chunk is published once whatever dies
    SPOOL/lake             the lake that got something of it: it is not made anew where it is gone
    SPOOL/seal.json        how the last `collector.node.seal` ended

`add` never touches the disk: a thread of our own does, so that a full, slow or vanished disk stops no source. What does
not fit in memory, on the disk or in the budget is given up in this order: detail, samples, everything else; all counted.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from store.incoming import COLUMNS, own_layout
from store.rows import Row, columns

BUDGET_BYTES = 1 << 30
RESERVE_BYTES = 64 << 20
"""Free space that the collector leaves to others."""
BUFFER_BYTES = 4 << 20
WRITE_S = 5.0


class SpoolTaken(Exception):
    """Another collector writes here."""


def worth(table: str) -> int:
    """What is given up first: 0 detail, 1 samples, 2 everything else."""
    return 0 if table.endswith("_detail") else 1 if table.endswith("_sample") else 2


class SpoolOut:
    """A node's spool. `add` is safe for threads; the other methods belong to one thread each."""

    def __init__(
        self,
        folder: Path,
        *,
        budget_bytes: int = BUDGET_BYTES,
        buffer_bytes: int = BUFFER_BYTES,
        reserve_bytes: int = RESERVE_BYTES,
        on_drop: Callable[[int], None] | None = None,
    ) -> None:
        self.folder = folder
        self._budget, self._buffer_bytes, self._reserve = budget_bytes, buffer_bytes, reserve_bytes
        self._on_drop = on_drop
        self._lock = threading.Lock()
        self._disk = threading.Lock()
        self._pending: dict[str, list[bytes]] = {}
        self._pending_bytes = 0
        self._chunk: Path | None = None
        self._chunk_rows = 0
        self._held: int | None = None
        self.problem: str | None = None
        """Why the disk cannot be written, None when it can."""
        self.spool_bytes = 0

    def open(self) -> None:
        """Take the folder; chunks of a collector that died become ready. Raises SpoolTaken, OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        held = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            raise SpoolTaken(
                f"another collector writes to {self.folder}: stop it, or give this one its own --spool"
            ) from None
        self._held = held
        for left in self.folder.glob("open-*"):
            for path in left.glob("*.csv"):
                whole(path)
            left.rename(self.folder / left.name.replace("open-", "ready-", 1))
        self._measure()

    def add(self, row: Row) -> None:
        """Take a row. Never waits for the disk."""
        line = encoded(row)
        table = row.TABLE
        with self._lock:
            if self._pending_bytes + len(line) > self._buffer_bytes and not self._make_room(len(line), worth(table)):
                self._drop(1)
                return
            self._pending.setdefault(table, []).append(line)
            self._pending_bytes += len(line)

    def write(self) -> bool:
        """Move what is in memory to the disk; False when that failed (what remains stays in memory)."""
        with self._disk:
            with self._lock:
                pending, self._pending = self._pending, {}
                self._pending_bytes = 0
            if not pending:
                return True
            try:
                chunk = self._current()
                for table in sorted(pending, key=worth, reverse=True):
                    lines = pending[table]
                    _append(chunk / f"{table}.csv", b"".join(lines))
                    del pending[table]
                    self._chunk_rows += len(lines)
            except OSError as error:
                self._failed(error, pending)
                return False
            self.problem = None
            self._measure()
            if self.spool_bytes > self._budget or self._free() < self._reserve:
                self._shed()
            return True

    def rotate(self) -> bool:
        """Finish the present chunk, so that it may be handed over; True when some chunk waits."""
        self.write()
        with self._disk:
            chunk, self._chunk = self._chunk, None
            rows, self._chunk_rows = self._chunk_rows, 0
            if chunk is not None and rows:
                try:
                    for path in chunk.iterdir():
                        _sync(path)
                    chunk.rename(self.folder / chunk.name.replace("open-", "ready-", 1))
                    _sync(self.folder)
                except OSError as error:
                    self.problem = _told(error)
            return any(self.folder.glob("ready-*"))

    def close(self) -> None:
        """Write and let go."""
        self.rotate()
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _current(self) -> Path:
        if self._chunk is None or not self._chunk.is_dir():  # also when the disk was emptied under us
            self.folder.mkdir(parents=True, exist_ok=True)
            # The time orders chunks, the random part keeps them apart where a clock was set back.
            name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.urandom(6).hex()}"
            chunk = self.folder / f"open-{name}"
            chunk.mkdir()
            (chunk / COLUMNS).write_text(own_layout())
            self._chunk, self._chunk_rows = chunk, 0
        return self._chunk

    def _failed(self, error: OSError, pending: dict[str, list[bytes]]) -> None:
        """Keep in memory what could not be written, as far as there is room."""
        self.problem = _told(error)
        with self._lock:
            fresh, self._pending = self._pending, pending
            self._pending_bytes = sum(len(line) for lines in pending.values() for line in lines)
            for table, lines in fresh.items():
                self._pending.setdefault(table, []).extend(lines)
                self._pending_bytes += sum(map(len, lines))
            if self._pending_bytes > self._buffer_bytes:
                self._make_room(0, 3)
        self._shed()

    def _make_room(self, size: int, value: int) -> bool:
        """Give up older rows in memory that are worth no more than `value`, the least worth first; False if too few."""
        for table in sorted(self._pending, key=worth):
            if worth(table) > value:
                break
            lines = self._pending[table]
            given = 0
            while given < len(lines) and self._pending_bytes + size > self._buffer_bytes:
                self._pending_bytes -= len(lines[given])
                given += 1
            del lines[:given]
            self._drop(given)
            if self._pending_bytes + size <= self._buffer_bytes:
                return True
        return self._pending_bytes + size <= self._buffer_bytes

    def _drop(self, rows: int) -> None:
        if rows and self._on_drop is not None:
            self._on_drop(rows)

    def _measure(self) -> None:
        size = 0
        for chunk in self.folder.glob("*-*"):
            try:
                size += sum(entry.stat().st_size for entry in os.scandir(chunk))
            except OSError:  # handed over meanwhile
                continue
        self.spool_bytes = size

    def _free(self) -> int:
        try:
            found = os.statvfs(self.folder)
        except OSError:
            return 0
        return found.f_bavail * found.f_frsize

    def _shed(self) -> None:
        """Delete what waits, the oldest of the least worth first, until it fits the budget and the disk."""
        waiting = sorted(sorted(self.folder.glob("ready-*/*.csv")), key=lambda p: worth(p.stem))
        for path in waiting:
            if self.spool_bytes <= self._budget and self._free() >= self._reserve:
                return
            try:
                size = path.stat().st_size
                rows = path.read_bytes().count(b"\n")
                path.unlink()
            except OSError:
                continue
            self.spool_bytes -= size
            self._drop(rows)

    @property
    def waiting(self) -> list[Path]:
        """The chunks that may be handed over, the oldest first."""
        return sorted(self.folder.glob("ready-*"))

    def discard(self) -> None:
        """Forget the folder's contents (for a spool that was temporary)."""
        shutil.rmtree(self.folder, ignore_errors=True)


BLOCK = 1 << 16


def whole(path: Path) -> bool:
    """Cut what a death or a power cut left of a last record; False when nothing remains."""
    end = at = quotes = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            data, nul, _ = block.partition(b"\0")
            cut = len(data)
            while cut := data.rfind(b"\n", 0, cut) + 1:
                if (quotes + data.count(b'"', 0, cut)) % 2 == 0:
                    end = at + cut
                    break
                cut -= 1  # this line feed stands within a text
            if nul:
                break
            quotes += data.count(b'"')
            at += len(data)
    if end < path.stat().st_size:
        os.truncate(path, end)
    return end > 0


def encoded(row: Row) -> bytes:
    """A row as the store reads it back: NULL an empty field, text always quoted, one line feed at the end."""
    reader = _READERS.get(type(row))
    if reader is None:
        reader = _READERS[type(row)] = attrgetter(*(c.name for c in columns(type(row))))
    line = ",".join(["" if v is None else _field(v) for v in reader(row)])
    return (line + "\n").encode("utf-8", "backslashreplace")


_READERS: dict[type[Row], Callable[[Any], tuple[Any, ...]]] = {}


def _field(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if isinstance(value, datetime):
        if value.tzinfo is not UTC:
            value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return value.isoformat(" ")
    return str(value)


def _append(path: Path, data: bytes) -> None:
    """All of it or nothing: what a full disk took of it is taken back."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        except OSError:
            os.ftruncate(fd, size)
            raise
    finally:
        os.close(fd)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _told(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
