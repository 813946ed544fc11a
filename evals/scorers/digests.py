"""Does every cited query, asked again of the same lake, give the same rows? Else a reader cannot check the verdict."""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Digests(Scorer):
    """Wrong where a digest or a count of rows differs, or a query fails the second time."""

    title = "digests"
    blind = True

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Read the checks of the second asking; a verdict that cites nothing has nothing to ask again."""
        if not answer.checks.again:
            return Score(None)
        bad = [c.detail for c in answer.checks.again if c.status != "ok"]
        return Score(not bad, "; ".join(bad[:3]))
