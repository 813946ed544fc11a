"""llama_factory: the JSON rows of LLaMA-Factory's trainer_log.jsonl, printed or in their file.

ROWS      train_step
CAVEAT    a row without a loss says only that so many steps were done; both `lr` and `learning_rate` occur
EXAMPLE
    {"current_steps": 3390, "total_steps": 6750, "loss": 1.6403, "lr": 5.83e-05, "epoch": 1.507, "percentage": 50.22, "elapsed_time": "3:22:32"}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar, cast

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import as_json, number, whole


class LlamaFactory(LineParser):
    """Rows of the trainer log."""

    name: ClassVar[str] = "llama_factory"
    anchors: ClassVar[tuple[str, ...]] = ('"current_steps": ',)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        start, end = line.text.find("{"), line.text.rfind("}")
        try:
            found: Any = json.loads(line.text[start : end + 1]) if 0 <= start < end else None
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        row = cast("dict[str, Any]", found)
        step = whole(row.get("current_steps"))
        if step is None or step == 0:
            return
        loss, evaluated = number(row.get("loss")), number(row.get("eval_loss"))
        evaluating = loss is None and evaluated is not None
        known = {"current_steps", "total_steps", "loss", "eval_loss", "lr", "learning_rate", "epoch", "percentage"}
        rest = {k: v for k, v in row.items() if k not in known and isinstance(v, (int, float))}
        rate = row.get("lr") if row.get("lr") is not None else row.get("learning_rate")
        yield line.step(
            "llama-factory",
            split="eval" if evaluating else "train",
            step=step,
            total_steps=whole(row.get("total_steps")),
            epoch=number(row.get("epoch")),
            loss=evaluated if evaluating else loss,
            loss_name="eval_loss" if evaluating else None if loss is None else "loss",
            learning_rate=number(rate),
            metrics=as_json(rest),
        )
