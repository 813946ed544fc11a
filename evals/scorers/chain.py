"""Does the timeline tell what happened, in the order in which it happened?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer, read


@dataclass(repr=False)
class Chain(Scorer):
    """Not applicable without `extra["timeline"]`: patterns that its entries match one after the other."""

    title = "timeline"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look for each pattern after the entry that matched the one before."""
        wanted: tuple[str, ...] = expected.extra.get("timeline", ())
        if not wanted:
            return Score(None)
        told = read(answer.verdict, (m.text for m in answer.verdict.timeline))
        at = 0
        for pattern in wanted:
            found = next((i for i in range(at, len(told)) if re.search(pattern, told[i])), None)
            if found is None:
                return Score(False, f"{pattern!r} is not told, or not after what comes before it")
            at = found + 1
        return Score(True)
