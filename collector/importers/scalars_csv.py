"""scalars_csv: the scalars of a training run as its logger kept them, a table of commas.

SOURCE    Lightning's CSVLogger (metrics.csv), Keras's CSVLogger, TensorBoard's "download CSV", and loops that write alike: a
          first line of names with a count (step, epoch, iteration) and a loss among them, in any order
ROWS      train_step, one for each row of the table and each split (train, eval) of which it says anything
CAVEAT    Only TensorBoard's has times. A loss is called so by its column; of a curve with no name it is read from the file's
          name. An empty cell says that nothing was logged. Nothing tells whether the run went on after the last row. Beside
          a log it is left alone unless it was asked for by name: it may be an older run's.
EXAMPLES
    epoch,step,train_loss_epoch,train_loss_step,val_loss
    0,49,,2.3113,
    0,99,,,2.4119

    Wall time,Step,Value
    1654943296.2150984,0,2.3113
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.saved import origin
from collector.parsers.values import as_json, number, whole
from store import lazy
from store.rows import Row, TrainStep

_TENSORBOARD = ["walltime", "step", "value"]
_STEPS = ("step", "globalstep", "trainerglobalstep", "steps", "iteration", "iterations", "iter", "update", "batch")
_EPOCHS = ("epoch", "epochs", "ep")
_LOSSES = ("trainlossstep", "lossstep", "trainloss", "trainingloss", "trainlossepoch", "lossepoch", "loss", "totalloss", "traintotalloss", "avgloss", "lmloss")  # fmt: skip
_HELD_OUT = ("valloss", "validloss", "validationloss", "evalloss", "devloss", "testloss", "vallossepoch", "evallossepoch", "testlossepoch")  # fmt: skip
_RATES = ("lr", "learningrate")
_NORMS = ("gradnorm", "gnorm", "gradientnorm")
_ASIDE = lazy.compile(r"(val|valid|validation|eval|dev|test)(?![a-z])", re.IGNORECASE)
_WORDS = lazy.compile(r"[A-Za-z]+")
_VERSION = lazy.compile(r"version_\d+")


class ScalarsCsv:
    """Reads one such table."""

    name: ClassVar[str] = "scalars_csv"
    covers: ClassVar[tuple[str, ...]] = ("train_step",)

    def claims(self, path: Path, head: bytes) -> int:
        """Names with a count and a loss among them, and a second line of nothing but figures."""
        names, _, rest = decode(head[:65_536]).partition("\n")
        table = _Table.of(_cells(names), path)
        second = _cells(rest.partition("\n")[0])
        if table is None or len(second) != len(table.names):
            return 0
        return 75 if any(second) and all(not c or number(c) is not None for c in second) else 0

    @staticmethod
    def passes_over(path: Path) -> bool:
        """Those that lie where a log does, or above which one does where Lightning keeps a folder for each run."""
        own = [path.parent]
        if _VERSION.fullmatch(path.parent.name):
            own += [*path.parents[1:3]]
        return any(map(_holds_a_log, own))

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """What each row says of training, then what it says of data held out. Raises ImportFailed."""
        table: _Table | None = None
        base, last, back = origin(ctx), -1, 0
        for line_no, line in lines(path, ctx):
            cells = _cells(line)
            if table is None:
                table = _Table.of(cells, path)
                if table is None:
                    raise ImportFailed("its first line names no count of steps and no loss")
                continue
            if not any(cells) or cells == table.names:
                continue
            if len(cells) != len(table.names):
                ctx.problem(f"line {line_no}: {len(cells)} fields where the header has {len(table.names)}")
                continue
            found = table.read(cells)
            step, epoch = whole(found.get(table.step)), found.get(table.epoch)
            if step is None and epoch is None:
                ctx.problem(f"line {line_no}: neither a step nor an epoch")
                continue
            if step is not None:
                back += step < last
                last = step
            at = _moment(found.get(table.time)) if table.time else None
            ctx.saw(at)
            for split, told in table.told(found):
                yield TrainStep(
                    framework="table",
                    split=split,
                    ts=at,
                    ts_kind="embedded" if at else None,
                    line_no=line_no,
                    step=step,
                    epoch=epoch,
                    **told,
                    **base,
                )
        if back:
            ctx.note(f"the count of steps goes back {back} times: this is more than one run, or one that was resumed")


@dataclass(slots=True)
class _Table:
    """The names of a table's columns, and which of them mean what ('' where none does)."""

    names: list[str]
    step: str
    epoch: str
    time: str = ""
    loss: str = ""
    held_out: str = ""
    rate: str = ""
    norm: str = ""
    called: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, names: list[str], path: Path) -> _Table | None:
        """What a first line names; None where it is no table of training."""
        if len(names) < 2 or len({*names}) != len(names) or any(number(n) is not None for n in names):
            return None
        plain = {"".join(_WORDS.findall(n)).lower(): n for n in reversed(names)}
        if [*plain][::-1] == _TENSORBOARD:
            return cls._curve(names, path)
        table = cls(names, _first(plain, _STEPS), _first(plain, _EPOCHS))
        table.loss, table.held_out = _first(plain, _LOSSES), _first(plain, _HELD_OUT)
        table.rate, table.norm = _first(plain, _RATES), _first(plain, _NORMS)
        return table if (table.step or table.epoch) and (table.loss or table.held_out) else None

    @classmethod
    def _curve(cls, names: list[str], path: Path) -> _Table:
        """A curve that TensorBoard exported: the file's name alone says of what."""
        words = {w.lower() for w in _WORDS.findall(path.stem)}
        table = cls(names, names[1], "", time=names[0], called={names[2]: path.stem})
        if "loss" in words:
            if any(_ASIDE.fullmatch(w) for w in words):
                table.held_out = names[2]
            else:
                table.loss = names[2]
        return table

    def read(self, cells: list[str]) -> dict[str, float]:
        """The figures of one row by their column's name."""
        pairs = zip(self.names, cells, strict=True)
        return {name: value for name, cell in pairs if cell and (value := number(cell)) is not None}

    def told(self, found: dict[str, float]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The splits that a row says anything of, with their columns."""
        own = {self.step, self.epoch, self.time, self.loss, self.held_out, self.rate, self.norm}
        rest = {self.called.get(n, n): v for n, v in found.items() if n not in own}
        aside = {n: v for n, v in rest.items() if _ASIDE.match(n)}
        train = {n: v for n, v in rest.items() if n not in aside}
        loss, held_out = found.get(self.loss), found.get(self.held_out)
        rate, norm = found.get(self.rate), found.get(self.norm)
        evaluating = held_out is not None or bool(aside)
        if loss is not None or norm is not None or ((train or rate is not None) and not evaluating):
            name = self.called.get(self.loss, self.loss) if loss is not None else None
            further = {"metrics": as_json(train), "learning_rate": rate, "grad_norm": norm}
            yield "train", {"loss": loss, "loss_name": name, **further}
            train = {}
        if evaluating:
            name = self.called.get(self.held_out, self.held_out) if held_out is not None else None
            yield "eval", {"loss": held_out, "loss_name": name, "metrics": as_json({**train, **aside})}


def _holds_a_log(folder: Path) -> bool:
    """In a folder that may not be listed, as one above what was given may be, none is seen."""
    try:
        return any(p.suffix in (".out", ".err", ".log") for p in islice(folder.iterdir(), 1000))
    except OSError:
        return False


def _first(plain: dict[str, str], names: tuple[str, ...]) -> str:
    return next((plain[n] for n in names if n in plain), "")


def _cells(line: str) -> list[str]:
    """The fields of one line of commas, none of which goes on in the next."""
    try:
        return [c.strip() for c in next(csv.reader([line.strip("\r\n\ufeff")]), list[str]())]
    except csv.Error:
        return []


def _moment(value: float | None) -> datetime | None:
    return datetime.fromtimestamp(value, UTC) if value is not None and 0 < value < 4e9 else None
