"""Are the facts that a good verdict cites in its sentences or in the evidence under them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tools.gate.grounds import draft_texts
from agent_tools.verdict import Verdict
from evals.scorers.base import Answer, Expected, Score, Scorer, read


def lacking(verdict: Verdict, facts: Sequence[str]) -> list[str]:
    """The facts that are in no sentence and in no cited cell; the halves of `Type: text` may stand in two cells."""
    said = " ".join(read(verdict, draft_texts(verdict)))
    cells = " ".join(str(c) for e in verdict.evidence for row in e["rows"] or () for c in row if c is not None)
    return [f for f in facts if not all(part in said or part in cells for part in f.split(": ", 1))]


@dataclass(repr=False)
class Facts(Scorer):
    """Wrong where a required fact is missing."""

    title = "facts"

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look for each fact."""
        if not expected.facts:
            return Score(None)
        missing = lacking(answer.verdict, expected.facts)
        return Score(not missing, f"missing: {', '.join(missing)}" if missing else "")
