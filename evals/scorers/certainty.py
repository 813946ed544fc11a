"""Is it as sure as its grounds are good? The same cause, told less clearly, is worth less confidence."""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Certainty(Scorer):
    """Not applicable without `extra["certainty"]`: the least and the highest confidence that the case allows."""

    title = "certainty"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Compare the confidence with its bounds; that of another family says nothing."""
        bounds: tuple[float, float] | None = expected.extra.get("certainty")
        verdict = answer.verdict
        if bounds is None or verdict.family not in expected.families:
            return Score(None)
        low, high = bounds
        right = low <= verdict.confidence <= high
        return Score(right, "" if right else f"{verdict.confidence:.2f}, expected {low:.2f} to {high:.2f}")
