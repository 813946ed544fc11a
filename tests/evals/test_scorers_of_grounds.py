"""How sure a verdict is, and what it rules out, against what its grounds allow."""

from __future__ import annotations

from dataclasses import replace

from tests.evals.test_scorers import failures, given


def test_more_or_less_certainty_than_the_grounds_allow_is_seen() -> None:
    answer, expected = given()
    sure = answer.verdict.confidence
    assert failures(answer, replace(expected, extra={"certainty": (sure - 0.2, sure - 0.1)})) == {"certainty"}
    assert failures(answer, replace(expected, extra={"certainty": (sure + 0.01, 1.0)})) == {"certainty"}
    assert failures(answer, replace(expected, extra={"certainty": (sure, sure)})) == set()


def test_what_is_ruled_out_without_grounds_or_left_open_with_them_is_seen() -> None:
    answer, expected = given()
    by = {s: [r.family for r in answer.verdict.ruled_out if r.status == s] for s in ("ruled_out", "undecidable")}
    assert failures(answer, replace(expected, extra={"excluded": by["ruled_out"], "open": by["undecidable"]})) == set()
    assert failures(answer, replace(expected, extra={"excluded": by["undecidable"][:1]})) == {"ruled out"}
    assert failures(answer, replace(expected, extra={"open": by["ruled_out"][:1]})) == {"ruled out"}
