"""epoch_lines: what plain loops print: an epoch, perhaps a batch, and named losses after it.

SOURCE    PyTorch's tutorials and MNIST example, and the many scripts that follow them
ROWS      train_step (split train or eval)
CAVEAT    a step is the batch within its epoch; lines that other parsers know (a bar, a rank, MMEngine) are left to them
EXAMPLES
    Epoch: 1, Train Loss: 11.008990, Val Loss: 11.003721
    Epoch [1/5], Step [100/600], Loss: 0.3512
    Train Epoch: 14 [51200/60000 (85%)]	Loss: 0.041220
    Train Epoch: 1.20 [92/459 (20%)]	Loss: 0.8428
    iteration 250, epoch 2 : loss : 1.350536, lr: 0.000800
    [ Train | 100/100 ] loss = 0.01990, acc = 0.99361
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.loop_words import NORM, RATE, TOOK, WITHIN, losses, seconds, step_and_wait, whole
from collector.parsers.nanogpt import between_bars
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_EPOCH = lazy.compile(
    r"(?<![\w(])[Ee]poch:? ?(?:\[ ?)?#?(\d{1,18}(?:\.\d{1,4})?)(?: ?(?:/|of) ?(\d{1,18}))?\]?(?=[\s,:|;)-])(.*)"
)
# The split and the epoch in one pair of brackets, the loss behind it.
_SPLIT = lazy.compile(
    rf"^\[ ?(?P<split>Train|Valid|Val|Test)\w* ?\| ?(?P<epoch>\d{{1,9}}) ?/ ?(?P<total>\d{{1,9}}) ?\] loss ?[:=] ?(?P<loss>{NUMBER})",
    re.I,
)
_BATCH = lazy.compile(
    r"(?i:(?:\b|(?<=\bglobal_))(?:step|iter(?:ation)?|batch)s?):? {0,6}\[? {0,6}(?P<n>\d{1,18}) ?(?:/ ?(?P<total>\d{1,18}))?\]?"
)
# Counted over the whole training: an iteration that stands before the epoch that it is in.
_GLOBAL = lazy.compile(
    r"(?:^|[\]):|]|- )\s*(?i:(?:global[ _]?step|iter(?:ation)?|step)s?)[ :=]{0,3}\[?(\d{1,18})(?: ?/ ?(\d{1,18}))?\]?[\s,;|-]{1,4}\Z"
)
_OTHERS = lazy.compile(
    r"(?i:best) (?:model )?(?:saved )?(?:at )?epoch|batch_cost|%\||it/s|s/it|━|eta: |Rank: \d|\bINFO \| (?:train|valid)|\(train\)|ppo_ep|global_step|consumed|^\W*\{|\bfile\b|\bnum_updates=|\bloss train: "
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
        told = losses(rest)
        named = [loss for loss in told if loss.marked]
        held_out = next((loss for loss in named if loss.of == "held out"), None)
        # The loss of something is that of the training where no other is told; what is joined to the word is a part's name.
        others = [n for n in named if n.of in ("unknown", "part") and " loss" in rest[n.start : n.end].lower()]
        train = whole(named) or (others[0] if len(others) == 1 else None)
        if train is None and held_out is not None:
            train = whole(
                told
            )  # `train loss 2.023 train acc: 0.16, val loss: 1.96`: the mark was forgotten at one of them
        if train is None and held_out is None:
            return ()
        batch = _BATCH.search(rest) or WITHIN.match(text, match.end(2) if match[2] else match.end(1))
        if batch is None and "." in match[1]:
            return ()  # a share of an epoch is counted by batches; without one the line is no epoch's mean
        before = None if batch else _GLOBAL.search(text[: match.start()])
        at: dict[str, Any] = {
            "epoch": float(match[1]),
            "total_epochs": float(match[2]) if match[2] else None,
            "step": int(batch["n"]) if batch else int(before[1]) if before else None,
            "total_steps": int(before[2]) if before and before[2] else None,
        }
        rows: list[ParsedRow] = []
        if train is not None and not between_bars(line):
            rate, norm = RATE.search(rest), NORM.search(rest)
            took, waited = step_and_wait(rest) or (seconds(TOOK.search(rest)) if "ime" in rest else None, None)
            metrics: dict[str, float] = {"batches": int(batch["total"])} if batch and batch["total"] else {}
            rows.append(
                line.step(
                    "plain-loop",
                    **at,
                    loss=number(train.value),
                    loss_name="loss",
                    learning_rate=number(rate[1]) if rate else None,
                    grad_norm=number(norm[1]) if norm else None,
                    step_time_s=took,
                    metrics=as_json(metrics if waited is None else {**metrics, "data_time": waited}),
                )
            )
        if held_out is not None:
            rows.append(line.step("plain-loop", split="eval", **at, loss=number(held_out.value), loss_name="eval loss"))
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
