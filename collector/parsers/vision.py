"""vision: the progress lines of timm, detectron2, MMEngine and the mmcv before it.

ROWS      train_step
EXAMPLES
    Train: 0 [   0/33 (  0%)]  Loss: 8.863 (8.86)  Time: 1.663s,    9.62/s  (1.663s,    9.62/s)  LR: 5.000e-04  Data: 0.460 (0.460)
    [03/25 10:00:00 d2.utils.events]:  eta: 1:00:00  iter: 19  total_loss: 1.023  loss_cls: 0.51  time: 0.41  lr: 0.0004  max_mem: 3500M
    2022-11-23 14:15:21,465 - mmdet - INFO - Epoch [6][150/228]	lr: 2.500e-03, eta: 0:10:25, time: 0.437, loss: 1.1732, grad_norm: 6.0425
    [ INFO ] Epoch [1][658/742]     lr: 5.000e-05, eta: 2:15:01, time: 0.396, loss: 1.1732
    03/25 10:00:00 - mmengine - INFO - Epoch(train)  [1][ 50/313]  lr: 1.0e-02  eta: 0:10:00  time: 0.21  memory: 1000  grad_norm: 3.1  loss: 2.31
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_TIMM = lazy.compile(
    rf"\bTrain: (\d{{1,18}}) \[ *(\d{{1,18}})/(\d{{1,18}}) +\( *\d+%\)\]  +Loss: +({NUMBER}) \( *{NUMBER}\)  +Time: ({NUMBER})s, +({NUMBER})/s .*?LR: ({NUMBER})(?: +Data: ({NUMBER}))?"
)
_D2 = lazy.compile(r"\beta: [^ ]+(?: days?, [\d:]+)? +iter: (\d{1,18}) +(.*)")
_MM = lazy.compile(
    r"- mmengine - INFO - (?:Epoch|Iter)\(train\) +\[ *(\d{1,18})(?:/(\d{1,18}))?\](?:\[ *(\d{1,18})/(\d{1,18})\])? +(.*)"
)
_MMCV = lazy.compile(
    r"(?:^\s*| - (?:mm\w+ - )?INFO - |\[ ?INFO ?\]\s+)(Epoch|Iter) \[(\d{1,18})(?:/(\d{1,18}))?\](?:\[(\d{1,18})/(\d{1,18})\])?\s+(lr: .*)"
)
# Not the hours or days that are left: `eta: 4 days, 2:10:11`.
_PAIR = lazy.compile(rf"(?<![\w@=/%.])(?!eta:)([A-Za-z_][\w.@=/%]*): +({NUMBER})(?=[\s,]|$)")


class Vision(LineParser):
    """Progress lines of vision libraries."""

    name: ClassVar[str] = "vision"
    anchors: ClassVar[tuple[str, ...]] = ("  Loss: ", "total_loss: ", "(train)", "\tlr: ", "] lr: ", "  lr: ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if match := _TIMM.search(text):
            return [
                line.step(
                    "timm",
                    epoch=float(match[1]),
                    step=int(match[2]),
                    loss=number(match[4]),
                    loss_name="Loss",
                    learning_rate=number(match[7]),
                    step_time_s=number(match[5]),
                    samples_per_s=number(match[6]),
                    metrics=as_json({"batches": int(match[3]), **_data_time(match[8])}),
                )
            ]
        if (match := _D2.search(text)) and "total_loss: " in match[2]:
            return self._pairs(line, "detectron2", {"step": int(match[1])}, match[2], "total_loss")
        if match := _MM.search(text):
            if match[3]:
                at: dict[str, Any] = {"epoch": float(match[1]), "step": int(match[3])}
            else:
                at: dict[str, Any] = {"step": int(match[1]), "total_steps": int(match[2]) if match[2] else None}
            return self._pairs(line, "mmengine", at, match[5], "loss")
        if match := _MMCV.search(text):
            if match[1] == "Epoch" and match[4]:
                at = {"epoch": float(match[2]), "step": int(match[4])}
            else:
                at = {"step": int(match[2]), "total_steps": int(match[3]) if match[3] else None}
            return self._pairs(line, "mmcv", at, match[6], "loss")
        return ()

    def _pairs(self, line: Line, framework: str, at: dict[str, Any], text: str, loss: str) -> Iterable[ParsedRow]:
        values = {m[1]: v for m in _PAIR.finditer(text) if (v := number(m[2])) is not None}
        if loss not in values:
            return
        yield line.step(
            framework,
            **at,
            loss=values.pop(loss),
            loss_name=loss,
            grad_norm=values.pop("grad_norm", None),
            learning_rate=values.pop("lr", None),
            step_time_s=values.pop("time", None),
            metrics=as_json(values),
        )


def _data_time(text: str | None) -> dict[str, float]:
    value = number(text) if text else None
    return {} if value is None else {"data_time": value}
