"""olmo: OLMo's and Composer's blocks: a head line with the step, then one metric per indented line.

ROWS      train_step (one for each block that has a loss; one without a loss for a head line alone)
CAVEAT    a metric line without its head (the log was cut) gives its loss without a step
EXAMPLES
    [2024-04-17 09:42:26] INFO     [olmo.train:816, rank=0] [step=1/739328]
        train/CrossEntropyLoss=11.25
        train/Perplexity=76,880
        optim/total_grad_norm=9.6
    [batch=20/3200]:
             Train time/epoch: 0
             Train loss/train/total: 12.0000
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import as_json, number, scaled
from store import lazy
from store.rows import TrainStep

_HEAD = lazy.compile(
    r"\[(?P<what>step|batch)=(?P<n>\d{1,18})(?:/(?P<total>\d{1,18}))?(?:,epoch=(?P<epoch>\d{1,18}))?\]:?\s*$"
)
_METRIC = lazy.compile(r"^\s*(?:(?P<part>Train|Eval) )?(?P<key>[A-Za-z][\w/.() -]*?)(?:=|: )(?P<value>\S+)\s*$")
_LOSSES = ("train/CrossEntropyLoss", "train/CE loss", "loss/train/total", "loss/train/loss", "train/loss")
_GRADS = ("optim/total_grad_norm", "optim/total grad norm")
_RATES = ("optim/learning_rate_group0", "optim/LR (group 0)", "optim/LR")
MAX_BLOCK = 200
MAX_METRIC = 200


class Olmo:
    """One stream of blocks."""

    name: ClassVar[str] = "olmo"
    anchors: ClassVar[tuple[str, ...]] = (
        "[step=",
        "[batch=",
        "train/CrossEntropyLoss=",
        "train/CE loss=",
        "loss/train/total: ",
    )

    def __init__(self) -> None:
        self._row: TrainStep | None = None
        self._values: dict[str, float] = {}
        self._seen = 0

    @property
    def wants_more(self) -> bool:
        """While a block may go on."""
        return self._row is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line; a row when its block is over."""
        if match := _HEAD.search(line.text[-MAX_METRIC:]):
            done = self.close()
            framework = "olmo" if match["what"] == "step" else "composer"
            total = int(match["total"]) if match["total"] else None
            epoch = float(match["epoch"]) if match["epoch"] else None
            self._row = line.step(framework, step=int(match["n"]), total_steps=total, epoch=epoch)
            return done
        metric = _METRIC.match(line.text) if len(line.text) <= MAX_METRIC else None
        value = scaled(metric["value"]) if metric else None
        if metric is None or value is None:
            self._seen += 1
            return self.close() if self._row is None or self._seen > 2 or not line.text.startswith(" ") else ()
        if self._row is None:
            if metric["key"] not in _LOSSES:
                return ()
            self._row = line.step("composer" if metric["part"] else "olmo")
        if metric["part"] != "Eval":
            self._values.setdefault(metric["key"], value)
        return self.close() if len(self._values) >= MAX_BLOCK else ()

    def close(self) -> Iterable[ParsedRow]:
        """The block as far as it was printed."""
        row, values = self._row, self._values
        self._row, self._values, self._seen = None, {}, 0
        if row is None:
            return ()
        name = next((n for n in _LOSSES if n in values), None)
        rest = {k: v for k, v in values.items() if k != name and number(v) is not None}
        return [
            replace(
                row,
                loss=values.get(name) if name else None,
                loss_name=name,
                grad_norm=next((values[k] for k in _GRADS if k in values), None),
                learning_rate=next((values[k] for k in _RATES if k in values), None),
                tokens_per_s=None,
                metrics=as_json(rest),
            )
        ]
