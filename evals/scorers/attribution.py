"""Is the blame right? Blaming hardware for a job's fault, or the reverse, is the worst error there is."""

from __future__ import annotations

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Not applicable where no attribution is expected."""
    if expected.attribution is None:
        return Score("attribution", None)
    right = verdict.attribution == expected.attribution
    return Score("attribution", right, "" if right else f"{verdict.attribution}, expected {expected.attribution}")
