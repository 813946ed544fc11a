"""nemo_rl: NeMo-RL's reports, a heading for each step and below it what came of it.

SOURCE    NeMo-RL's GRPO, DPO, SFT and distillation loops
ROWS      train_step of the step in the heading above; split eval for a validation's loss
CAVEAT    A heading gives nothing by itself: a step that was begun is not done. Losses of reinforcement learning may rise.
EXAMPLE
    ========================= Step 12/500 =========================
    📊 Training Results:
      • Loss: 0.0312
      • Avg Reward: 0.4375
    ⏱️  Timing:
      • Total step time: 61.27s
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, number
from store import lazy

_HEADING = lazy.compile(r"={10,40} (?:Epoch \d+/\d+,? )?Step (?P<step>\d{1,12})/(?P<total>\d{1,12}) ={10,40}\s*$")
_PART = lazy.compile(r"(?P<what>Training|Validation) Results:\s*$")
_VALUE = lazy.compile(
    rf"^[^•]{{0,60}}• (?P<name>Loss|Validation loss|Avg Reward|Total step time): (?P<value>{NUMBER})s?\s*$"
)


class NemoRl(LineParser):
    """State: the step above, whether its results have begun, and what they say so far."""

    name: ClassVar[str] = "nemo_rl"
    anchors: ClassVar[tuple[str, ...]] = ("===== ", "Results:", "• Loss: ", "• Validation loss: ", "• Avg Reward: ", "• Total step time: ")  # fmt: skip

    def __init__(self) -> None:
        self._step: tuple[int, int] | None = None
        self._part = ""
        self._open: tuple[Line, float] | None = None
        self._reward: float | None = None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Give a step once its results are over: with the time that it took, at the next part or heading."""
        if (heading := _HEADING.search(line.text)) is not None:
            yield from self._report()
            self._step, self._part = (int(heading["step"]), int(heading["total"])), ""
        elif (part := _PART.search(line.text)) is not None:
            yield from self._report()
            self._part = part["what"]
        elif (told := _VALUE.match(line.text)) is not None and self._step is not None:
            yield from self._take(line, told["name"], number(told["value"]))

    def close(self) -> Iterable[ParsedRow]:
        """The last step's report."""
        yield from self._report()

    def _take(self, line: Line, name: str, value: float | None) -> Iterable[ParsedRow]:
        if value is None or not self._part or self._step is None:
            return
        if name == "Loss" and self._part == "Training" and self._open is None:
            self._open = (line, value)
        elif name == "Validation loss" and self._part == "Validation":
            yield line.step(
                "nemo-rl", split="eval", step=self._step[0], total_steps=self._step[1], loss=value, loss_name=name
            )
        elif name == "Avg Reward" and self._part == "Training":
            self._reward = value
        elif name == "Total step time" and self._open is not None:
            yield from self._report(value)

    def _report(self, took_s: float | None = None) -> Iterable[ParsedRow]:
        held, self._open = self._open, None
        reward, self._reward = self._reward, None
        if held is None or self._step is None:
            return
        line, loss = held
        yield line.step(
            "nemo-rl",
            split="train",
            step=self._step[0],
            total_steps=self._step[1],
            loss=loss,
            step_time_s=took_s,
            objective="grpo" if reward is not None else None,
            metrics=json.dumps({"reward": reward}) if reward is not None else None,
        )
