"""Is the sub-mode right, where the family is and has modes?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Mode(Scorer):
    """Not applicable where no mode is expected or the family is wrong already.

    `extra["accept"]`, where it is given, lists all that is accepted: `A1:data`, or `A1` for any mode of it.
    """

    title = "mode"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Compare modes."""
        verdict = answer.verdict
        accept = cast("list[str]", expected.extra.get("accept", []))
        if verdict.family not in expected.families or (expected.mode is None and not accept):
            return Score(None)
        if accept:
            if verdict.family in accept:
                return Score(None)
            right = f"{verdict.family}:{verdict.mode}" in accept
            return Score(right, "" if right else f"{verdict.mode}, expected {' or '.join(accept)}")
        right = verdict.mode == expected.mode
        return Score(right, "" if right else f"{verdict.mode}, expected {expected.mode}")
