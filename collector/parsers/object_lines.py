"""object_lines: a loop that prints one object a report, as JSON or as Python prints a dict: a loss among its keys, and a step too, or a step or an epoch before it.

ROWS      train_step (split train or eval)
CAVEAT    The object ends the line and is flat; both values are numbers. Objects of frameworks have parsers of their own.
EXAMPLES
    {"step": 120, "loss": 2.3411, "lr": 0.0003}
    2026-03-01 10:00:26 INFO {"ts": "2026-03-01T10:00:26Z", "global_step": 120, "train_loss": 2.3411, "tokens_per_sec": 41000.5}
    {'step': 120, 'total_steps': 5000, 'train/loss': 2.3411}
    2026-03-01 10:00:26,104 - fit - INFO - Epoch 3: {'loss': 2.3411}
    Global step 12: {'policy_loss': 0.0211, 'actor_lr': 5e-07, 'reward': 0.41}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_OBJECT = lazy.compile(r"\{[^{}]{10,1500}\}\s*$")
_FIGURE = lazy.compile(
    rf"(?P<quote>[\"'])(?P<key>[A-Za-z_][\w/ .-]{{0,60}})(?P=quote) ?: ?(?P<value>{NUMBER})(?= ?[,}}])"
)
_STEPS = ("step", "global_step", "train/step", "train/global_step", "trainer/global_step", "iter", "iteration", "_step")
_TOTALS = ("total_steps", "max_steps", "num_steps", "total_iters", "max_iters")
_TRAIN = ("loss", "train_loss", "train/loss", "training_loss", "lm_loss", "lm loss", "total_loss")
_POLICY = ("policy_loss", "actor_loss", "pg_loss", "actor/pg_loss", "actor/policy_loss", "train/policy_loss", "train/pg_loss")  # fmt: skip
_EVAL = ("val_loss", "eval_loss", "val/loss", "eval/loss", "valid_loss", "valid/loss", "validation_loss")
_RATES = ("lr", "learning_rate", "actor_lr", "actor/lr", "train/lr", "train/learning_rate")
_NORMS = ("grad_norm", "gnorm", "train/grad_norm", "gradient_norm")
_TOKENS = ("tokens_per_s", "tokens_per_sec", "tokens_per_second", "tok/s", "tps")
_TIMES = ("step_time", "step_time_s", "step_time_sec", "iter_time", "iteration_time", "batch_time", "train/step_time")
_HELD_OUT = lazy.compile(r"(?i)[\"'](?:split|mode|phase|stage|type|event)[\"'] ?: ?[\"'](?:val|valid|validation|eval|evaluation|test|dev)[\"']")  # fmt: skip
_STEP_KEY = lazy.compile(
    r"[\"'](?:\w+/)?_?(?:global_)?(?:step|iter|iteration)[\"'] ?:|\b(?:step|iter|iteration|epoch)\b:? ?\d{1,12}\b.{0,12}\{",
    re.I,
)
_LED_BY = lazy.compile(
    r"\b(?:step|iter|iteration):? ?(?P<step>\d{1,12})(?:/(?P<total>\d{1,12}))?(?: ?[:,|-]| metrics:)? ?\Z", re.I
)
_EPOCH = lazy.compile(
    r"^(?!.*(?:best|load|resum|restor|sav))(?:.{0,120}(?:[\]|:>-]|\bINFO) )?epoch:? ?(?P<epoch>\d{1,6})(?: ?/ ?(?P<total>\d{1,6}))?(?: ?[:,|-]| metrics:)? ?\Z",
    re.I,
)
# LLaMA-Factory's, mmengine's, fairseq's and voir's.
_OTHERS = lazy.compile(r"[\"'](?:current_steps|exp_name|num_updates|task|time_ms|pipe)[\"']|:::MLL|[\"']data_time[\"'](?=.*[\"'](?:time|mode)[\"'] ?:)|[\"'](?:time|mode)[\"'] ?:.*[\"']data_time[\"']")  # fmt: skip

_TRAINER = lazy.compile(r"[\"'](?:grad_norm|learning_rate|epoch)[\"']")
_EVALUATION = lazy.compile(r"[\"'](?:eval_runtime|epoch)[\"']")


class ObjectLines(LineParser):
    """Progress of loops that print objects."""

    name: ClassVar[str] = "object_lines"
    anchors: ClassVar[tuple[str, ...]] = ('loss": ', "loss': ", 'loss":', "loss':")

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines without a step in an object, and the trainer's."""
        return _STEP_KEY.search(text) is None or _of_a_trainer(text)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """One line, one report."""
        text = line.text
        if self.ignores(text) or _OTHERS.search(text) or (found := _OBJECT.search(text)) is None:
            return
        values = {m["key"]: number(m["value"]) for m in _FIGURE.finditer(found[0])}
        step, total = _take(values, _STEPS), _take(values, _TOTALS)
        if step is None and (led := _LED_BY.search(text, 0, found.start())) is not None:
            step, total = number(led["step"]), number(led["total"])
        epoch = _EPOCH.search(text[: found.start()]) if step is None else None
        loss_name = next((k for k in (*_TRAIN, *_POLICY, *_EVAL) if values.get(k) is not None), None)
        if loss_name is None or not (epoch or (step is not None and step.is_integer() and step >= 0)):
            return
        held_out = loss_name in _EVAL or _HELD_OUT.search(found[0]) is not None
        loss = values.pop(loss_name)
        yield line.step(
            "objects",
            split="eval" if held_out else "train",
            step=None if step is None else int(step),
            total_steps=int(total) if total is not None and total.is_integer() else None,
            epoch=number(epoch["epoch"]) if epoch else _take(values, ("epoch",)),
            total_epochs=number(epoch["total"]) if epoch and epoch["total"] else None,
            loss=loss,
            loss_name=loss_name,
            objective="rl" if loss_name in _POLICY else None,
            learning_rate=_take(values, _RATES),
            grad_norm=_take(values, _NORMS),
            tokens_per_s=_take(values, _TOKENS),
            step_time_s=_take(values, _TIMES) if values.get("data_time") is not None else None,
            metrics=as_json({k: v for k, v in values.items() if v is not None}),
        )


def _of_a_trainer(text: str) -> bool:
    """Whether it has the keys by which the Hugging Face trainer's parser takes an object for its own."""
    if "'loss': " in text or '"loss": ' in text:
        return _TRAINER.search(text) is not None
    return "eval_loss" in text and _EVALUATION.search(text) is not None


def _take(values: dict[str, float | None], names: Iterable[str]) -> float | None:
    """The first of these that is there; it is no metric then."""
    name = next((n for n in names if values.get(n) is not None), None)
    return None if name is None else values.pop(name)
