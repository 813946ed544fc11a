"""What a scorer is: one question about one answer, said with right, wrong or not applicable; an evaluator of pydantic-evals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput

from agent_tools.references import BadReference, plain
from agent_tools.seal import ledger_of
from agent_tools.verdict import Verdict
from agent_tools.verify import VerifyReport


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case should come out as. `families` are all codes that a careful reader accepts, the best one first."""

    families: tuple[str, ...]
    mode: str | None = None
    attribution: str | None = None
    facts: tuple[str, ...] = ()
    decided: bool = True
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict as it was given. `checks` is what `verify` said with the lake still open: every cited query was asked again."""

    verdict: Verdict
    checks: VerifyReport
    seconds: float = 0.0


def read(verdict: Verdict, texts: Iterable[str]) -> list[str]:
    """Sentences of a verdict as a reader sees them. A reference that leads nowhere stays as it stands: others judge that."""
    ledger = ledger_of(verdict)
    found: list[str] = []
    for text in texts:
        try:
            found.append(plain(text, ledger))
        except BadReference:
            found.append(text)
    return found


@dataclass(frozen=True, slots=True)
class Score:
    """`value` is None where the scorer has nothing to say about this case; `why` is for what is wrong."""

    value: bool | None
    why: str = ""


@dataclass(repr=False)
class Scorer(Evaluator[Any, Answer, Expected]):
    """A deterministic scorer: `score` decides, pydantic-evals runs it and keeps its word as an assertion.

    `title` is how reports call it. A scorer with `blind` also looks at cases that cannot be decided.
    """

    title: ClassVar[str]
    blind: ClassVar[bool] = False

    @abstractmethod
    def score(self, answer: Answer, expected: Expected) -> Score:
        """Right, wrong, or nothing to say."""

    def evaluate(self, ctx: EvaluatorContext[Any, Answer, Expected]) -> EvaluatorOutput:
        """The score as an assertion with its reason; none where it does not apply."""
        expected = ctx.metadata
        if expected is None or not (expected.decided or self.blind):
            return {}
        said = self.score(ctx.output, expected)
        return {} if said.value is None else {self.title: EvaluationReason(said.value, said.why or None)}
