"""bracketed_step: the reports of DiT's training script and of the many that came of it (SiT, LlamaGen, BAGEL).

SOURCE    `train.py` of facebookresearch/DiT and its descendants
ROWS      train_step (split train)
CAVEAT    Where the loss has parts, the first is the row's loss under its own name, and the others are its metrics.
EXAMPLES
    [2026-03-01 10:01:00] (step=0000100) Train Loss: 0.1523, Train Steps/Sec: 3.10
    [2026-03-01 10:01:00] (step=0000060) Train Loss mse: 0.0125, Train Loss ce: 0.0625, Train Steps/Sec: 0.03,
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_STEP = lazy.compile(r"\(step=(?P<n>\d{1,12})\) (?P<rest>Train .{3,2000})")
_LOSS = lazy.compile(rf"\bTrain Loss(?: (?P<part>[A-Za-z_]\w{{0,30}}))?: (?P<value>{NUMBER})(?=[,\s]|$)")
_RATE = lazy.compile(rf"\bTrain Steps/Sec: (?P<value>{NUMBER})(?=[,\s]|$)")

_TOLD = 0.1
"""Steps a second below which two decimals are too few to tell how long one took."""


class BracketedStep(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "bracketed_step"
    anchors: ClassVar[tuple[str, ...]] = ("(step=",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match = _STEP.search(line.text[:4000])
        losses = list(_LOSS.finditer(match["rest"])) if match else []
        if match is None or not losses:
            return ()
        first, *others = losses
        rate = _RATE.search(match["rest"])
        speed = number(rate["value"]) if rate else None
        return [
            line.step(
                "dit",
                step=int(match["n"]),
                loss=number(first["value"]),
                loss_name=first["part"] or "loss",
                step_time_s=1.0 / speed if speed is not None and speed >= _TOLD else None,
                metrics=as_json({m["part"] or "loss": number(m["value"]) for m in others}),
            )
        ]
