"""torchtitan: the metrics line of torchtitan and of lingua, and the bar of torchtune.

ROWS      train_step
EXAMPLES
    2025-03-04 00:44:44,441 - root - INFO - step: 1990  loss:  3.4370  memory: 68.57GiB(86.69%)  tps: 6,785  mfu: 39.73%
    [titan] 2025-06-01 10:00:00,000 - root - INFO - step: 10  loss: 7.1012  grad_norm:  1.5312  memory: ...  tps: 6,785  tflops: 400.1  mfu: 39.73%
    0: INFO    26-02-03 10:00:26.104 - 0:02:11 - step: 40  acc: 0  loss:   4.211  grad: 1.31e+00  flops: 4.7e+12  wps: 2.25e+04  iter:  0.531  data: 0.0049  lr: 5.1e-06
    1|111|Loss: 1.5790324211120605: 7%|█ | 114/1618
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, scaled
from store import lazy

_TITAN = lazy.compile(
    rf"\bstep: *(\d{{1,18}})(?P<total>/\d+)?(?: +acc: *\d{{1,9}})? +loss: *({NUMBER})(?: +grad(?:[_ ]norm)?: *({NUMBER}))?(?: +(?:max_|peak_)?memory: *([\d.]+)GiB)?(?P<rest>.*)"
)
_VALIDATE = lazy.compile(rf"\bvalidate step: *(\d{{1,18}}) +loss: *({NUMBER})")
_TPS = lazy.compile(r"\b(?:tps|wps): *(\d[\d,.]{0,20}(?:e[+-]?\d{1,3})?)")
_RATE = lazy.compile(rf"\blr: *({NUMBER})")
_MFU = lazy.compile(rf"\bmfu: *({NUMBER})%")
_TUNE = lazy.compile(rf"(?:^|\^M|[\s.])(\d{{1,18}})\|(\d{{1,18}})\|Loss: ({NUMBER})")


class TorchTitan(LineParser):
    """Metrics lines of torchtitan and torchtune."""

    name: ClassVar[str] = "torchtitan"
    anchors: ClassVar[tuple[str, ...]] = ("  loss: ", "|Loss: ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if match := _VALIDATE.search(text):
            return [line.step("torchtitan", split="eval", step=int(match[1]), loss=number(match[2]), loss_name="loss")]
        if (match := _TITAN.search(text)) and any(m in text for m in ("memory: ", "tps: ", "wps: ", "grad_norm: ")):
            speed, mfu, rate = (p.search(match["rest"]) for p in (_TPS, _MFU, _RATE))
            rest = {"memory_gib": number(match[5]) if match[5] else None, "mfu_pct": number(mfu[1]) if mfu else None}
            return [
                line.step(
                    "torchtitan",
                    step=int(match[1]),
                    total_steps=int(match["total"][1:]) if match["total"] else None,
                    loss=number(match[3]),
                    loss_name="loss",
                    grad_norm=number(match[4]) if match[4] else None,
                    learning_rate=number(rate[1]) if rate else None,
                    metrics=as_json({k: v for k, v in rest.items() if v is not None} | _per_device(speed)),
                )
            ]
        last = None
        for match in _TUNE.finditer(text):
            last = match
        if last is None:
            return ()
        fields: dict[str, Any] = {
            "epoch": float(last[1]),
            "step": int(last[2]),
            "loss": number(last[3]),
            "loss_name": "Loss",
        }
        return [line.step("torchtune", **fields)]


def _per_device(speed: re.Match[str] | None) -> dict[str, float]:
    value = scaled(speed[1].rstrip(".,")) if speed else None
    return {} if value is None else {"tokens_per_s_per_device": value}
