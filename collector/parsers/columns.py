"""columns: a table of training that is printed row by row, below a line that names its columns.

SOURCE    fastai, skorch, loops that print through PrettyTable, tabulate, format or csv
ROWS      train_step, one a row of the table
CAVEAT    The heading has no figure in it and names a count (epoch, step, iteration) and the loss of training. A row has as many
          cells as it, a whole number as its count, and no count goes back. Other lines may stand between; a table ends after
          so many of them.
EXAMPLES
    epoch     train_loss  valid_loss  accuracy  time
    0         2.311270    2.411900    0.312000  00:12

    | Epoch | Step | Train Loss | LR       |
    |-------|------|------------|----------|
    |     1 |  100 |     2.3113 | 1.00e-03 |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import number, whole
from store import lazy

_HEADING = lazy.compile(r"[|│┃]?\s*[A-Za-z][A-Za-z_/ .()%|│┃,\t-]{8,300}")
_EDGES = lazy.compile(r"^[\s|│┃]+|[\s|│┃]+$")
_GAPS = lazy.compile(r"\s*[|│┃]\s*|\s*,\s*|\t+\s*|\s{2,}")
_EPOCHS = frozenset(("epoch", "epochs", "ep"))
_STEPS = frozenset(
    ("step", "steps", "iter", "iteration", "iterations", "global step", "global_step", "batch", "update")
)
_LOSSES = ("train_loss", "train loss", "training loss", "training_loss", "train/loss", "loss", "total_loss", "total loss", "avg loss")  # fmt: skip
_RATES = ("lr", "learning_rate", "learning rate")
_NORMS = ("grad_norm", "grad norm", "gnorm")
_MOST_BETWEEN = 20


class Columns:
    """State: the names of the columns of the open table, what it counted last, and the lines since its last row."""

    name: ClassVar[str] = "columns"
    anchors: ClassVar[tuple[str, ...]] = ("loss", "Loss", "LOSS")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._last = (-1.0, -1.0)
        self._between = 0

    @staticmethod
    def ignores(text: str) -> bool:
        """What holds a figure names no columns."""
        return not _names(text)

    @property
    def wants_more(self) -> bool:
        """True while rows may follow."""
        return bool(self._names)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:600]
        if names := _names(text):
            if names != self._names:  # else it is the same table, whose heading is said again
                self._names, self._last = names, (-1.0, -1.0)
            self._between = 0
            return ()
        if not self._names:
            return ()
        cells = _cells(text)
        if len(cells) == len(self._names) and (row := self._row(line, dict(zip(self._names, cells, strict=True)))):
            self._between = 0
            return [row]
        self._between += 1
        if self._between > _MOST_BETWEEN:
            self._names = []
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """Every row was given when it was read."""
        self._names = []
        return ()

    def _row(self, line: Line, cells: dict[str, str]) -> ParsedRow | None:
        epoch, epochs = _count(cells, _EPOCHS)
        step, total = _count(cells, _STEPS)
        shown = next((cells[n] for n in _LOSSES if n in cells), "")
        loss = None if shown.isdigit() else number(shown)
        at = (epoch or 0.0, step or 0.0)
        if loss is None or (epoch is None and step is None) or at <= self._last:
            return None
        self._last = at
        return line.step(
            "table",
            epoch=epoch,
            total_epochs=epochs,
            step=int(step) if step is not None else None,
            total_steps=int(total) if total is not None and epoch is None else None,
            loss=loss,
            loss_name="loss",
            learning_rate=next((number(cells[n]) for n in _RATES if n in cells), None),
            grad_norm=next((number(cells[n]) for n in _NORMS if n in cells), None),
        )


def _names(text: str) -> list[str]:
    """The names of the columns, where a line names those of a table of training."""
    if _HEADING.fullmatch(text) is None:
        return []
    names = [n.lower() for n in _cells(text)]
    if len(names) == 1:
        names = text.lower().split()
    counted = names[0] in _EPOCHS | _STEPS if names else False
    return (
        names if counted and len(names) > 2 and len({*names}) == len(names) and any(n in _LOSSES for n in names) else []
    )


def _cells(text: str) -> list[str]:
    return _GAPS.split(_EDGES.sub("", text))


def _count(cells: dict[str, str], names: frozenset[str]) -> tuple[float | None, float | None]:
    text = next((cells[n] for n in cells if n in names), "")
    first, _, of = text.partition("/")
    n, total = whole(first.strip()), whole(of.strip())
    return None if n is None or n < 0 else float(n), None if total is None else float(total)
