"""megatron_values: the curves that Megatron-LM keeps of a run's scalars, the golden values of its functional tests.

SOURCE    Megatron-LM and Megatron Core (golden_values_*.json): one JSON object, a curve for each scalar
ROWS      train_step (split train), one for each step of which anything is known; log_event (train_plan) where the record
          reaches the step at which it was to end
CAVEAT    no times, so no row has one. The text "nan" in all the curves of a step says that nothing was recorded there, as it
          does after the end of a run that stopped early; in the loss alone it is a loss that was not finite. The first
          iteration-time holds compilation.
EXAMPLE
    {"lm loss": {"start_step": 1, "end_step": 50, "step_interval": 5, "values": {"1": 10.81, "5": 10.84, "10": 10.69}}}
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.saved import document, origin
from collector.parsers.values import as_json, number, whole
from store.rows import LogEvent, Row, TrainStep

_LOSS = "lm loss"
_OWN = (_LOSS, "grad norm", "learning rate", "iteration-time")


class MegatronValues:
    """Reads one file of curves of up to 64 MiB."""

    name: ClassVar[str] = "megatron_values"
    covers: ClassVar[tuple[str, ...]] = ("train_step", "log_event")

    def claims(self, path: Path, head: bytes) -> int:
        """A JSON object whose first curve says where it starts and ends."""
        begin = head[:4096].lstrip()
        curve = all(key in begin for key in (b'"start_step"', b'"end_step"', b'"step_interval"'))
        return 85 if begin.startswith(b"{") and curve else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """The plan, then a row for each step. Raises ImportFailed."""
        curves, end = _curves(path, ctx)
        base = origin(ctx)
        steps = sorted({s for values in curves.values() for s, v in values.items() if math.isfinite(v)})
        if not steps:
            raise ImportFailed("none of its curves has a value")
        whole_run = end is not None and steps[-1] >= end
        if whole_run:
            yield LogEvent(
                kind="train_plan",
                name="megatron_values",
                severity="info",
                parser=self.name,
                framework="megatron",
                message=f"Megatron's values at step {steps[-1]} of {end}",
                step=steps[-1],
                total_steps=end,
                **base,
            )
        for step in steps:
            found = {name: values[step] for name, values in curves.items() if step in values}
            yield TrainStep(
                framework="megatron",
                split="train",
                step=step,
                total_steps=end if whole_run else None,
                loss=found.get(_LOSS),
                loss_name=_LOSS if _LOSS in found else None,
                grad_norm=found.get("grad norm"),
                learning_rate=found.get("learning rate"),
                step_time_s=_finite(found.get("iteration-time")),
                metrics=as_json({k: v for k, v in found.items() if k not in _OWN and math.isfinite(v)}),
                **base,
            )


def _curves(path: Path, ctx: ImportContext) -> tuple[dict[str, dict[int, float]], int | None]:
    """The values of each curve by step, and the last step that any was to have."""
    curves: dict[str, dict[int, float]] = {}
    ends: list[int] = []
    for name, curve in document(path, ctx).items():
        told = cast("dict[str, Any]", curve) if isinstance(curve, dict) else {}
        values = told.get("values")
        if not isinstance(values, dict):
            ctx.problem(f"{name}: no values by step")
            continue
        pairs = ((whole(s), number(v)) for s, v in cast("dict[str, Any]", values).items())
        curves[name] = {step: value for step, value in pairs if step is not None and value is not None}
        if (end := whole(told.get("end_step"))) is not None:
            ends.append(end)
    return curves, max(ends, default=None)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
