"""Is the blame right? Blaming hardware for a job's fault, or the reverse, is the worst error there is."""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Attribution(Scorer):
    """Not applicable where no attribution is expected."""

    title = "attribution"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Compare attributions."""
        if expected.attribution is None:
            return Score(None)
        got = answer.verdict.attribution
        return Score(
            got == expected.attribution,
            "" if got == expected.attribution else f"{got}, expected {expected.attribution}",
        )
