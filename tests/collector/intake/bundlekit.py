"""What tests of the import share: samples of every kind, and a lake that is a list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collector.intake.report import FileReport, ImportReport
from store.rows import Block, Row

SAMPLES = Path(__file__).parents[1] / "importers" / "samples"


class Lake:
    """Stands in for the store's writer: one list of rows per key, as the lake keeps them."""

    def __init__(self) -> None:
        self.batches: dict[str, tuple[str, list[Row]]] = {}
        self.appended = 0

    def append(self, rows: Any, *, batch: str, replaces: str | None = None) -> Any:
        from store.writer import Published

        key = replaces or batch
        if key in self.batches and self.batches[key][0] == batch:
            return Published(batch, {}, 0, True)
        kept: list[Row] = [r for row in rows for r in (row.rows() if isinstance(row, Block) else [row])]
        self.appended += 1
        self.batches[key] = (batch, kept)
        counts: dict[str, int] = {}
        for row in kept:
            counts[row.TABLE] = counts.get(row.TABLE, 0) + 1
        return Published(batch, counts, 1, False)

    def rows(self, table: str) -> list[Any]:
        return [r for _, rows in self.batches.values() for r in rows if table == r.TABLE]


def named(report: ImportReport, name: str) -> FileReport:
    return next(f for f in report.files if f.name == name)
