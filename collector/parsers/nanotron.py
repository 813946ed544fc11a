"""nanotron: fields between bars with magnitudes in letters.

ROWS      train_step
EXAMPLE
    iteration: 91 / 100 | consumed_tokens: 93.2K | time_per_iteration_ms: 90.4 | tokens_per_sec: 11.3K | grad_norm: 1.4M | lr: 3.3e-05 | lm_loss: 9.2
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import as_json, scaled
from store import lazy

_HEAD = lazy.compile(r"\biteration: (\d{1,18}) / (\d{1,18}) \| (.*)")


class Nanotron(LineParser):
    """Nanotron's iteration line."""

    name: ClassVar[str] = "nanotron"
    anchors: ClassVar[tuple[str, ...]] = ("lm_loss: ",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match = _HEAD.search(line.text)
        if match is None:
            return
        values: dict[str, float] = {}
        for part in match[3].split(" | "):
            key, _, raw = part.strip().partition(": ")
            if (value := scaled(raw)) is not None:
                values[key] = value
        if "lm_loss" not in values:
            return
        millis = values.pop("time_per_iteration_ms", None)
        yield line.step(
            "nanotron",
            step=int(match[1]),
            total_steps=int(match[2]),
            loss=values.pop("lm_loss"),
            loss_name="lm_loss",
            grad_norm=values.pop("grad_norm", None),
            learning_rate=values.pop("lr", None),
            step_time_s=None if millis is None else millis / 1000,
            tokens_per_s=values.pop("tokens_per_sec", None),
            metrics=as_json(values),
        )
