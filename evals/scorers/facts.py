"""Are the facts that a good verdict cites in its sentences or in the evidence under them?"""

from __future__ import annotations

import json

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Wrong where a required fact is in no cell of the evidence that the verdict carries."""
    if not expected.facts:
        return Score("facts", None)
    cells = json.dumps([e["rows"] for e in verdict.evidence if e["rows"]], ensure_ascii=False)
    missing = [f for f in expected.facts if json.dumps(f, ensure_ascii=False)[1:-1] not in cells]
    return Score("facts", not missing, f"missing: {', '.join(missing)}" if missing else "")
