"""Is a secondary finding told as a warning, without changing the verdict?"""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer, read


@dataclass(repr=False)
class Warned(Scorer):
    """Not applicable without `extra["warning"]`, words that a warning must hold, or several such."""

    title = "warning"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look for the words in the warnings."""
        said: str | tuple[str, ...] = expected.extra.get("warning", ())
        wanted = (said,) if isinstance(said, str) else said
        if not wanted:
            return Score(None)
        told = list(read(answer.verdict, (w.text for w in answer.verdict.warnings)))
        lost = [words for words in wanted if not any(words in text for text in told)]
        return Score(not lost, f"no warning says {', '.join(lost)}" if lost else "")
