"""nnunet: the epochs of nnU-Net, one value a line after a stamp of the trainer's own.

SOURCE    nnU-Net 1 and 2 (training_log_*.txt and standard output)
ROWS      train_step (split train or eval)
CAVEAT    the loss is a Dice and a cross-entropy together: it may be negative, and lower is better
EXAMPLES
    2024-05-01 09:00:07.910043: Epoch 12
    2024-05-01 09:00:07.914042: Current learning rate: 0.00999
    2024-05-01 09:02:41.493872: train_loss -0.6333
    2022-05-01 09:02:41.016679: train loss : -0.6584          (version 1)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import fielded
from collector.parsers.values import NUMBER, number
from store import lazy

_STAMP = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: +"
_EPOCH = lazy.compile(rf"(?:{_STAMP}Epoch|^epoch: ) *(?P<epoch>\d{{1,9}}) *$")
_RATE = lazy.compile(rf"{_STAMP}Current learning rate: (?P<rate>{NUMBER}) *$")
_LOSS = lazy.compile(rf"{_STAMP}(?P<what>train|val|validation)(?:_loss| loss ?:) (?P<loss>{NUMBER}) *$")


class NnUnet(LineParser):
    """State: the epoch that runs and its rate."""

    name: ClassVar[str] = "nnunet"
    anchors: ClassVar[tuple[str, ...]] = ("Epoch ", "epoch: ", "learning rate: ", "_loss ", " loss : ", " loss: ")

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines of frameworks, and all that are worded otherwise than its own."""
        return fielded(text) or not any(own.match(text) for own in (_EPOCH, _RATE, _LOSS))

    def __init__(self) -> None:
        self._epoch: float | None = None
        self._rate: float | None = None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if found := _EPOCH.match(line.text):
            self._epoch = float(found["epoch"])
        elif found := _RATE.match(line.text):
            self._rate = number(found["rate"])
        elif self._epoch is not None and (found := _LOSS.match(line.text)):
            training = found["what"] == "train"
            yield line.step(
                "nnunet",
                split="train" if training else "eval",
                epoch=self._epoch,
                loss=number(found["loss"]),
                loss_name="loss" if training else "eval loss",
                learning_rate=self._rate if training else None,
            )
