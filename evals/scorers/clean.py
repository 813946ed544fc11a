"""Did every sentence of the examiner pass the gate? What was dropped is a defect of a family."""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Clean(Scorer):
    """Wrong where the verdict notes a dropped sentence or a family that could not be assessed."""

    title = "clean"
    blind = True

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Read the notes."""
        notes = answer.verdict.provenance.notes
        bad = [n for n in notes if n.startswith("Dropped") or "could not be assessed" in n]
        return Score(not bad, "; ".join(bad)[:300])
