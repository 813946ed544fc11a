"""Is the family right?"""

from __future__ import annotations

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Right where the code is among those that a careful reader accepts."""
    right = verdict.family in expected.families
    return Score("family", right, "" if right else f"{verdict.family}, expected {' or '.join(expected.families)}")
