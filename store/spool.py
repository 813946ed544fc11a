"""Rows to CSV text that DuckDB reads back value for value.

NULL is an unquoted empty field, the empty string a quoted one. A lone surrogate, which UTF-8 (and Parquet) cannot hold,
is kept as its escape in plain characters: the name of an undecodable byte stays legible.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

from store.manifest import MAX_JOBS, Segment
from store.rows import Block, Row, columns

CSV_OPTIONS = (
    "auto_detect=false, header=false, delim=',', quote='\"', escape='\"', nullstr='', "
    "allow_quoted_nulls=false, new_line='\\r\\n'"
)
"""How DuckDB reads a spool."""

LINE_LIMIT = 2_000_000
"""DuckDB's default for the longest record, in bytes."""


class Spool:
    """A CSV file of one table. The first field is the number of the row's partition."""

    def __init__(self, path: Path, row_type: type[Row]) -> None:
        self.path = path
        self.row_type = row_type
        self.rows = 0
        self.longest = 0
        self._file = path.open("w", newline="", encoding="utf-8", errors="backslashreplace", buffering=1 << 18)
        writer = csv.writer(self._file, lineterminator="\r\n")
        self._write, self._write_all = writer.writerow, writer.writerows
        self._values: Callable[[Row], tuple[Any, ...]] = attrgetter(*(c.name for c in columns(row_type)))
        self._same: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {}
        self._times = [i for i, c in enumerate(columns(row_type)) if c.python_type is datetime]

    def add(self, partition: int, row: Row) -> None:
        """Append one row."""
        values = self._values(row)
        for i in self._times:
            ts = values[i]
            if ts is not None and ts.tzinfo is not UTC:
                values = tuple(in_utc(v) if isinstance(v, datetime) else v for v in values)
                break
        values = (partition, *values)
        size = self._file.write(_quoted(values)) if "" in values else self._write(values)
        if size > self.longest:
            self.longest = size
        self.rows += 1

    def add_block(self, partition: int, block: Block) -> None:
        """Append the rows of a block. What they have in common is put into words once, and so is each time."""
        fields, varied = [str(partition)], list[Sequence[Any]]()
        for c in columns(self.row_type):
            values = block.columns.get(c.name)
            if values is None:
                fields.append(_field(block.constants.get(c.name)).replace("%", "%%"))
            else:
                fields.append("%s")
                known = self._same.get(c.name)
                if known is None or known[0] is not values:  # series on one grid share their times
                    known = self._same[c.name] = values, _fields(values)
                varied.append(known[1])
        record = ",".join(fields) + "\r\n"
        records = [record % values for values in zip(*varied, strict=True)] if varied else [record % ()] * block.count
        self._file.write("".join(records))
        self.longest = max(self.longest, *map(len, records))
        self.rows += block.count

    @property
    def bytes(self) -> int:
        """Written so far."""
        return self._file.tell()

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


def in_utc(ts: datetime) -> datetime:
    """The same moment in UTC; a time without a zone is taken for UTC. DuckDB would ignore another zone's offset."""
    return ts if ts.tzinfo is UTC else ts.replace(tzinfo=UTC) if ts.tzinfo is None else ts.astimezone(UTC)


def _quoted(values: Sequence[Any]) -> str:
    """A record in which an empty string can be told from NULL."""
    return ",".join(map(_field, values)) + "\r\n"


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return str(in_utc(value) if isinstance(value, datetime) else value)


def _fields(values: Sequence[Any]) -> Sequence[Any]:
    """What `%s` writes as the fields of these values, which are of one type or None."""
    kinds = set(map(type, values))
    if datetime in kinds:
        known = {v: _field(v) for v in set(values)}
        return [known[v] for v in values]
    if str in kinds:
        return [_field(v) for v in values]
    return ["" if v is None else v for v in values] if None.__class__ in kinds else values


class Tally:
    """What a manifest says of a segment, counted while its rows go by. `number` is its partition's number in the spool."""

    def __init__(self, row_type: type[Row], number: int) -> None:
        self.number = number
        self.rows = 0
        self.columns = tuple(c.name for c in columns(row_type))
        self._has_end = "end_ts" in self.columns
        self._has_job = "job_id" in self.columns
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._until: datetime | None = None
        self._open = self._null_ts = self._null_job = False
        self._jobs: set[str] = set()
        self._job: str | None = None

    def add(self, row: Any, ts: datetime | None) -> None:
        """Count one row; `ts` is its time in UTC."""
        self.rows += 1
        self._see(ts, row.job_id if self._has_job else None, row.end_ts if self._has_end else None)

    def add_block(self, block: Block, first: datetime | None, last: datetime | None) -> None:
        """Count the rows of a block of one job and one end; its times in UTC are `first` to `last`, or none has one."""
        self.rows += block.count
        for ts in (first, last):
            self._see(ts, block.constants.get("job_id"), block.constants.get("end_ts"))

    def _see(self, ts: datetime | None, job: str | None, end: datetime | None) -> None:
        if ts is None:
            self._null_ts = True
        else:
            if self._first is None or ts < self._first:
                self._first = ts
            if self._last is None or ts > self._last:
                self._last = ts
        if self._has_job:
            if job is None:
                self._null_job = True
            elif job != self._job:
                self._job = job
                if len(self._jobs) <= MAX_JOBS:
                    self._jobs.add(job)
        if self._has_end:
            if end is None:
                self._open = True
            else:
                end = in_utc(end)
                if self._until is None or end > self._until:
                    self._until = end

    def segment(self, file: str, size: int, names: tuple[str, ...]) -> Segment:
        """The manifest's entry for the file that now holds these rows, in columns of these names."""
        ends = [t for t in (self._last, self._until) if t is not None]
        until = None if self._open or not ends else _us(max(ends))
        few = self._has_job and len(self._jobs) <= MAX_JOBS
        jobs = tuple(sorted(self._jobs)) if few else None
        first, last = _us(self._first), _us(self._last)
        return Segment(file, self.rows, size, first, last, self._null_ts, until, jobs, self._null_job, names)


def _us(ts: datetime | None) -> int | None:
    return None if ts is None else (ts - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
