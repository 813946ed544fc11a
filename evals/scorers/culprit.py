"""Is the rank, node or GPU that is at fault named where a reader looks: in the headline or in what the data shows?"""

from __future__ import annotations

import re

from agent_tools.references import plain
from agent_tools.seal import ledger_of
from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score

_WORDS = {"gpu": r"\bGPU {}\b", "rank": r"\b[Rr]anks? (?:\d+, )*{}\b", "node": r"(?<![\w-]){}(?![\w-])"}


def score(verdict: Verdict, expected: Expected) -> Score:
    """Not applicable where nobody is at fault. `extra["culprit"]` maps gpu, rank, node to what is to be named."""
    culprit: dict[str, object] = expected.extra.get("culprit", {})
    if not culprit:
        return Score("culprit", None)
    ledger = ledger_of(verdict)
    said = " ".join(plain(t, ledger) for t in (verdict.headline, *(c.text for c in verdict.shows)))
    lost = [f"{k} {v}" for k, v in culprit.items() if not re.search(_WORDS[k].format(re.escape(str(v))), said)]
    return Score("culprit", not lost, f"not named: {', '.join(lost)}" if lost else "")
