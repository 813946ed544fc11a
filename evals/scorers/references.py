"""Does every reference resolve, and does the sealed verdict hold on its own?"""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class References(Scorer):
    """Wrong where the sealed document does not verify."""

    title = "references"
    blind = True

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Read the checks of the document."""
        mine = [c for c in answer.checks.failures if c not in answer.checks.again]
        bad = [f"{c.what}: {c.status} {c.detail}".strip() for c in mine]
        return Score(not bad, "; ".join(bad[:3]))
