"""Rows to a lake: spooled as CSV, sealed into segments, published all at once or not at all."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store import commits, manifest
from store.lake import NO_DAY, Lake, Partition, locked, nonce, sync_file, sync_folder
from store.manifest import Manifest, Segment
from store.result import StoreError
from store.rows import Block, GpuMinute, GpuSample, Row, tables
from store.spool import Spool, Tally, in_utc

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CHUNK_ROWS = 500_000
CHUNK_BYTES = 128 << 20
LOOK_EVERY = 4096
"""A spool is sealed at whichever it reaches first: this bounds the memory of a seal."""


@dataclass(frozen=True, slots=True)
class Published:
    """What became of a batch. `rows` is by table, without what the store derives; `duplicate` says that it had been published before, as counted here."""

    batch: str
    rows: dict[str, int]
    segments: int
    duplicate: bool


Sealed = list[tuple[Partition, Path, Segment]]


class Writer:
    """Appends batches to a lake. Any number of writers, in any number of processes, may append at once.

    `durable=False` leaves out every fsync: for throw-away lakes.
    """

    def __init__(
        self, lake: Lake | Path | str, *, durable: bool | None = None, memory_mb: int = 1024, threads: int = 2
    ) -> None:
        self.lake = Lake.of(lake)
        if durable is not None:
            self.lake.durable = durable
        self._memory_mb = memory_mb
        self._threads = threads
        self._con: DuckDBPyConnection | None = None

    def append(self, rows: Iterable[Row | Block], *, batch: str, replaces: str | None = None) -> Published:
        """Publish rows of any tables as one batch; many rows of one table may come as a `Block`.

        The same `batch` again writes nothing and says `duplicate`. `replaces` names what the batch is a newer state of (a
        file's name, or the id of an earlier batch): whatever was published under that name before disappears in the
        same moment. Nothing is published when `rows` raises. Raises StoreError.
        """

        def seal(con: DuckDBPyConnection, folder: Path) -> Sealed:
            return self._seal_rows(con, rows, folder)

        return self._publish(seal, batch, replaces)

    def append_csv(
        self,
        table: str,
        path: Path,
        columns: list[str],
        *,
        batch: str,
        replaces: str | None = None,
        constants: Mapping[str, Any] | None = None,
        line_end: str = "\n",
    ) -> Published:
        """Publish a CSV file (no header; fields `columns` in this order; NULL an unquoted empty field; `"` doubled).

        `constants` are values for further columns of the table, the same in every row. No row passes through Python.
        Raises StoreError.
        """
        from store.bulk import seal_csv

        def seal(con: DuckDBPyConnection, folder: Path) -> Sealed:
            return seal_csv(con, table, [path], columns, constants or {}, line_end, folder)

        return self._publish(seal, batch, replaces)

    def append_csvs(
        self, files: Sequence[tuple[str, Sequence[Path], list[str]]], *, batch: str, parts: Sequence[str] = ()
    ) -> Published:
        """Publish CSV files of any tables as one batch: (table, paths, columns) each, as `append_csv` reads them.

        `parts` are the keys of what the batch is put together from, which the caller holds (see `commits.claim`).
        Raises StoreError.
        """
        from store.bulk import seal_csv

        def seal(con: DuckDBPyConnection, folder: Path) -> Sealed:
            return [s for t, paths, names in files for s in seal_csv(con, t, paths, names, {}, "\n", folder)]

        return self._publish(seal, batch, None, parts)

    def readable(self, table: str, path: Path, columns: list[str]) -> bool:
        """Does this CSV file fit these columns of the table? Nothing is written."""
        from store.bulk import fits_csv

        with self._engine() as con:
            return fits_csv(con, table, path, columns, "\n")

    def append_parquet(
        self,
        table: str,
        path: Path,
        *,
        batch: str,
        replaces: str | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> Published:
        """Publish a Parquet file: its columns that the table has; the others are left out. Raises StoreError."""
        from store.bulk import seal_parquet

        def seal(con: DuckDBPyConnection, folder: Path) -> Sealed:
            return seal_parquet(con, table, path, constants or {}, folder)

        return self._publish(seal, batch, replaces)

    @property
    def _form(self) -> str:
        """How COPY writes segments."""
        from store.engine import PARQUET, PASSING

        return PARQUET if self.lake.durable else PASSING

    def _engine(self) -> DuckDBPyConnection:
        """A connection of our own to this writer's engine, which is started once."""
        if self._con is None:
            self._con = _started(self.lake, self._memory_mb, self._threads)
        return self._con.cursor()

    def _publish(
        self,
        seal: Callable[[DuckDBPyConnection, Path], Sealed],
        batch: str,
        replaces: str | None,
        parts: Sequence[str] = (),
    ) -> Published:
        self.lake.create()
        key = replaces or batch
        with commits.holding(self.lake, key):
            before = commits.read(self.lake, key)
            if before is not None and before.batch == batch:
                return Published(batch, before.rows, before.segments, True)
            with self.lake.scratch() as folder:
                with self._engine() as con:
                    sealed = seal(con, folder)
                    if any(place.table == GpuSample.TABLE for place, _, _ in sealed):
                        from store.rollup import derive

                        sealed += derive(con, sealed, folder, self._form)
                commit = self._enter(sealed, key, batch)
            for part in parts:
                commits.claim(self.lake, part, commit)
            commits.write(self.lake, commit)
        return Published(batch, commit.rows, commit.segments, False)

    def _seal_rows(self, con: DuckDBPyConnection, rows: Iterable[Row | Block], folder: Path) -> Sealed:
        sealed: Sealed = []
        open_spools: dict[str, _Open] = {}
        for row in rows:
            spool = open_spools.get(row.TABLE)
            if spool is None:
                spool = open_spools[row.TABLE] = _Open(row.row_type if isinstance(row, Block) else type(row), folder)
            if isinstance(row, Block):
                spool.add_block(row)
            else:
                spool.add(row)
            if spool.full:
                sealed += open_spools.pop(row.TABLE).seal(con, folder, self._form)
        for spool in open_spools.values():
            sealed += spool.seal(con, folder, self._form)
        return sealed

    def _enter(self, sealed: Sealed, key: str, batch: str) -> commits.Commit:
        """Move the segments to their partitions and enter them in the manifests; nobody counts them yet."""
        pub = nonce()
        rows: dict[str, int] = {}
        counts: dict[str, int] = {}
        by_partition: dict[Partition, list[tuple[Path, Segment]]] = {}
        for partition, path, segment in sealed:
            by_partition.setdefault(partition, []).append((path, segment))
            if partition.table != GpuMinute.TABLE:  # derived, not what the caller gave
                rows[partition.table] = rows.get(partition.table, 0) + segment.rows
            counts[partition.folder] = counts.get(partition.folder, 0) + segment.rows
        for partition, new in by_partition.items():
            folder = self.lake.partition_path(partition)
            fresh = not folder.exists()
            with locked(folder / "lock"):
                have = manifest.load(folder) or Manifest()
                for path, segment in new:
                    if self.lake.durable:
                        sync_file(path)
                    path.rename(folder / path.name)
                    have.segments.append(replace(segment, key=key, pub=pub))
                manifest.save(folder, have, self.lake.durable)
            if fresh and self.lake.durable:
                for parent in (folder.parent, folder.parent.parent, folder.parent.parent.parent):
                    sync_folder(parent)
        return commits.Commit(
            key, batch, pub, dict(sorted(rows.items())), len(sealed), time.time(), dict(sorted(counts.items()))
        )


_last: dict[int, tuple[tuple[object, ...], DuckDBPyConnection]] = {}
"""By process: a child must neither use nor close the engine that it was forked with."""


def _started(lake: Lake, memory_mb: int, threads: int) -> DuckDBPyConnection:
    """An engine that writes to a lake: the process's last one where it fits, for starting one costs more than a small batch.

    One engine serves all throw-away lakes: what it cannot hold in memory goes to the system's temporary folder, as they do.
    """
    key = (lake.root if lake.durable else None, memory_mb, threads)
    known = _last.get(os.getpid())
    if known is None or known[0] != key:
        from store.engine import writing

        home = lake.root / "tmp" if lake.durable else Path(tempfile.gettempdir())
        spill = home / (f"spill-{nonce()}" if lake.durable else f"inquest-spill-{nonce()}")
        known = _last[os.getpid()] = key, writing(memory_mb=memory_mb, threads=threads, spill=spill)
    return known[1]


class _Open:
    """A spool that is being filled, with the partitions that its rows fall into."""

    def __init__(self, row_type: type[Row], folder: Path) -> None:
        if tables().get(row_type.TABLE) is not row_type:
            raise StoreError(f"{row_type.__name__} is not the row type of a table")
        self.spool = Spool(folder / f"{row_type.TABLE}.{nonce()}.csv", row_type)
        self._looked = 0
        self.partitions: dict[tuple[int | None, str | None], Tally] = {}

    def add(self, row: Row) -> None:
        ts = None if row.ts is None else in_utc(row.ts)
        tally = self._tally(ts, row.node)
        tally.add(row, ts)
        self.spool.add(tally.number, row)

    def add_block(self, block: Block) -> None:
        """The rows of a block, which mostly lie in one partition; else it is halved until they do."""
        moments = block.columns.get("ts", (block.constants.get("ts"),))
        first = last = None
        if None not in moments:
            first, last = in_utc(min(moments)), in_utc(max(moments))
        same = (first is not None or not any(moments)) and not block.columns.keys() & {"node", "job_id", "end_ts"}
        if same and (first is None or last is None or first.date() == last.date()):
            tally = self._tally(first, block.constants.get("node"))
            tally.add_block(block, first, last)
            self.spool.add_block(tally.number, block)
        elif block.count > 1:
            self.add_block(block.part(0, block.count // 2))
            self.add_block(block.part(block.count // 2, block.count))
        else:
            for row in block.rows():
                self.add(row)

    def _tally(self, ts: datetime | None, node: str | None) -> Tally:
        place = (None if ts is None else ts.toordinal(), node)
        tally = self.partitions.get(place)
        if tally is None:
            tally = self.partitions[place] = Tally(self.spool.row_type, len(self.partitions))
        return tally

    @property
    def full(self) -> bool:
        if self.spool.rows >= CHUNK_ROWS:
            return True
        if self.spool.rows - self._looked < LOOK_EVERY:
            return False
        self._looked = self.spool.rows
        return self.spool.bytes >= CHUNK_BYTES

    def seal(self, con: DuckDBPyConnection, folder: Path, form: str) -> Sealed:
        from store.segments import from_spool

        self.spool.close()
        segments = from_spool(con, self.spool, list(self.partitions.values()), folder, form)
        self.spool.path.unlink()
        table = self.spool.row_type.TABLE
        places = [
            Partition(table, NO_DAY if day is None else date.fromordinal(day).isoformat(), node)
            for day, node in self.partitions
        ]
        return [(place, folder / s.file, s) for place, s in zip(places, segments, strict=True)]
