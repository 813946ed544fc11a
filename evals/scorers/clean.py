"""Did every sentence of the examiner pass the gate? What was dropped is a defect of a family."""

from __future__ import annotations

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Wrong where the verdict notes a dropped sentence or a family that could not be assessed."""
    bad = [n for n in verdict.provenance.notes if n.startswith(("Dropped", "The families could not"))]
    return Score("clean", not bad, "; ".join(bad)[:300])
