"""Are the GPU-hours that the job held, and those that the fault cost, what the plan of the job says?"""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer

NEAR = 0.03
"""Share by which a figure may be off: a checkpoint without a time has that of the report before it."""


@dataclass(repr=False)
class Hours(Scorer):
    """Not applicable without `extra["hours"]`, which maps held and wasted to GPU-hours."""

    title = "hours"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Compare both figures with what was planned."""
        wanted: dict[str, float] = expected.extra.get("hours", {})
        if not wanted:
            return Score(None)
        cost = answer.verdict.cost
        said = {"held": cost.gpu_hours_held, "wasted": cost.gpu_hours_wasted}
        off = [
            f"{name} {said[name]}, planned {hours:.3f}"
            for name, hours in wanted.items()
            if not _near(said[name], hours)
        ]
        return Score(not off, "; ".join(off))


def _near(value: float | None, hours: float) -> bool:
    return value is not None and abs(value - hours) <= NEAR * hours + 0.02
