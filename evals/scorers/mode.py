"""Is the sub-mode right, where the family is and has modes?"""

from __future__ import annotations

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Not applicable where no mode is expected or the family is wrong already."""
    if expected.mode is None or verdict.family not in expected.families:
        return Score("mode", None)
    right = verdict.mode == expected.mode
    return Score("mode", right, "" if right else f"{verdict.mode}, expected {expected.mode}")
