"""Never a confident wrong answer: where the family is wrong, the confidence is low."""

from __future__ import annotations

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score

LOW = 0.5


def score(verdict: Verdict, expected: Expected) -> Score:
    """Wrong where a wrong family is claimed with half of certainty or more."""
    if verdict.family in expected.families:
        return Score("not confidently wrong", True)
    return Score("not confidently wrong", verdict.confidence < LOW, f"{verdict.family} at {verdict.confidence:.2f}")
