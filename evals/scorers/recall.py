"""Which share of the facts that a label lists can be found in the verdict? A figure for labelled logs, never a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import Evaluator, EvaluatorContext, EvaluatorOutput

from evals.scorers.base import Answer, Expected
from evals.scorers.facts import lacking


@dataclass(repr=False)
class Recall(Evaluator[Any, Answer, Expected]):
    """`extra["wanted"]` lists the facts; none where there are none."""

    def evaluate(self, ctx: EvaluatorContext[Any, Answer, Expected]) -> EvaluatorOutput:
        """Count those in sentences and cited cells."""
        wanted: list[str] = ctx.metadata.extra.get("wanted", []) if ctx.metadata else []
        if not wanted:
            return {}
        return {"facts found": 1 - len(lacking(ctx.output.verdict, wanted)) / len(wanted)}
