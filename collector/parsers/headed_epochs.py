"""headed_epochs: an epoch that has a line of its own, and below it lines with the loss of each split, or of its batches.

SOURCE    PyTorch's transfer-learning and quickstart tutorials and the many loops that follow them
ROWS      train_step (split train or eval): one a split for each heading, and one for each batch that is told
CAVEAT    A heading alone is the plan of an epoch and gives nothing. What is said once more of a split before the next heading
          (a summary at the end) is not of that epoch. nnU-Net's lines, which look alike, have a parser of their own.
EXAMPLE
    Epoch 4/24
    ----------
    train Loss: 0.1922 Acc: 0.9262
    val Loss: 0.2091 Acc: 0.9216

    Epoch 1
    -------------------------------
    loss: 2.302088  [   64/60000]

    Epoch 001 | time 207.5s | beta 0.100
    TRAIN | loss 0.0721 | psnr 33.25

    Epoch: 2
    [10000/60000 ( 17%)]  Loss: 0.5310

    EPOCH 3:
      batch 1000 loss: 0.4512
    LOSS train 0.4321 valid 0.4789
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

# A logger's time and level may stand before it, and nothing else.
_LOGGED = r"^(?:[\d\[(][^A-Za-z]{0,40}(?:T[\d:.,]{5,16}\S{0,6}\s)?[\[(\s-]{0,4}(?:[\w.]{1,40} - )?(?:INFO|DEBUG)\b[^A-Za-z\[]{0,6})?"
_HEADING = lazy.compile(
    rf"{_LOGGED}\W{{0,12}}(?:Epoch|EPOCH):? ?[\[(]?(?P<epoch>\d{{1,9}})(?: ?(?:/|of) ?(?P<total>\d{{1,9}}))?[\])]?(?: \(\d{{1,9}} ?/ ?(?P<of>\d{{1,9}})\))?(?: \| (?!\w{{0,20}}loss)[A-Za-z_]{{1,20}}[ :=]{{1,2}}{NUMBER}s?){{0,6}}\W{{0,80}}$"
)
_LOSS = lazy.compile(
    rf"{_LOGGED}\W{{0,6}}(?P<split>(?i:train(?:ing)?|val(?:id(?:ation)?)?|test|dev|eval(?:uation)?))"
    rf"(?:[ _]{{1,4}}(?i:(?:mean|avg|average|epoch)[ _])?(?i:loss) ?[:=]| {{0,4}}\| {{1,2}}(?i:loss)[ :=]) ?(?P<loss>{NUMBER})(?![\w%])"
)


# Both splits below their epoch, as the tutorial on training with PyTorch prints them.
_BOTH = lazy.compile(rf"^\s{{0,4}}LOSS train (?P<loss>{NUMBER}) (?:valid|val|test) (?P<held>{NUMBER})\s*$")
_COUNT = r"\[ {0,8}(?P<n>\d{1,12})/ {0,8}(?P<of>\d{1,12})"
_BATCH = lazy.compile(rf"^\s{{0,4}}(?:train(?:ing)? )?loss: (?P<loss>{NUMBER}) {{1,4}}{_COUNT}\]\s*$", re.I)
_COUNTED = lazy.compile(
    rf"^\s{{0,4}}{_COUNT} \( {{0,4}}\d{{1,3}}%\)\] {{1,4}}loss: {{1,4}}(?P<loss>{NUMBER})\s*$", re.I
)


class HeadedEpochs(LineParser):
    """State: the heading above, and the splits that were told under it."""

    name: ClassVar[str] = "headed_epochs"
    anchors: ClassVar[tuple[str, ...]] = (
        "Epoch",
        "EPOCH",
        *(f"{split}{gap}{loss}" for split in ("rain", "raining", "al", "alid", "alidation", "est") for gap in (" ", "_") for loss in ("loss", "Loss")),
        "Val   Loss",
        *(f"{split}{gap}| {loss}" for split in ("rain", "RAIN", "al", "VAL", "alid", "est", "TEST") for gap in (" ", "   ") for loss in ("loss", "Loss")),
        "RAIN LOSS",
        "loss: ",
        "  Loss: ",
        "VAL LOSS",
        "LOSS train ",
    )  # fmt: skip

    def __init__(self) -> None:
        self._epoch: tuple[float, float | None] | None = None
        self._told: set[str] = set()

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines that are neither a heading nor begin with a split's loss, nor are that of a batch."""
        return len(text) > 300 or not any(p.match(text) for p in (_HEADING, _LOSS, _BATCH, _COUNTED, _BOTH))

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if len(line.text) > 300:
            return ()
        if heading := _HEADING.match(line.text):
            total = heading["total"] or heading["of"]
            self._epoch = float(heading["epoch"]), float(total) if total else None
            self._told.clear()
            return ()
        if batch := _BATCH.match(line.text) or _COUNTED.match(line.text):
            epoch, total = self._epoch or (None, None)
            at = line.step("plain-loop", epoch=epoch, total_epochs=total, step=int(batch["n"]), loss=number(batch["loss"]), loss_name="loss", metrics=as_json({"batches": int(batch["of"])}))  # fmt: skip
            return [at]
        if both := _BOTH.match(line.text):
            return [*self._split(line, "train", both["loss"]), *self._split(line, "eval", both["held"])]
        if (found := _LOSS.match(line.text)) is None:
            return ()
        return self._split(line, "train" if found["split"].lower().startswith("train") else "eval", found["loss"])

    def _split(self, line: Line, split: str, loss: str) -> list[ParsedRow]:
        if self._epoch is None or split in self._told:
            return []
        self._told.add(split)
        epoch, total = self._epoch
        name = "loss" if split == "train" else "eval loss"
        return [
            line.step("plain-loop", split=split, epoch=epoch, total_epochs=total, loss=number(loss), loss_name=name)
        ]
