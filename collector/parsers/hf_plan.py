"""hf_plan: what a Trainer set out to do, and that it finished.

SOURCE    Trainer's "***** Running training *****" block, Unsloth's banner, TrainOutput(...)
ROWS      train_plan (total_steps, total_epochs, sizes), train_end
EXAMPLES
    [INFO|trainer.py:2134] 2024-07-17 00:18:20,620 >> ***** Running training *****
    [INFO|trainer.py:2136] 2024-07-17 00:18:20,620 >>   Total optimization steps = 97
       \\\\   /|    Num examples = 1,000 | Num Epochs = 1 | Total steps = 60
    TrainOutput(global_step=10, training_loss=0.0100, metrics={'train_runtime': 1497.6, ...})
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, whole
from store import lazy
from store.rows import LogEvent

_FIELD = lazy.compile(
    rf"(?P<key>Num examples|Num batches each epoch|Num Epochs|Total steps|Total optimization steps|Total batch size|Instantaneous batch size per device|Batch size per device|Total train batch size[^=|]{0, 80}|Gradient [Aa]ccumulation steps|Number of trainable parameters|Trainable parameters) ?(?:=|:) ?(?P<value>\d[\d,]*(?![\d.])|{NUMBER})"
)
_OUTPUT = lazy.compile(rf"TrainOutput\(global_step=(\d{{1,18}}), training_loss=({NUMBER})")


class HfPlan:
    """One stream's plan."""

    name: ClassVar[str] = "hf_plan"
    anchors: ClassVar[tuple[str, ...]] = (
        "***** Running training *****",
        "Num Epochs = ",
        "TrainOutput(global_step=",
        "Training completed. Do not forget",
    )

    def __init__(self) -> None:
        self._plan: LogEvent | None = None
        self._fields: dict[str, float] = {}
        self._since = 0

    @property
    def wants_more(self) -> bool:
        """While the block may go on."""
        return self._plan is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if match := _OUTPUT.search(text):
            detail = as_json({"training_loss": number(match[2])})
            fields: dict[str, Any] = {"step": int(match[1]), "detail": detail}
            return [line.event("train_end", "train_output", severity="info", framework="hf-trainer", **fields)]
        if "Training completed. Do not forget" in text:
            return [line.event("train_end", "training_completed", severity="info", framework="hf-trainer")]
        rows: list[ParsedRow] = []
        if "***** Running training *****" in text:
            rows += self.close()
            self._plan = line.event("train_plan", "running_training", severity="info", framework="hf-trainer")
            return rows
        found = {
            m["key"].strip(): v for m in _FIELD.finditer(text) if (v := number(m["value"].replace(",", ""))) is not None
        }
        if found:
            if self._plan is None:
                self._plan = line.event("train_plan", "banner", severity="info", framework=_family(text))
            self._fields.update(found)
            self._since = 0
            self._plan = replace(self._plan, line_end=line.line_no)
            return rows
        self._since += 1
        return [*rows, *self.close()] if self._since > 3 else rows

    def close(self) -> Iterable[ParsedRow]:
        """The block as far as it was printed."""
        plan, fields = self._plan, self._fields
        self._plan, self._fields, self._since = None, {}, 0
        if plan is None:
            return ()
        steps = fields.get("Total optimization steps", fields.get("Total steps"))
        epochs = fields.get("Num Epochs")
        return [replace(plan, total_steps=whole(steps), total_epochs=epochs, detail=as_json(dict(fields)))]


def _family(text: str) -> str:
    return "unsloth" if "/|" in text or "Total steps" in text else "hf-trainer"
