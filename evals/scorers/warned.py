"""Is a secondary finding told as a warning, without changing the verdict?"""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer, read


@dataclass(repr=False)
class Warned(Scorer):
    """Not applicable without `extra["warning"]`, words that a warning must hold."""

    title = "warning"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look for the words in the warnings."""
        wanted: str = expected.extra.get("warning", "")
        if not wanted:
            return Score(None)
        found = any(wanted in text for text in read(answer.verdict, (w.text for w in answer.verdict.warnings)))
        return Score(found, "" if found else f"no warning says {wanted!r}")
