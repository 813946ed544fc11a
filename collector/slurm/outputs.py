"""An answer of a live Slurm, read by the importer of the file that it would be.

Times are asked for in UTC (`TZ=UTC`, or epochs in JSON), so nothing has to be inferred. `origin` names the way in and the
question, without a line number: the same observation read twice is the same row.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from collector.importers.base import ImportContext, ImportFailed
from collector.slurm.access import Calls
from collector.sources.base import SourceUnavailable
from store.rows import Row


class Reads(Protocol):
    """The part of an importer that turns a file into rows."""

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """The file's rows."""
        ...


def read(importer: Reads, path: Path, origin: str, asked: datetime, cluster: str | None, calls: Calls) -> Iterator[Row]:
    """The rows of an answer that lies in a file; `asked` is the moment of the look (UTC).

    What cannot be read is noted in `calls`. Raises SourceUnavailable when nothing of it can be used.
    """
    ctx = ImportContext(origin, UTC, zone_known=True, cluster=cluster, modified=asked, size=path.stat().st_size)
    empty = True
    try:
        for row in importer.rows(path, ctx):
            empty = False
            object.__setattr__(row, "origin", origin)  # fresh from the parser, nobody else's yet
            yield row
    except ImportFailed as failed:
        raise SourceUnavailable(f"{origin}: {failed}") from failed
    finally:
        calls.problems.extend(f"{origin}: {problem}" for problem in ctx.problems)
    if empty and ctx.problems:
        raise SourceUnavailable(f"{origin}: {ctx.problems[0]}")
