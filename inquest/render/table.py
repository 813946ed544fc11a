"""A plain table for a terminal: columns as wide as they need, numbers to the right, nothing that a log could inject."""

from __future__ import annotations

from collections.abc import Sequence

from inquest import safe


def table(names: Sequence[str], rows: Sequence[Sequence[object]], *, width: int = 60) -> str:
    """Lines of text; a cell longer than `width` is cut with an ellipsis."""
    cells = [[_cell(c, width) for c in row] for row in rows]
    names = [safe.line(n) for n in names]
    widths = [max([len(n), *(len(r[i]) for r in cells)]) for i, n in enumerate(names)]
    right = [bool(rows) and all(isinstance(r[i], int | float) or r[i] is None for r in rows) for i in range(len(names))]
    lines = [_line(names, widths, right), _line(["-" * w for w in widths], widths, right)]
    return "\n".join(lines + [_line(r, widths, right) for r in cells])


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    parts = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
    return "  ".join(parts).rstrip()


def _cell(value: object, width: int) -> str:
    if value is None:
        return "-"
    text = safe.line(f"{value:g}" if isinstance(value, float) else str(value))
    return text if len(text) <= width else text[: width - 1] + "…"
