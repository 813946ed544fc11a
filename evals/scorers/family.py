"""Is the family right?"""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Family(Scorer):
    """Right where the code is among those that a careful reader accepts."""

    title = "family"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Compare codes."""
        got = answer.verdict.family
        right = got in expected.families
        return Score(right, "" if right else f"{got}, expected {' or '.join(expected.families)}")
