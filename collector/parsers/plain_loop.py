"""plain_loop: a hand-written loop whose lines say step, total and loss, and at least one more training quantity.

ROWS      train_step
CAVEAT    All four must stand on one line in this order of words: a step out of a total, a loss, and a rate, a gradient
          norm, a learning rate or a time. With less, a line merely resembles progress.
EXAMPLES
    [2026-03-01 10:00:26] step 5/400 loss 1.6441 grad_norm 1.815 lr 5.00e-04 545.8 img/s
    Step [100/2000], Loss: 0.4312, lr: 0.001, 120 ms/step
    iter 40/400: loss=0.9357, grad_norm=1.546
    step 40/2000 loss 2.41 lr 3e-04 step_time 4.21s data_time 3.62s
    2026-03-01 10:00:26,118 INFO train.py:88 step 2/3 loss 1.8101 grad_norm 1.006
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.epoch_lines import EpochLines
from collector.parsers.loop_words import TOOK, seconds, step_and_wait
from collector.parsers.shapes import fielded
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_STEP = lazy.compile(
    r"(?:^|[\])>:,] |- |\.py:\d{1,5} |\b(?:INFO|DEBUG) )\s*(?:step|iter|iteration|batch)s?[ :=]{0,2}\[?(\d{1,9}) ?/ ?(\d{1,9})\]?(?=[\s:,;\])]|$)",
    re.I,
)
_LOSS = lazy.compile(rf"(?<![\w/-])(?:train[_ ])?loss ?[:= ] ?({NUMBER})(?![\w%.])", re.I)
_GRAD = lazy.compile(rf"(?<![\w/-])(?:grad(?:ient)?[_ ]?norm|gnorm) ?[:= ] ?({NUMBER})", re.I)
_RATE = lazy.compile(rf"(?<![\w/-])(?:lr|learning[_ ]rate) ?[:= ] ?({NUMBER})", re.I)
_EPOCH = lazy.compile(r"(?<![\w/-])epoch[ :=]{0,2}\[?(\d{1,6}(?:\.\d+)?)(?: ?/ ?(\d{1,6}))?", re.I)
_SPEED = lazy.compile(rf"((?>{NUMBER})) ?(tok(?:ens)?|img|images|imgs|samples?|seqs?|it)/s(?:ec)?\b", re.I)
_TIME = lazy.compile(rf"((?>{NUMBER})) ?(ms|s)/(?:step|it|iter)\b", re.I)
# A line that is nothing but pairs, `episode=4 step=312 reward=646.0 loss=0.41`: a step and a loss among three or more.
_PAIRS = lazy.compile(rf"(?:\S{{1,40}} ){{0,3}}(?:[A-Za-z_]\w{{0,30}}=(?:{NUMBER}|[\w./+-]{{1,30}}),?\s*){{3,40}}")
_PAIR = lazy.compile(rf"(?<![\w.])(?P<key>[A-Za-z_]\w{{0,30}})=(?P<value>{NUMBER})(?=[,\s]|$)")
_STEP_KEYS = ("global_step", "step", "steps", "iter", "iteration", "it", "update")
_LOSS_KEYS = ("loss", "train_loss")
# Framework lines that carry the same words have parsers of their own.
_OTHERS = lazy.compile(r"elapsed time per iteration|\bmfu\b|it/s, |ETA|eta:")


class PlainLoop(LineParser):
    """Progress lines of loops that belong to no framework."""

    name: ClassVar[str] = "plain_loop"
    anchors: ClassVar[tuple[str, ...]] = (
        " loss ",
        " loss: ",
        " loss:",
        " loss=",
        " Loss: ",
        " Loss ",
        " Loss=",
        " train_loss",
    )

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines of frameworks, nanoGPT's, and those with neither a step out of a total nor pairs."""
        return fielded(text) or " mfu " in text or ("/" not in text and "loss=" not in text)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """One line, one completed step."""
        text = line.text
        if len(text) > 500 or fielded(text) or _OTHERS.search(text):
            return
        step, loss = _STEP.search(text), _LOSS.search(text)
        if step is None and "loss=" in text:
            yield from self._pairs(line)
            return
        if step is None or loss is None or loss.start() < step.end() or int(step[1]) > int(step[2]):
            return
        speed, both = _speed(text), step_and_wait(text)
        grad, rate = _GRAD.search(text), _RATE.search(text)
        if not (grad or rate or speed):
            return
        if both is not None:
            speed["step_time_s"] = both[0]
        epoch = _EPOCH.search(text)
        if epoch is not None and any(a in text for a in EpochLines.anchors) and list(EpochLines().feed(line)):
            return
        yield line.step(
            "plain",
            step=int(step[1]),
            total_steps=None if epoch else int(step[2]),
            loss=number(loss[1]),
            loss_name="loss",
            grad_norm=number(grad[1]) if grad else None,
            learning_rate=number(rate[1]) if rate else None,
            epoch=number(epoch[1]) if epoch else None,
            total_epochs=number(epoch[2]) if epoch and epoch[2] else None,
            metrics=as_json({**({"batches": int(step[2])} if epoch else {}), **_waited(both)}),
            **speed,
        )

    def _pairs(self, line: Line) -> Iterable[ParsedRow]:
        if _PAIRS.fullmatch(line.text.strip()) is None:
            return
        found = {m["key"].lower(): number(m["value"]) for m in _PAIR.finditer(line.text)}
        step = next((found[k] for k in _STEP_KEYS if found.get(k) is not None), None)
        loss = next((found[k] for k in _LOSS_KEYS if k in found), None)
        if step is None or loss is None or not step.is_integer():
            return
        yield line.step(
            "plain",
            step=int(step),
            loss=loss,
            loss_name="loss",
            grad_norm=found.get("grad_norm"),
            learning_rate=found.get("lr", found.get("learning_rate")),
            epoch=found.get("epoch"),
            step_time_s=both[0] if (both := step_and_wait(line.text)) is not None else None,
            metrics=as_json(_waited(both)),
        )


def _waited(both: tuple[float, float] | None) -> dict[str, float]:
    return {} if both is None else {"data_time": both[1]}


def _speed(text: str) -> dict[str, Any]:
    took = seconds(TOOK.search(text))
    return _pace(text) | ({} if took is None else {"step_time_s": took})


def _pace(text: str) -> dict[str, Any]:
    """A time or a number of something with its unit behind a stroke."""
    if (found := _TIME.search(text)) and (value := number(found[1])) is not None:
        return {"step_time_s": value / 1000 if found[2].lower() == "ms" else value}
    if (found := _SPEED.search(text)) is None or (value := number(found[1])) is None:
        return {}
    unit = found[2].lower()
    if unit.startswith("tok"):
        return {"tokens_per_s": value}
    return {"step_time_s": 1 / value} if unit == "it" and value else {"samples_per_s": value}
