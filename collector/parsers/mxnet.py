"""mxnet: the lines of MXNet's Speedometer and of the loops that copy it (GluonCV, Sockeye).

SOURCE    mxnet/callback.py; gluon-cv's scripts; sockeye/training.py
ROWS      train_step
CAVEAT    the step is the batch of its epoch. Where the line tells a perplexity and no loss, that is the loss: it is the
          exponential of the cross entropy. A line with scores only is a step without a loss.
EXAMPLES
    INFO:root:Epoch[3] Batch [500]	Speed: 1997.40 samples/sec	accuracy=0.013391	cross-entropy=6.878449
    [Epoch 0][Batch 99], LR: 1.00E-03, Speed: 33.200 samples/sec, CrossEntropy=1.201, SmoothL1=0.612
    [INFO:sockeye.training] Epoch[0] Batch [2700]	Speed: 1293.60 samples/sec 36902.07 tokens/sec 6.25 updates/sec	perplexity=355.576054
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_SPEED = lazy.compile(
    rf"(?:\bEpoch ?\[(?P<epoch>\d{{1,9}})\]|\[Epoch (?P<epoch2>\d{{1,9}})\]),? ?\[?Batch:? ?\[?(?:\d{{1,12}}-)?(?P<n>\d{{1,12}})\][,\s]+"
    rf"(?:LR: (?P<lr>{NUMBER})[,\s]+)?Speed: (?P<speed>{NUMBER}) samples/sec\b(?: (?P<tokens>{NUMBER}) tokens/sec)?(?P<rest>.*)"
)
_PAIR = lazy.compile(rf"(?<![\w-])(?P<key>[A-Za-z][\w-]{{0,40}}) ?= ?(?P<value>{NUMBER})(?=[,\s]|$)")
_LOSSES = ("loss", "train_loss", "cross-entropy", "nll-loss", "perplexity", "ppl")


class MXNet(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "mxnet"
    anchors: ClassVar[tuple[str, ...]] = (" samples/sec",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match = _SPEED.search(line.text[:2000])
        if match is None:
            return ()
        values = {p["key"]: v for p in _PAIR.finditer(match["rest"]) if (v := number(p["value"])) is not None}
        rate = number(match["lr"]) if match["lr"] else values.pop("lr", None)
        name = next((k for wanted in _LOSSES for k in values if k.lower() == wanted), None)
        loss = None if name is None else values.pop(name)
        return [
            line.step(
                "mxnet",
                step=int(match["n"]),
                epoch=float(match["epoch"] or match["epoch2"]),
                loss=loss,
                loss_name=name,
                learning_rate=rate,
                samples_per_s=number(match["speed"]),
                tokens_per_s=number(match["tokens"]) if match["tokens"] else None,
                metrics=as_json(values),
            )
        ]
