"""Each scorer refuses what it is there to refuse: an answer that is right is spoilt in one way, and that one scorer sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason, EvaluatorContext

from agent_tools.seal import seal
from agent_tools.verdict import Claim, Verdict
from agent_tools.verify import verify
from evals.asking import Settings, asked, expectation, posed
from evals.dataset import ask, dataset, scorers
from evals.scenarios.cases import CaseId
from evals.scorers.base import Answer, Expected

CASE = CaseId("recorded", "cancelled-by-user", 0)


@cache
def given() -> tuple[Answer, Expected]:
    return asked(CASE, Settings()), expectation(CASE, Settings())[1]


def failures(answer: Answer, expected: Expected, settings: Settings | None = None) -> set[str]:
    found: set[str] = set()
    for scorer in scorers(settings or Settings()):
        ctx = EvaluatorContext(
            name="x", inputs=None, metadata=expected, expected_output=None, output=answer, duration=0.0,
            _span_tree=None, attributes={}, metrics={},
        )  # fmt: skip
        said: Any = scorer.evaluate(ctx)
        found |= {n for n, v in said.items() if isinstance(v, EvaluationReason) and v.value is False}
    return found


def spoilt(change: Callable[[Verdict], None]) -> tuple[Answer, Expected]:
    answer, expected = given()
    verdict = answer.verdict.model_copy(deep=True)
    change(verdict)
    return Answer(verdict, verify(seal(verdict)), answer.seconds), expected


def test_the_answer_as_it_is_is_right() -> None:
    assert failures(*given()) == set()


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda v: setattr(v, "mode", "operator"), {"mode"}),
        (lambda v: setattr(v, "attribution", "infrastructure"), {"attribution"}),
        (lambda v: setattr(v, "confidence", 0.2), {"abstention"}),
        (lambda v: setattr(v, "headline", "It stopped at step [[E99.x]]."), {"references"}),
        (lambda v: setattr(v, "headline", "A broken GPU ended the job."), {"forbidden claims"}),
        (lambda v: setattr(v, "headline", "This is B2, plainly."), {"forbidden claims"}),
        (lambda v: v.implies.append(Claim(text="The hardware is to blame.")), {"forbidden claims"}),
        (lambda v: v.provenance.notes.append("Dropped, no shown cell backs it: x"), {"clean"}),
    ],
    ids=["mode", "attribution", "declined", "reference", "hardware", "family", "implied", "dropped"],
)  # fmt: skip
def test_what_is_spoilt_is_seen_by_its_scorer(change: Callable[[Verdict], None], seen: set[str]) -> None:
    assert failures(*spoilt(change)) == seen


def test_a_denial_is_no_claim() -> None:
    answer, expected = spoilt(lambda v: v.implies.append(Claim(text="The hardware is not to blame.")))
    assert "forbidden claims" not in failures(answer, expected)


def test_a_wrong_family_is_worst_where_it_is_sure() -> None:
    answer, expected = given()
    assert failures(answer, replace(expected, families=("B1",))) >= {"family", "not confidently wrong"}


def test_facts_and_culprits_that_are_not_named_are_missed() -> None:
    answer, expected = given()
    wanted = replace(expected, facts=("XID 79",), extra={"culprit": {"node": "zz9"}, "warning": "Latent"})
    assert failures(answer, wanted) == {"facts", "culprit", "warning"}


def test_words_that_a_case_forbids_are_seen() -> None:
    answer, expected = given()
    assert failures(answer, replace(expected, extra={"forbidden": ["cancelled"]})) == {"forbidden claims"}


def test_a_confident_answer_without_grounds_is_wrong_and_so_is_silence_about_what_is_missing() -> None:
    answer, _ = given()
    blind = Expected(("U0",), decided=False, extra={"missing": "gpu_sample"})
    assert "abstention" in failures(answer, blind)
    quiet, _ = spoilt(lambda v: (setattr(v, "confidence", 0.2), v.cannot_decide.clear()))
    assert "abstention" in failures(quiet, blind)


def test_an_answer_of_the_lake_that_changed_is_seen() -> None:
    """The cited queries are asked of another lake than the one that the verdict was made from."""
    answer, expected = given()
    with posed(CaseId("recorded", "bad-record", 0), Settings()) as (reader, _):
        other = Answer(answer.verdict, verify(seal(answer.verdict), reader), answer.seconds)
    assert failures(other, expected) == {"digests"}


def test_every_cited_query_was_asked_again() -> None:
    answer, _ = given()
    assert len(answer.checks.again) == sum(e["rows"] is not None for e in answer.verdict.evidence) > 3


def test_cost_is_a_figure_until_somebody_sets_a_limit() -> None:
    answer, expected = spoilt(lambda v: setattr(v.provenance, "requests", 2))
    assert failures(answer, expected, Settings(max_turns=1)) == {"within limits"}
    assert failures(answer, expected, Settings(max_turns=2, max_seconds=1e6)) == set()


def test_the_dataset_can_be_evaluated_by_pydantic_evals_alone() -> None:
    report = dataset([CASE]).evaluate_sync(ask(Settings()), progress=False)
    assert not report.failures and not report.cases[0].evaluator_failures
    assert {a.value for a in report.cases[0].assertions.values()} == {True}
    assert {"turns", "tokens", "seconds"} <= set(report.cases[0].scores)
