"""Never a confident wrong answer: where the family is wrong, the confidence is low."""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer

LOW = 0.5


@dataclass(repr=False)
class Confidence(Scorer):
    """Wrong where a wrong family is claimed with half of certainty or more."""

    title = "not confidently wrong"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look at the confidence of what is wrong."""
        verdict = answer.verdict
        if verdict.family in expected.families:
            return Score(True)
        return Score(verdict.confidence < LOW, f"{verdict.family} at {verdict.confidence:.2f}")
