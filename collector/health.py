"""Counts what an importer gives and writes its `source_health` rows: was anyone looking, at which node, in which window?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from collector.importers.base import ImportContext, Importer
from store.rows import Row, SourceHealth

_MAX_NODES = 10_000


@dataclass(slots=True)
class _Window:
    rows: int = 0
    first: datetime | None = None
    last: datetime | None = None


class Tally:
    """Follows one file's rows. A window is that of the rows' times, widened by what the importer saw pass (`ctx.saw`)."""

    def __init__(self, importer: Importer, ctx: ImportContext) -> None:
        self._importer, self._ctx = importer, ctx
        self._windows: dict[tuple[str, str | None], _Window] = {}
        self._begun = time.monotonic()

    def closed(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows, and after them one `source_health` per table and node."""
        windows = self._windows
        for row in rows:
            key = (row.TABLE, row.node)
            window = windows.get(key)
            if window is None:
                window = windows[key if len(windows) < _MAX_NODES else (row.TABLE, None)] = _Window()
            window.rows += 1
            ts = row.ts
            if ts is not None:
                if window.first is None or ts < window.first:
                    window.first = ts
                if window.last is None or ts > window.last:
                    window.last = ts
            yield row
        yield from self._health()

    def _health(self) -> Iterator[SourceHealth]:
        ctx, seen = self._ctx, {table for table, _ in self._windows}
        for table in self._importer.covers:
            if table not in seen:
                self._windows[table, ctx.node] = _Window()
        duration = time.monotonic() - self._begun
        for (table, node), window in self._windows.items():
            first = min((t for t in (window.first, ctx.seen_from) if t), default=None)
            last = max((t for t in (window.last, ctx.seen_to) if t), default=None)
            yield SourceHealth(
                cluster=ctx.cluster,
                node=node or ctx.node,
                ts=first,
                origin=ctx.name,
                job_id=ctx.job_id,
                attempt=ctx.attempt,
                source=self._importer.name,
                covers=table,
                end_ts=last,
                ok=True,
                rows=window.rows,
                message=self._message(),
                duration_s=duration,
                bytes_read=ctx.bytes_read,
                bytes_total=ctx.size,
            )

    def _message(self) -> str | None:
        if not self._ctx.problem_count:
            return None
        return f"{self._ctx.problem_count} problems: " + "; ".join(self._ctx.problems[:3])
