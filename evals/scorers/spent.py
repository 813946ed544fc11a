"""What did the answer cost: turns, tokens, seconds? Always reported; wrong only past a limit that somebody set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput

from evals.scorers.base import Answer, Expected


@dataclass(repr=False)
class Spent(Evaluator[Any, Answer, Expected]):
    """Each figure as a score; "within limits" as an assertion where a limit is set. Turns are requests to the model."""

    turns: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def evaluate(self, ctx: EvaluatorContext[Any, Answer, Expected]) -> EvaluatorOutput:
        """Compare with the limits that are set."""
        provenance = ctx.output.verdict.provenance
        spent = {"turns": provenance.requests, "tokens": provenance.tokens, "seconds": round(ctx.output.seconds, 3)}
        limits = {"turns": self.turns, "tokens": self.tokens, "seconds": self.seconds}
        over = [f"{spent[k]:g} {k}, at most {v:g}" for k, v in limits.items() if v is not None and spent[k] > v]
        found: dict[str, bool | int | float | str | EvaluationReason] = {**spent}
        if any(v is not None for v in limits.values()):
            found["within limits"] = EvaluationReason(not over, "; ".join(over) or None)
        return found
