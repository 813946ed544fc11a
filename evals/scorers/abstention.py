"""Did it hold back where the decisive source is gone, and name what is missing? And did it decide where it could?

Three outcomes: right, wrong (a confident answer without grounds), declined (no answer although there were grounds).
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_tools.verdict import Verdict
from evals.scorers.base import Answer, Expected, Score, Scorer
from evals.scorers.confidence import LOW

_WORDS = {
    "log_line": ("standard output", "the job's output", "the log", "progress lines"),
    "gpu_sample": ("GPU metrics", "GPU samples"),
    "gpu_event": ("kernel log",),
    "slurm_job": ("sacct",),
    "slurm_node_state": ("sacctmgr show event",),
}
"""Words that name a table's source as well as the table's own name does."""


def held_back(verdict: Verdict) -> bool:
    """Whether a verdict says that it does not know."""
    return verdict.family == "U0" or verdict.confidence < LOW


@dataclass(repr=False)
class Abstention(Scorer):
    """Of a decided case: wrong where it declined. Else: right with U0 or a low confidence, and the missing table named."""

    title = "abstention"
    blind = True

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look at the confidence, and at what is named as missing."""
        verdict = answer.verdict
        held = held_back(verdict)
        if expected.decided:
            declined = held and "U0" not in expected.families
            return Score(not declined, f"declined: {verdict.family} at {verdict.confidence:.2f}" if declined else "")
        if not held:
            return Score(False, f"confident: {verdict.family} at {verdict.confidence:.2f}")
        wanted: str = expected.extra.get("missing", "")
        named = " ".join(f"{m.text} {m.signal}" for m in verdict.cannot_decide)
        lost = not any(word in named for word in (wanted, *_WORDS.get(wanted, ())))
        return Score(not lost, f"{wanted} is not named as missing" if lost else "")
