"""Statements of ours that run again and again: each text is parsed once in a process, and the files it reads are its parameters.

Parsing takes about a third of a millisecond for a thousand characters, and texts that name files differ each time.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

MOST = 512
"""Texts that are remembered; beyond them the one that was not used for longest goes."""
_parsed: dict[str, Statement] = {}
_turn = threading.Lock()
atexit.register(
    _parsed.clear
)  # while the engine that made them is still there: its library complains of those that outlive it


def parsed(con: DuckDBPyConnection, sql: str) -> Statement:
    """A statement's parse tree, made once in a process. For texts of ours, of which there are few; not for a stranger's."""
    with _turn:
        known = _parsed.pop(sql, None)
        if known is not None:
            _parsed[sql] = known
            return known
    (known,) = con.extract_statements(sql)
    with _turn:
        while len(_parsed) >= MOST:
            del _parsed[next(iter(_parsed))]
        _parsed[sql] = known
    return known


class Given:
    """The parameters of one statement that is put together: `sql` in its text stands for the values.

    given = Given()
    run(con, f"SELECT * FROM read_parquet({given.files(paths)})", given)
    """

    def __init__(self, more_than: Given | None = None) -> None:
        """With `more_than` it has those parameters to begin with."""
        self.values: dict[str, Any] = dict(more_than.values) if more_than else {}

    def files(self, paths: Sequence[Path | str]) -> str:
        """SQL for these paths, a VARCHAR[]."""
        return self._named("files", [str(p) for p in paths])

    def text(self, value: Path | str) -> str:
        """SQL for a text."""
        return self._named("text", str(value))

    def number(self, value: int) -> str:
        """SQL for an integer."""
        return self._named("number", value)

    def _named(self, kind: str, value: Any) -> str:
        name = f"{kind}_{len(self.values)}"
        self.values[name] = value
        return f"${name}"


def run(con: DuckDBPyConnection, sql: str, given: Given | Mapping[str, Any] | None = None) -> DuckDBPyConnection:
    """Execute a statement of ours whose text will come again."""
    values = given.values if isinstance(given, Given) else given
    return con.execute(parsed(con, sql), values or None)
