"""verl: one line per step, `key:value - key:value`; and the lines of JAX loops (openpi) that look alike.

ROWS      train_step; train_plan; train_end, at the validation that comes after the last step and nowhere else
EXAMPLES
    Total training steps: 435
    step:120 - global_seqlen/mean:453272.5 - actor/pg_loss:0.0021 - actor/grad_norm:0.1769 - actor/lr:1e-06
    Step 4200: grad_norm=0.2144, loss=0.0120, param_norm=1380.0614
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, whole
from store import lazy

_VERL = lazy.compile(r"\bstep:(\d{1,18}) - (.*)")
_OPENPI = lazy.compile(rf"\bStep (\d{{1,18}}): ((?:[A-Za-z_]\w*={NUMBER}(?:, |$))+)")
_PLAN = lazy.compile(r"^\W*(?:\([^()]{1,60}\)\W*)?Total training steps: (\d{1,12})\s*$")
_LAST = lazy.compile(r"\bFinal validation metrics: ")
_NO_DIGITS = lazy.compile(r"-?0\.0{1,4}$")
"""A rate that earlier versions print with three decimals, which show nothing of a rate as small as those of policies."""
_LOSSES = ("actor/pg_loss", "train/loss", "critic/vf_loss")


class Verl(LineParser):
    """Step lines of verl and openpi."""

    name: ClassVar[str] = "verl"
    anchors: ClassVar[tuple[str, ...]] = (
        "actor/pg_loss:",
        "train/loss:",
        "loss=",
        "Total training steps: ",
        "Final validation metrics",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if match := _PLAN.match(line.text):
            total = int(match[1])
            yield line.event("train_plan", "plan", severity="info", parser=self.name, total_steps=total)
        elif _LAST.search(line.text):
            yield line.event("train_end", "completed", severity="info", parser=self.name, framework="verl")
        elif match := _VERL.search(line.text):
            values: dict[str, float] = {}
            for part in match[2].split(" - "):
                key, _, raw = part.partition(":")
                if key.strip().endswith("/lr") and _NO_DIGITS.match(raw.strip()):
                    continue
                if (value := number(raw.strip())) is not None:
                    values[key.strip()] = value
            broken = (n for n in _LOSSES if not math.isfinite(values.get(n, 0.0)))
            name = next(broken, next((n for n in _LOSSES if n in values), None))
            if name is None:
                return
            rest = {
                k: v
                for k, v in values.items()
                if k.startswith(("critic/rewards/mean", "critic/score/mean", "actor/entropy", "actor/ppo_kl"))
            }
            yield line.step(
                "verl",
                step=int(match[1]),
                total_steps=whole(values.get("training/total_steps")),
                epoch=values.get("training/epoch", values.get("train/epoch")),
                loss=values[name],
                loss_name=name,
                grad_norm=values.get("actor/grad_norm", values.get("train/grad_norm")),
                learning_rate=values.get("actor/lr", values.get("train/lr")),
                step_time_s=values.get("perf/time_per_step"),
                objective="ppo" if "actor/pg_loss" in values else "sft",
                metrics=as_json(rest),
            )
        elif match := _OPENPI.search(line.text):
            pairs = dict(p.split("=", 1) for p in match[2].rstrip(", ").split(", "))
            numbers = {k: v for k, raw in pairs.items() if (v := number(raw)) is not None}
            if "loss" in numbers:
                yield line.step(
                    "openpi",
                    step=int(match[1]),
                    loss=numbers.pop("loss"),
                    loss_name="loss",
                    grad_norm=numbers.pop("grad_norm", None),
                    learning_rate=numbers.pop("lr", numbers.pop("learning_rate", None)),
                    metrics=as_json(numbers),
                )
