"""Does every reference resolve, and does the sealed verdict hold on its own?"""

from __future__ import annotations

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected, Score


def score(verdict: Verdict, expected: Expected) -> Score:
    """Wrong where the sealed document does not verify."""
    from agent_tools.seal import seal
    from agent_tools.verify import verify

    report = verify(seal(verdict))
    return Score("references", report.ok, "; ".join(report.problems[:3]))
