"""Is a secondary finding told as a warning, without changing the verdict?"""

from __future__ import annotations

from agent_tools.references import plain
from agent_tools.seal import ledger_of
from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Not applicable without `extra["warning"]`, words that a warning must hold."""
    wanted: str = expected.extra.get("warning", "")
    if not wanted:
        return Score("warning", None)
    ledger = ledger_of(verdict)
    found = any(wanted in plain(w.text, ledger) for w in verdict.warnings)
    return Score("warning", found, "" if found else f"no warning says {wanted!r}")
