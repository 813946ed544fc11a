"""Are the facts that a good verdict cites in its sentences or in the evidence under them?"""

from __future__ import annotations

from agent_tools.grounds import draft_texts
from agent_tools.references import plain
from agent_tools.seal import ledger_of
from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Wrong where a required fact is in no sentence and no cited cell; `Type: text` may stand in two cells."""
    if not expected.facts:
        return Score("facts", None)
    ledger = ledger_of(verdict)
    said = " ".join(plain(text, ledger) for text in draft_texts(verdict))
    cells = " ".join(str(c) for e in verdict.evidence for row in e["rows"] or () for c in row if c is not None)
    missing = [f for f in expected.facts if not all(part in said or part in cells for part in f.split(": ", 1))]
    return Score("facts", not missing, f"missing: {', '.join(missing)}" if missing else "")
