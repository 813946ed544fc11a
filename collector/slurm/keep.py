"""A look of a source into a lake, exactly once, whatever dies in between.

What a look gave and what the source remembers after it are written down together, as one file; then the rows are published
under the name that the file holds, and the file goes. Whoever finds such a file finishes that first: a batch that was
published already is not written again.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from collector.slurm.source import SlurmSource
from collector.slurm.users import named
from store.rows import Row, columns, tables

if TYPE_CHECKING:
    from store import Writer
    from store.writer import Published


def keep(writer: Writer, source: SlurmSource) -> Published | None:
    """One look, published and remembered; None when it gave nothing. Opens the source if need be.

    A source without a folder for its memory is published without this protection. Raises SourceUnavailable, StoreError, OSError.
    """
    begun = source.state / f"{source.name}.begun.json" if source.state is not None else None
    writer.lake.create()  # before our own files lie in its folder
    if begun is not None:
        _finish(writer, source, begun)
    source.open()
    rows = [named(row) for row in source.rows()]
    if not rows:
        source.done()
        return None
    batch = f"{source.name}:{uuid.uuid4().hex}"
    if begun is not None:
        _write(begun, {"batch": batch, "memory": source.unsaved, "rows": [plain(row) for row in rows]})
    published = writer.append(rows, batch=batch)
    source.done()
    if begun is not None:
        begun.unlink(missing_ok=True)
    return published


def _finish(writer: Writer, source: SlurmSource, begun: Path) -> None:
    """Publish what a look gave before whoever took it died."""
    try:
        content = cast("dict[str, Any]", json.loads(begun.read_text()))
        batch, memory, rows = str(content["batch"]), content["memory"], list(rows_of(content["rows"]))
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, RecursionError):
        begun.unlink(missing_ok=True)  # nothing was published from it: the look is taken again
        return
    writer.append(rows, batch=batch)
    source.take_up(memory)
    begun.unlink(missing_ok=True)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w") as out:
        json.dump(content, out, separators=(",", ":"))
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(path)


def plain(row: Row) -> list[Any]:
    """A row for JSON: its table and the columns that say something; times as ISO text."""
    values: dict[str, Any] = {}
    for f in fields(row):
        value = getattr(row, f.name)
        if value is not None:
            values[f.name] = value.isoformat() if isinstance(value, datetime) else value
    return [row.TABLE, values]


def rows_of(written: Iterable[Any]) -> Iterable[Row]:
    """The rows again that `plain` wrote."""
    for table, values in written:
        row_type = tables()[table]
        times = {c.name for c in columns(row_type) if c.python_type is datetime}
        made: dict[str, Any] = {k: datetime.fromisoformat(v) if k in times else v for k, v in values.items()}
        yield row_type(**made)
