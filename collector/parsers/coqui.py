"""coqui: the blocks of Coqui's Trainer: a head with the step, and a line for each of the figures below it.

SOURCE    trainer/logging/console_logger.py (TTS and XTTS recipes)
ROWS      train_step: `loss`, else the first figure whose name begins so; learning rate and gradient norm; the others in metrics
CAVEAT    Each figure stands as of this step with its mean behind it in brackets: the former is read. Below `> EVALUATION` and
          in the summary of an epoch the same figures are of something else and are not read. The count of all steps is used.
EXAMPLE
       --> TIME: 2026-03-01 10:00:26 -- STEP: 24/406 -- GLOBAL_STEP: 1225
         | > loss: 2.31041  (2.41102)
         | > grad_norm: 1.25  (1.31)
         | > current_lr: 0.0001
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    r"--> (?:TIME: .{1,40}? -- )?STEP: (?P<batch>-?\d{1,12})/(?P<batches>\d{1,12}) -- GLOBAL_STEP: (?P<step>\d{1,12})"
)
_FIGURE = lazy.compile(rf"^\s*\| > (?P<key>[A-Za-z]\w{{0,60}}): ?(?P<value>{NUMBER})")
_MOST = 200
"""Figures after which a block that does not end is none."""
_EPOCH = lazy.compile(r"^\s*> EPOCH: (?P<epoch>\d{1,9})/(?P<epochs>\d{1,9})")


class Coqui:
    """State: the head of an open block, its figures, and the epoch that was told last."""

    name: ClassVar[str] = "coqui"
    anchors: ClassVar[tuple[str, ...]] = (" -- GLOBAL_STEP: ", "> EPOCH: ")

    def __init__(self) -> None:
        self._head: tuple[Line, re.Match[str]] | None = None
        self._figures: dict[str, float] = {}
        self._epoch: tuple[float, float] | None = None

    @property
    def wants_more(self) -> bool:
        """True inside a block."""
        return self._head is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if (head := _HEAD.search(line.text)) is not None:
            rows = [*self.close()]
            self._head = (line, head)
            return rows
        if (epoch := _EPOCH.match(line.text)) is not None:
            self._epoch = (float(epoch["epoch"]), float(epoch["epochs"]))
        if self._head is not None and (figure := _FIGURE.match(line.text)) is not None:
            value = number(figure["value"])
            if value is not None:
                self._figures.setdefault(figure["key"], value)
            return [*self.close()] if len(self._figures) > _MOST else ()
        return [*self.close()] if self._head is not None and line.text.strip() else ()

    def close(self) -> Iterable[ParsedRow]:
        """The block is over, or the stream is."""
        head, figures = self._head, self._figures
        self._head, self._figures = None, {}
        name = "loss" if "loss" in figures else next((k for k in figures if k.startswith("loss")), None)
        if head is None or name is None:
            return
        line, match = head
        epoch, epochs = self._epoch or (None, None)
        loss, rate, norm = figures.pop(name), figures.pop("current_lr", None), figures.pop("grad_norm", None)
        yield line.step(
            "coqui",
            step=int(match["step"]),
            epoch=epoch,
            total_epochs=epochs,
            loss=loss,
            loss_name=name,
            learning_rate=rate,
            grad_norm=norm,
            step_time_s=figures.pop("step_time", None),
            metrics=as_json({"batches": int(match["batches"]), **figures}),
        )
