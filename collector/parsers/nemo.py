"""nemo: the lines that NeMo 2 prints in place of a bar.

SOURCE    nemo.lightning.pytorch.callbacks.progress_printer
ROWS      train_step (split train or eval)
CAVEAT    `iteration` counts from 0; where global_step is printed too, that is the step
EXAMPLE
    Training epoch 2, iteration 7/999 | lr: 6.897e-06 | global_batch_size: 512 | global_step: 45 | reduced_train_loss: 11.02 | train_step_timing in s: 47.12
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, whole
from store import lazy

_HEAD = lazy.compile(
    r"(?P<what>Training|Validation) epoch (?P<epoch>\d{1,18}), iteration (?P<n>\d{1,18})/(?P<total>\d{1,18})(?P<rest>(?: \| .*)?)"
)
_FIELD = lazy.compile(rf" *(?P<key>[^:|]+?): (?P<value>{NUMBER}) *\Z")
_LOSSES = ("reduced_train_loss", "train_loss", "loss")


class Nemo(LineParser):
    """Progress lines of NeMo 2."""

    name: ClassVar[str] = "nemo"
    anchors: ClassVar[tuple[str, ...]] = ("Training epoch ",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match = _HEAD.search(line.text)
        if match is None or match["what"] != "Training":
            return
        values: dict[str, float] = {}
        for part in match["rest"].split("|"):
            if (field := _FIELD.match(part)) and (value := number(field["value"])) is not None:
                values[field["key"].strip()] = value
        name = next((n for n in _LOSSES if n in values), None)
        if name is None:
            return
        step = whole(values.pop("global_step", None))
        loss = values.pop(name)
        yield line.step(
            "nemo",
            step=int(match["n"]) if step is None else step,
            epoch=float(match["epoch"]),
            loss=loss,
            loss_name=name,
            grad_norm=values.pop("grad_norm", None),
            learning_rate=values.pop("lr", None),
            step_time_s=values.pop("train_step_timing in s", None),
            metrics=as_json({"iteration": int(match["n"]), "iterations": int(match["total"]), **values}),
        )
