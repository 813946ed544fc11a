"""Are the others ruled out that can be, and left open where the source that would decide is not there?"""

from __future__ import annotations

from dataclasses import dataclass

from evals.scorers.base import Answer, Expected, Score, Scorer


@dataclass(repr=False)
class Excluded(Scorer):
    """Not applicable without `extra["excluded"]` or `extra["open"]`: codes that are to be ruled out, and left open."""

    title = "ruled out"
    blind = True

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look at what is said of each."""
        wanted: dict[str, tuple[str, ...]] = {
            "ruled_out": expected.extra.get("excluded", ()), "undecidable": expected.extra.get("open", ())
        }  # fmt: skip
        if not any(wanted.values()):
            return Score(None)
        said = {r.family: r.status for r in answer.verdict.ruled_out}
        wrong = [
            f"{c} is {said.get(c, 'not told of')}"
            for status, codes in wanted.items()
            for c in codes
            if said.get(c) != status
        ]
        return Score(not wrong, "; ".join(wrong))
