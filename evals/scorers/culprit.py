"""Is the rank, node or GPU that is at fault named where a reader looks: in the headline or in what the data shows?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer, read

_WORDS = {"gpu": r"\bGPU {}\b", "rank": r"\b[Rr]anks? (?:\d+, )*{}\b", "node": r"(?<![\w-]){}(?![\w-])"}


@dataclass(repr=False)
class Culprit(Scorer):
    """Not applicable where nobody is at fault. `extra["culprit"]` maps gpu, rank, node to the name, or to all its names."""

    title = "culprit"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look for the name in the sentences as a reader sees them."""
        culprit: dict[str, str | int | tuple[str | int, ...]] = expected.extra.get("culprit", {})
        if not culprit:
            return Score(None)
        verdict = answer.verdict
        said = " ".join(read(verdict, (verdict.headline, *(c.text for c in verdict.shows))))
        lost = [f"{k} {v}" for k, v in culprit.items() if not any(_names(k, n, said) for n in _each(v))]
        return Score(not lost, f"not named: {', '.join(lost)}" if lost else "")


def _each(value: str | int | tuple[str | int, ...]) -> tuple[str | int, ...]:
    return value if isinstance(value, tuple) else (value,)


def _names(kind: str, name: str | int, said: str) -> bool:
    return re.search(_WORDS[kind].format(re.escape(str(name))), said) is not None
