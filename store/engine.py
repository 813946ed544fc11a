"""DuckDB connections: one for writing segments, one that is locked for asking."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PARQUET = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE 40960"
"""How a segment is written. Row groups a third of DuckDB's default cost 2.4 % in size; a minute of a day reads a third."""
PASSING = PARQUET.replace("zstd", "lz4")
"""How a segment of a throw-away lake is written: larger, and sooner done."""


BAR = "enable_progress_bar"


def writing(*, memory_mb: int, threads: int, spill: Path) -> DuckDBPyConnection:
    """A connection that turns spools into segments; what does not fit in memory goes to `spill`."""
    con = duckdb.connect(
        config={
            "memory_limit": f"{memory_mb}MB",
            "threads": str(threads),
            "temp_directory": str(spill),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    con.execute(f"SET {BAR} = false")  # it would be drawn into what the caller prints
    return con


def asking(
    *,
    memory_mb: int,
    threads: int,
    folders: Sequence[Path] = (),
    files: Sequence[str] = (),
    adjustable: Sequence[str] = (),
    cached: bool = True,
) -> DuckDBPyConnection:
    """A connection that sees nothing but `folders` and `files`, cannot spill, load, attach or be reconfigured.

    `adjustable` are settings that may be changed all the same. `cached` keeps what was read of a file's footer.
    """
    con = duckdb.connect(
        config={
            "memory_limit": f"{memory_mb}MB",
            "threads": str(threads),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "temp_directory": "",
        }
    )
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"SET {BAR} = false")  # it would be drawn into what the caller prints
    con.execute(f"SET parquet_metadata_cache = {str(cached).lower()}")  # segments never change
    con.execute(f"SET allowed_directories = {literals([f'{f}/' for f in folders])}")
    con.execute(f"SET allowed_paths = {literals(files)}")
    con.execute(f"SET allowed_configs = {literals(adjustable)}")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


Settings = dict[str, str]
"""What was set last of an engine's adjustable settings, which all its connections share."""
_throw_away: dict[tuple[object, ...], tuple[DuckDBPyConnection, Settings]] = {}
"""By process among others: a child must neither use nor close the engine that it was forked with."""


def asking_throw_away(
    *, memory_mb: int, threads: int, adjustable: Sequence[str]
) -> tuple[DuckDBPyConnection, Settings]:
    """A connection of its own to one engine that sees the system's temporary folder, where throw-away lakes lie.

    Starting an engine takes longer than most questions to such a lake, and there are thousands of them.
    """
    temporary = Path(tempfile.gettempdir())
    key = (os.getpid(), memory_mb, threads, temporary, *adjustable)
    if key not in _throw_away:
        adjustable = [*adjustable, BAR]
        con = asking(memory_mb=memory_mb, threads=threads, folders=[temporary], adjustable=adjustable, cached=False)
        _throw_away[key] = con, {}
    shared, settings = _throw_away[key]
    con = shared.cursor()
    con.execute(f"SET {BAR} = false")  # which each connection has for itself
    return con, settings


def literal(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def literals(texts: Sequence[str]) -> str:
    """A SQL list of string literals."""
    return "[" + ", ".join(literal(t) for t in texts) + "]"


def struct(types: Mapping[str, str]) -> str:
    """`{'name': 'TYPE', ...}` as `read_csv` wants its columns."""
    return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in types.items()) + "}"
