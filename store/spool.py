"""Rows to CSV text that DuckDB reads back value for value.

NULL is an unquoted empty field, the empty string a quoted one. A lone surrogate, which UTF-8 (and Parquet) cannot hold,
is kept as its escape in plain characters: the name of an undecodable byte stays legible.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from store.rows import Row, columns

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
        self._write = csv.writer(self._file, lineterminator="\r\n").writerow
        self._values: Callable[[Row], tuple[Any, ...]] = attrgetter(*(c.name for c in columns(row_type)))

    def add(self, partition: int, row: Row) -> None:
        """Append one row."""
        values = self._values(row)
        if "" in values:
            self._file.write(_quoted((partition, *values)))
        else:
            size = self._write((partition, *values))
            if size > self.longest:
                self.longest = size
        self.rows += 1

    @property
    def bytes(self) -> int:
        """Written so far."""
        return self._file.tell()

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


def _quoted(values: Sequence[Any]) -> str:
    """A record in which an empty string can be told from NULL."""
    fields = ("" if v is None else '"' + v.replace('"', '""') + '"' if isinstance(v, str) else str(v) for v in values)
    return ",".join(fields) + "\r\n"
