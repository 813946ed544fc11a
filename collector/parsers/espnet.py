"""espnet: the trainer's lines of ESPnet2.

SOURCE    espnet2/train/trainer.py, reporter.py
ROWS      train_step: one of each stretch of batches (split train), one of each epoch's validation (split eval)
CAVEAT    the batches count within an epoch
EXAMPLES
    [gpu03] 2021-10-01 10:01:02,345 (trainer:672) INFO: 1epoch:train:51-100batch: iter_time=0.2, loss_ctc=130.2, loss=95.1, optim0_lr0=2e-05, train_time=0.6
    [gpu03] 2021-10-01 11:01:02,345 (trainer:331) INFO: 1epoch results: [train] loss=80.1, time=30 minutes, [valid] loss=18.2, time=1 minute
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_TRAIN = lazy.compile(r"INFO: (?P<epoch>\d{1,7})epoch:train:\d{1,9}-(?P<last>\d{1,9})batch: (?P<rest>.+)$")
_VALID = lazy.compile(r"INFO: (?P<epoch>\d{1,7})epoch results: .*?\[valid\] (?P<rest>[^\[]+)")
_PAIR = lazy.compile(rf"(?:^|, )(?P<key>[A-Za-z_]\w{{0,40}})=(?P<value>{NUMBER})(?=,|$|\s*$)")


class Espnet(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "espnet"
    anchors: ClassVar[tuple[str, ...]] = ("epoch:train:", "epoch results: ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match, split = _TRAIN.search(line.text), "train"
        if match is None:
            match, split = _VALID.search(line.text), "eval"
        if match is None:
            return
        values = {m["key"]: v for m in _PAIR.finditer(match["rest"].strip()) if (v := number(m["value"])) is not None}
        if "loss" not in values:
            return
        yield line.step(
            "espnet",
            split=split,
            step=int(match["last"]) if split == "train" else None,
            epoch=float(match["epoch"]),
            loss=values.pop("loss"),
            loss_name="loss",
            grad_norm=values.pop("grad_norm", None),
            learning_rate=values.pop("optim0_lr0", None),
            metrics=as_json(values),
        )
