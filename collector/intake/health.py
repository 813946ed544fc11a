"""Counts what an importer gives and writes its `source_health` rows: was anyone looking, at which node, in which window?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from collector.importers.base import ImportContext
from store.rows import Block, Row, SourceHealth

_MAX_NODES = 10_000


@dataclass(slots=True)
class _Window:
    rows: int = 0
    first: datetime | None = None
    last: datetime | None = None


class Tally:
    """Follows one file's rows. A window is that of the rows' times, widened by what the importer saw pass (`ctx.saw`)."""

    def __init__(self, source: str, covers: Sequence[str], ctx: ImportContext) -> None:
        self._source, self._covers, self._ctx = source, covers, ctx
        self._windows: dict[tuple[str, str | None], _Window] = {}
        self._begun = time.monotonic()

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table, our own included."""
        counts: dict[str, int] = {}
        for (table, _), window in self._windows.items():
            if window.rows:
                counts[table] = counts.get(table, 0) + window.rows
        counts[SourceHealth.TABLE] = len(self._windows)
        return dict(sorted(counts.items()))

    @property
    def total(self) -> int:
        """Rows so far."""
        return sum(w.rows for w in self._windows.values())

    def counted(self, rows: Iterable[Row | Block]) -> Iterator[Row | Block]:
        """The rows as they pass."""
        windows = self._windows
        for row in rows:
            if isinstance(row, Block):
                if "node" in row.columns:
                    yield from self.counted(row.rows())
                    continue
                moments = row.columns.get("ts", (row.constants.get("ts"),))
                known = [t for t in moments if t is not None]
                ends = (min(known), max(known)) if known else ()
                key, count = (row.TABLE, row.constants.get("node")), row.count
            else:
                ends = (row.ts,) if row.ts is not None else ()
                key, count = (row.TABLE, row.node), 1
            window = windows.get(key)
            if window is None:
                key = key if len(windows) < _MAX_NODES else (row.TABLE, None)
                window = windows.setdefault(key, _Window())
            window.rows += count
            for ts in ends:
                if window.first is None or ts < window.first:
                    window.first = ts
                if window.last is None or ts > window.last:
                    window.last = ts
            yield row

    def health(self, error: str | None) -> Iterator[SourceHealth]:
        """One row per table and node: what was looked at, and whether it worked."""
        ctx, seen = self._ctx, {table for table, _ in self._windows}
        for table in self._covers:
            if table not in seen:
                self._windows[table, ctx.node] = _Window()
        duration = time.monotonic() - self._begun
        for (table, node), window in self._windows.items():
            yield SourceHealth(
                cluster=ctx.cluster,
                node=node or ctx.node,
                ts=min((t for t in (window.first, ctx.seen_from) if t), default=None),
                origin=ctx.name,
                job_id=ctx.job_id,
                attempt=ctx.attempt,
                source=self._source,
                covers=table,
                end_ts=max((t for t in (window.last, ctx.seen_to) if t), default=None),
                ok=error is None,
                rows=window.rows,
                message=error or self._message(),
                duration_s=duration,
                bytes_read=ctx.bytes_read,
                bytes_total=ctx.size,
            )

    def _message(self) -> str | None:
        ctx = self._ctx
        told = [f"{ctx.problem_count} problems: " + "; ".join(ctx.problems[:3])] if ctx.problem_count else []
        return "; ".join([*told, *ctx.notes[:3]]) or None
