"""What a source must remember between two looks: a small JSON file that is replaced as a whole.

A lost or broken one costs a second reading and nothing else: rows carry what identifies them, and a lake shows the
observations of one thing as one.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

VERSION = 1


class Memory:
    """The file `PATH`, or nothing but this process's own memory when there is no path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._written = ""

    def load(self) -> dict[str, Any]:
        """What was saved last; empty when there is none that can be read."""
        if self._path is None:
            return {}
        try:
            self._written = self._path.read_text()
            found = json.loads(self._written)
        except (OSError, ValueError, RecursionError):
            return {}
        kept = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        return kept if kept.get("version") == VERSION else {}

    def save(self, content: dict[str, Any]) -> None:
        """Replace the file; a write that breaks off leaves the one before. Raises OSError."""
        text = json.dumps({"version": VERSION, **content}, separators=(",", ":"))
        if self._path is None or text == self._written:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with fresh.open("w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self._path)
        self._written = text


def seconds(moment: datetime | None) -> float | None:
    """A moment as JSON holds it: seconds since 1970."""
    return None if moment is None else moment.timestamp()


def moment(value: Any) -> datetime | None:
    """The moment of `seconds`."""
    return datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else None
