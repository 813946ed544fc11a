"""epoch_lines: what plain loops print: an epoch, perhaps a batch, and named losses after it.

SOURCE    PyTorch's tutorials and MNIST example, and the many scripts that follow them
ROWS      train_step (split train or eval)
CAVEAT    a step is the batch within its epoch; lines that other parsers know (a bar, a rank, MMEngine) are left to them
EXAMPLES
    Epoch: 1, Train Loss: 11.008990, Val Loss: 11.003721
    Epoch [1/5], Step [100/600], Loss: 0.3512
    Train Epoch: 14 [51200/60000 (85%)]	Loss: 0.041220
    iteration 250, epoch 2 : loss : 1.350536, lr: 0.000800
    [ Train | 100/100 ] loss = 0.01990, acc = 0.99361
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.nanogpt import between_bars
from collector.parsers.values import NUMBER, as_json, number

_EPOCH = re.compile(r"(?<![\w(])[Ee]poch:? ?(?:\[ ?)?#?(\d{1,18})(?: ?(?:/|of) ?(\d{1,18}))?\]?(?=[\s,:|;)-])(.*)")
# The split and the epoch in one pair of brackets, the loss behind it.
_SPLIT = re.compile(
    rf"^\[ ?(?P<split>Train|Valid|Val|Test)\w* ?\| ?(?P<epoch>\d{{1,9}}) ?/ ?(?P<total>\d{{1,9}}) ?\] loss ?[:=] ?(?P<loss>{NUMBER})",
    re.I,
)
_BATCH = re.compile(
    r"(?i:\b(?:step|iter(?:ation)?|batch)s?):? ?\[?(?P<n>\d{1,18}) ?(?:/ ?(?P<total>\d{1,18}))?\]?"
    r"|^\s*\[ *(?P<n2>\d{1,18})/(?P<total2>\d{1,18})(?: \( *\d+(?:\.\d+)?%\))?\]"
)
# Counted over the whole training: an iteration that stands before the epoch that it is in.
_GLOBAL = re.compile(
    r"(?:^|[\]):|]|- )\s*(?i:(?:global[ _]?step|iter(?:ation)?|step)s?)[ :=]{0,3}\[?(\d{1,18})(?: ?/ ?(\d{1,18}))?\]?[\s,;|-]{1,4}\Z"
)
_TRAIN = re.compile(
    rf"(?i:(?<![\w/])(?:avg\.?|average|mean|total|train(?:ing)?)?[ _]?(?:train(?:ing)?[ _])?loss) ?[:=]{{1,2}} ?({NUMBER})"
)
_EVAL = re.compile(rf"(?i:(?<![\w/])(?:val(?:id)?(?:ation)?|test|dev|eval)[ _]loss) ?[:=]{{1,2}} ?({NUMBER})")
_RATE = re.compile(rf"(?i:\b(?:lr|learning[ _]rate)) ?[:=] ?({NUMBER})")
_NORM = re.compile(rf"(?i:\b(?:grad(?:ient)?[ _]?norm|gnorm)) ?[:=] ?({NUMBER})")
_OTHERS = re.compile(
    r"(?i:best) (?:model )?(?:saved )?(?:at )?epoch|batch_cost|%\||it/s|s/it|━|eta: |Rank: \d|\bINFO \| (?:train|valid)|\(train\)|ppo_ep|global_step|consumed|^\W*\{|\bfile\b"
)


class EpochLines(LineParser):
    """One line, one epoch or batch of a plain loop."""

    name: ClassVar[str] = "epoch_lines"
    anchors: ClassVar[tuple[str, ...]] = ("Epoch", "epoch ", "epoch:", "rain |", "alid |", "Val |", "Test |")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if len(text) > 1000 or "oss" not in text or "OSS:" in text or _OTHERS.search(text):
            return ()
        match = _EPOCH.search(text)
        if match is None:
            return self._split(line)
        rest = match[3]
        held_out = _EVAL.search(rest)
        train = _TRAIN.search(_EVAL.sub(" ", rest))
        if train is None and held_out is None:
            return ()
        batch = _BATCH.search(rest)
        before = None if batch else _GLOBAL.search(text[: match.start()])
        at: dict[str, Any] = {
            "epoch": float(match[1]),
            "total_epochs": float(match[2]) if match[2] else None,
            "step": int(batch["n"] or batch["n2"]) if batch else int(before[1]) if before else None,
            "total_steps": int(before[2]) if before and before[2] else None,
        }
        rows: list[ParsedRow] = []
        if train is not None and not between_bars(line):
            rate, norm = _RATE.search(rest), _NORM.search(rest)
            batches = (batch["total"] or batch["total2"]) if batch else None
            rows.append(
                line.step(
                    "plain-loop",
                    **at,
                    loss=number(train[1]),
                    loss_name="loss",
                    learning_rate=number(rate[1]) if rate else None,
                    grad_norm=number(norm[1]) if norm else None,
                    metrics=as_json({"batches": int(batches)} if batches else {}),
                )
            )
        if held_out is not None:
            rows.append(line.step("plain-loop", split="eval", **at, loss=number(held_out[1]), loss_name="eval loss"))
        return rows

    def _split(self, line: Line) -> Iterable[ParsedRow]:
        match = _SPLIT.match(line.text)
        if match is None:
            return ()
        training = match["split"].lower() == "train"
        return [
            line.step(
                "plain-loop",
                split="train" if training else "eval",
                epoch=float(match["epoch"]),
                total_epochs=float(match["total"]),
                loss=number(match["loss"]),
                loss_name="loss" if training else "eval loss",
            )
        ]
