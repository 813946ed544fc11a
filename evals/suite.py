"""The suite: cases run by several processes, each verdict graded by every scorer, in a result that is plain data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from fnmatch import fnmatch
from multiprocessing import get_context

from agent_tools.verdict import Verdict
from evals.recorded import cases as recorded_cases
from evals.recorded import verdict_on as recorded_verdict
from evals.scenarios.cases import CaseId, made, verdict_on
from evals.scorers import abstention, attribution, clean, confidence, culprit, facts, family, mode, references, warned
from evals.scorers.base import Expected, Score, Scorer

DECIDED: tuple[Scorer, ...] = (
    family.score,
    mode.score,
    attribution.score,
    confidence.score,
    abstention.score,
    culprit.score,
    warned.score,
    facts.score,
    references.score,
    clean.score,
)
BLIND: tuple[Scorer, ...] = (abstention.score, references.score, clean.score)
RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case. `kind` is the variant's, or "recorded"; `failures` are scorers' names with their words."""

    case: str
    stem: str
    kind: str
    truth: tuple[str, ...]
    family: str
    mode: str | None
    attribution: str
    expected_attribution: str | None
    confidence: float
    seconds: float
    decided: bool = True
    failures: tuple[tuple[str, str], ...] = ()
    error: str = ""
    headline: str = ""
    scores: dict[str, bool] = field(default_factory=dict[str, bool])

    @property
    def right(self) -> bool:
        """Every scorer that had something to say was content."""
        return not self.failures and not self.error

    @property
    def family_right(self) -> bool:
        """The family alone; of a case that cannot be decided: it held back."""
        if not self.decided:
            return not self.error and "abstention" not in dict(self.failures)
        return self.family in self.truth


def selected(cases: Sequence[CaseId], glob: str | None) -> list[CaseId]:
    """The cases whose `stem/variant/seed` matches a pattern (or begins with it)."""
    return [c for c in cases if glob is None or fnmatch(str(c), glob) or fnmatch(str(c), f"{glob}*")]


def run_one(case: CaseId) -> Outcome:
    """Make a case, ask the examiner, grade. An exception is an error of that case."""
    begun = time.monotonic()
    try:
        if case.stem == RECORDED:
            recorded = next(c for c in recorded_cases() if c.name == case.variant)
            return _graded(case, RECORDED, recorded_verdict(recorded.path, recorded.job), recorded.expected, begun)
        variant, plan, expected = made(case)
        return _graded(case, variant.kind, verdict_on(plan), expected, begun)
    except Exception as error:
        return Outcome(
            str(case), case.stem, "", (), "", None, "", None, 0.0, time.monotonic() - begun, error=f"{type(error).__name__}: {error}"
        )  # fmt: skip


def _graded(case: CaseId, kind: str, verdict: Verdict, expected: Expected, begun: float) -> Outcome:
    said: list[Score] = [s(verdict, expected) for s in (DECIDED if expected.decided else BLIND)]
    return Outcome(
        case=str(case),
        stem=case.stem,
        kind=kind,
        truth=expected.families,
        family=verdict.family,
        mode=verdict.mode,
        attribution=verdict.attribution,
        expected_attribution=expected.attribution,
        confidence=verdict.confidence,
        seconds=time.monotonic() - begun,
        decided=expected.decided,
        failures=tuple((s.scorer, s.why) for s in said if s.value is False),
        headline=verdict.headline,
        scores={s.scorer: s.value for s in said if s.value is not None},
    )


def run(cases: Sequence[CaseId], workers: int, on_done: Callable[[Outcome], None] | None = None) -> list[Outcome]:
    """All cases, in their order; `on_done` hears of each as it ends. One worker runs in this process."""
    found: dict[str, Outcome] = {}
    for outcome in _outcomes(cases, workers):
        found[outcome.case] = outcome
        if on_done is not None:
            on_done(outcome)
    return [found[str(c)] for c in cases]


def _outcomes(cases: Sequence[CaseId], workers: int) -> Iterator[Outcome]:
    if workers <= 1:
        yield from map(run_one, cases)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run_one, c) for c in cases]):
            yield future.result()


def recorded() -> list[CaseId]:
    """The recorded examples as cases."""
    return [CaseId(RECORDED, c.name, 0) for c in recorded_cases()]
