"""The figures of a run, its comparison with an earlier one, and its reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evals import baseline, report
from evals.asking import Settings
from evals.outcome import Outcome
from evals.scenarios.cases import CaseId
from evals.scorers.calibration import brier, reliability
from evals.suite import run, run_one
from evals.summary import passes, summary, wilson

RIGHT = Outcome(
    "a/b/1", "a", "fault", truth=("A3",), family="A3", attribution="job", expected_attribution="job", confidence=0.9
)
WRONG = replace(
    RIGHT, case="a/b/2", family="B2", attribution="infrastructure", failures=(("family", "B2, expected A3"),)
)
BLIND = Outcome(
    "a/c/1", "a", "blind", truth=("U0",), family="U0", attribution="undetermined", confidence=0.7, decided=False, abstained="right"
)  # fmt: skip
INVALID = Outcome("a/b/3", "a", "fault", truth=("A3",), invalid="The model x gave no verdict: 500")


def test_calibration_of_a_perfect_and_of_a_boastful_reasoner() -> None:
    assert brier([(1.0, True), (0.0, False)]) == 0
    assert brier([(1.0, False)]) == 1
    (only,) = reliability([(0.96, True), (0.98, False)])
    assert (only.count, only.right) == (2, 0.5)


def test_hardware_that_is_blamed_for_a_fault_of_the_job_is_an_error_of_its_own() -> None:
    s = summary([WRONG, BLIND])
    assert (s["hardware_blamed_wrongly"], s["family_accuracy"], s["abstention"]["accuracy"]) == (1, 0, 1)
    assert s["blame"] == {"hardware_blamed_wrongly": ["a/b/2"], "hardware_let_off": [], "other": []}
    assert s["confusion"] == [{"expected": "A3", "got": "B2", "cases": 1}]


def test_hardware_that_is_blamed_without_grounds_counts_as_well() -> None:
    guess = replace(BLIND, family="B2", attribution="infrastructure", confidence=0.9, abstained="wrong")
    assert summary([guess])["hardware_blamed_wrongly"] == 1
    assert summary([replace(guess, confidence=0.3, abstained="unnamed")])["hardware_blamed_wrongly"] == 0
    likeliest = replace(guess, truth=("B2",))
    assert summary([likeliest])["hardware_blamed_wrongly"] == 0
    assert summary([replace(likeliest, truth=("A3", "B2"))])["hardware_blamed_wrongly"] == 1


def test_hardware_that_is_let_off_is_told_from_other_wrong_blame() -> None:
    let_off = replace(RIGHT, case="x", expected_attribution="infrastructure", failures=(("attribution", ""),))
    other = replace(RIGHT, case="y", attribution="user", failures=(("attribution", ""),))
    assert summary([let_off, other])["blame"] == {
        "hardware_blamed_wrongly": [], "hardware_let_off": ["x"], "other": ["y"],
    }  # fmt: skip


def test_right_wrong_and_declined_are_three_things() -> None:
    declined = replace(RIGHT, case="a/b/4", family="U0", abstained="declined", failures=(("abstention", ""),))
    loud = replace(BLIND, case="a/c/2", family="C2", abstained="wrong", failures=(("abstention", ""),))
    a = summary([RIGHT, BLIND, declined, loud])["abstention"]
    assert (a["right"], a["wrong"], a["declined"], a["unnamed"]) == (1, 1, 1, 0)


def test_a_healthy_job_that_is_called_broken_is_counted_and_one_that_is_left_open_is_not() -> None:
    healthy = replace(RIGHT, truth=("G1",), attribution="none", expected_attribution="none")
    assert summary([replace(healthy, family="D1")])["healthy_called_broken"] == 1
    assert summary([replace(healthy, family="U0")])["healthy_called_broken"] == 0


def test_an_endpoint_that_failed_is_in_no_figure_and_makes_the_report_invalid() -> None:
    s = summary([RIGHT, INVALID])
    assert (s["valid"], s["invalid"], s["family_accuracy"], s["right"], s["runs"]) == (False, 1, 1.0, 1, 2)
    assert next(report.lines([RIGHT, INVALID])).startswith("INVALID")
    assert not INVALID.right and not INVALID.family_right


def test_passing_k_times_in_a_row_is_harder_than_once() -> None:
    """A case right in 2 of 3 runs passes twice in a row with C(2,2)/C(3,2) = 1/3."""
    flaky = [replace(RIGHT, run=1), replace(RIGHT, run=2), replace(RIGHT, run=3, failures=(("family", ""),))]
    steady = [replace(RIGHT, case="s", run=n) for n in (1, 2, 3)]
    assert [p["share"] for p in passes(flaky)] == [0.6667, 0.3333, 0.0]
    assert [p["share"] for p in passes(flaky + steady)] == [0.8333, 0.6667, 0.5]
    family = summary(flaky + steady)["families"]["A3"]
    assert (family["cases"], family["runs"]) == (2, 6)


def test_repeats_of_one_case_are_no_further_evidence() -> None:
    """The standard error is over cases: asking the same two cases a hundred times does not make it smaller."""
    one_wrong = [RIGHT, replace(RIGHT, case="w", family="B1")]
    often = [replace(o, run=n) for o in one_wrong for n in range(100)]
    errors = [summary(o)["families"]["A3"]["standard_error"] for o in (one_wrong, often)]
    assert errors[0] == errors[1] > 0.3


def test_a_small_sample_that_is_all_right_proves_little() -> None:
    assert wilson(1.0, 5) < 0.6 < wilson(1.0, 50) < wilson(1.0, 5000) < 1
    assert wilson(0.0, 10) == 0


def test_a_baseline_tells_what_got_worse_and_what_better(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    mended = replace(RIGHT, case="a/b/9", failures=(("mode", ""),))
    before.write_text(json.dumps(report.as_json([RIGHT, mended, replace(RIGHT, case="gone")])))
    now = [replace(RIGHT, failures=(("family", "B1, expected A3"),)), replace(mended, failures=()), WRONG]
    c = baseline.compare(baseline.read(before), now)
    assert [x.case for x in c.worse] == ["a/b/1"] and "B1, expected A3" in c.worse[0].why
    assert [x.case for x in c.better] == ["a/b/9"]
    assert [x.case for x in c.unknown] == ["a/b/2"]
    assert c.gone == ["gone"]
    assert not c.held
    assert baseline.compare(baseline.read(before), [RIGHT, mended]).held


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"summary": {"valid": true}, "outcomes": [1]}'])
def test_a_file_that_is_no_report_says_how_to_make_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(baseline.BaselineError, match="inquest eval --json"):
        baseline.read(path)


def test_a_report_as_junit_counts_failures_and_errors_and_survives_what_a_log_can_hold() -> None:
    dirty = replace(WRONG, headline="\x1b[31m\x00 ]]> <b>")
    suite = ElementTree.fromstring(
        report.as_junit([RIGHT, dirty, BLIND, INVALID, Outcome("e", "a", error="KeyError: 1")])
    )
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "2", "skipped": "0",
    }  # fmt: skip


def test_a_case_that_cannot_be_made_is_an_error_and_ends_nothing_else() -> None:
    found = run([CaseId("b1_cuda_oom", "no-such", 1), CaseId("no_such", "x", 1)], 1)
    assert [bool(o.error) for o in found] == [True, True]
    assert not any(o.right for o in found)


def test_repeats_are_asked_and_kept_apart() -> None:
    found = run([CaseId("a4_never_started", "no-such", 1)], 1, repeat=3)
    assert [o.run for o in found] == [1, 2, 3]


def test_workers_give_what_one_process_gives() -> None:
    cases = [CaseId("a4_never_started", "resources", 1000), CaseId("u0_undetermined", "accounting", 1000)]

    def plain(outcomes: list[Outcome]) -> list[Outcome]:
        return [replace(o, seconds=0.0, spent={}) for o in outcomes]

    assert plain(run(cases, 2)) == plain([run_one(c, Settings()) for c in cases])
