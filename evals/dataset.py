"""The cases as a dataset of pydantic-evals: inputs are what makes a case, metadata is what it should come out as.

    report = dataset(standing()).evaluate_sync(ask(Settings(model="qwen3-32b")))

asks and grades them in one process and gives pydantic-evals' own report. `evals.suite` does the same with a pool of
processes, a dataset of one case at a time, since asking keeps a core busy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator

from evals.asking import Ready, Settings, asked, expectation
from evals.scenarios.cases import CaseId
from evals.scorers.abstention import Abstention
from evals.scorers.attribution import Attribution
from evals.scorers.base import Answer, Expected
from evals.scorers.certainty import Certainty
from evals.scorers.chain import Chain
from evals.scorers.claims import Claims
from evals.scorers.clean import Clean
from evals.scorers.confidence import Confidence
from evals.scorers.culprit import Culprit
from evals.scorers.digests import Digests
from evals.scorers.excluded import Excluded
from evals.scorers.facts import Facts
from evals.scorers.family import Family
from evals.scorers.hours import Hours
from evals.scorers.mode import Mode
from evals.scorers.prose import Prose
from evals.scorers.recall import Recall
from evals.scorers.references import References
from evals.scorers.spent import Spent
from evals.scorers.warned import Warned


def scorers(settings: Settings) -> list[Evaluator[Any, Answer, Expected]]:
    """Every scorer, the deterministic ones first; the judge last and only where one is named."""
    found: list[Evaluator[Any, Answer, Expected]] = [
        Family(), Mode(), Attribution(), Confidence(), Certainty(), Abstention(), Culprit(), Warned(), Chain(), Hours(), Facts(),
        Claims(), Excluded(), References(), Digests(), Clean(), Recall(), Spent(settings.max_turns, settings.max_tokens, settings.max_seconds),
    ]  # fmt: skip
    return [*found, Prose(settings.judge)] if settings.judge else found


def dataset(cases: Sequence[CaseId], settings: Settings | None = None) -> Dataset[CaseId, Answer, Expected]:
    """Cases as a dataset with every scorer. Raises KeyError for a case that does not exist."""
    settings = settings or Settings()
    made = [Case(name=str(c), inputs=c, metadata=expectation(c, settings)[1]) for c in cases]
    return Dataset(name="inquest", cases=made, evaluators=scorers(settings))


def ask(settings: Settings, ready: Ready | None = None) -> Callable[[CaseId], Answer]:
    """The task to evaluate: from a case to an answer. `ready` is the lake of the one case that will be asked for."""

    def answer(case: CaseId) -> Answer:
        return asked(case, settings, ready)

    return answer
