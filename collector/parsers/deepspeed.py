"""deepspeed: the engine's progress lines, the pipeline engine's, and DeepSpeed-Chat's.

SOURCE    deepspeed.utils.logging.log_dist from engine.py and pipe/engine.py; DeepSpeedExamples' DeepSpeed-Chat
ROWS      train_step (split train or eval), train_plan
CAVEAT    the engine's line has no loss; `skipped` on it counts from the start, so a step was skipped when it grew; the pipeline
          engine's line of the same step follows it and has no rate of its own
EXAMPLES
    [2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95)]
    steps: 100 loss: 6.5312 iter time (s): 0.251 samples/sec: 127.490
    epoch: 0|step: 159|ppo_ep: 1|act_loss: 0.3144|cri_loss: 0.1865|unsuper_loss: 0.0
    Epoch: 0, Step: 10, Rank: 0, loss = 2.31
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_STEP = lazy.compile(rf"\bstep=(\d{{1,18}}), skipped=(\d{{1,18}}), lr=\[({NUMBER})?[^\]]*\]")
_PIPE = lazy.compile(rf"\bsteps: (\d{{1,18}}) loss: ({NUMBER}) iter time \(s\): ({NUMBER}) samples/sec: ({NUMBER})")
_CHAT = lazy.compile(
    rf"\b[Ee]poch: (\d{{1,18}}) ?\| ?[Ss]tep: (\d{{1,18}}) ?\| ?ppo_ep: \d+ ?\| ?act_loss: ({NUMBER}) ?\| ?cri_loss: ({NUMBER})(?: ?\| ?unsuper_loss: ({NUMBER}))?"
)
_SFT = lazy.compile(rf"\bEpoch: (\d{{1,18}}), Step: (\d{{1,18}}), Rank: \d+, loss = ({NUMBER})")
_EPOCH_LOSS = lazy.compile(rf"^Epoch (\d{{1,18}})/(\d{{1,18}}) with loss ({NUMBER})")
_BEGIN = lazy.compile(r"^Beginning of Epoch (\d{1,18})/(\d{1,18}), Total (?:Micro|Generation) Batches (\d{1,18})")
_TIMER = lazy.compile(
    rf"\bepoch=(\d{{1,18}})[/,] ?micro_step=(\d{{1,18}})/global_step=(\d{{1,18}}), RunningAvgSamplesPerSec=({NUMBER})(?:, CurrSamplesPerSec=({NUMBER}))?"
)


# Of each of its lines one of these, besides the loss.
_OWN = ("skipped=", "iter time", "act_loss", "RunningAvg", "Rank: ", " with loss ", "Beginning of Epoch ")


class DeepSpeed(LineParser):
    """One stream of DeepSpeed's words."""

    name: ClassVar[str] = "deepspeed"
    anchors: ClassVar[tuple[str, ...]] = (
        ", skipped=",
        " iter time (s): ",
        "act_loss: ",
        ", loss = ",
        " with loss ",
        "Beginning of Epoch ",
        "RunningAvgSamplesPerSec=",
    )

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines of other loops that tell a loss as this one's does."""
        return ", loss = " in text and not any(word in text for word in _OWN)

    def __init__(self) -> None:
        self._skipped: int | None = None
        self._per_second: float | None = None
        self._rate: tuple[int, float | None] = (-1, None)
        self._planned = False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if (at := text.find("step=")) >= 0 and (match := _STEP.search(text, at)):
            return [self._engine(line, match)]
        if "RunningAvg" in text and (match := _TIMER.search(text)):
            self._per_second = number(match[5] or match[4])
            return ()
        if "iter time" in text and (match := _PIPE.search(text)):
            fields: dict[str, Any] = {"step_time_s": number(match[3]), "samples_per_s": number(match[4])}
            if self._rate[0] == int(match[1]):
                fields["learning_rate"] = self._rate[1]
            return [line.step("deepspeed", step=int(match[1]), loss=number(match[2]), loss_name="loss", **fields)]
        if "act_loss" in text and (match := _CHAT.search(text)):
            rest = {"cri_loss": number(match[4]), "unsuper_loss": number(match[5])}
            return [
                line.step(
                    "deepspeed",
                    epoch=float(match[1]),
                    step=int(match[2]),
                    loss=number(match[3]),
                    loss_name="act_loss",
                    objective="ppo",
                    metrics=as_json({k: v for k, v in rest.items() if v is not None}),
                )
            ]
        if ", loss = " in text and (match := _SFT.search(text)):
            return [
                line.step(
                    "deepspeed", epoch=float(match[1]), step=int(match[2]), loss=number(match[3]), loss_name="loss"
                )
            ]
        if match := _EPOCH_LOSS.match(text):
            fields: dict[str, Any] = {"total_epochs": float(match[2]), "loss": number(match[3]), "loss_name": "loss"}
            return [line.step("deepspeed", epoch=float(match[1]), **fields)]
        if (match := _BEGIN.match(text)) and not self._planned:
            self._planned = True
            fields: dict[str, Any] = {
                "total_epochs": float(match[2]),
                "detail": as_json({"batches_per_epoch": int(match[3])}),
            }
            return [line.event("train_plan", "epochs", severity="info", framework="deepspeed", **fields)]
        return ()

    def _engine(self, line: Line, match: re.Match[str]) -> ParsedRow:
        skipped = int(match[2])
        grew = None if self._skipped is None else skipped > self._skipped
        self._skipped = skipped
        per_second, self._per_second = self._per_second, None
        rate = number(match[3]) if match[3] else None
        self._rate = int(match[1]), rate
        return line.step(
            "deepspeed",
            step=int(match[1]),
            learning_rate=rate,
            skipped=grew,
            samples_per_s=per_second,
            metrics=as_json({"skipped_steps": skipped}),
        )
