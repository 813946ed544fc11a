"""What a refusal tells the one who writes again: with which cells the same thing passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.refusal import helped, refusal
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.gatekit import result


@pytest.fixture
def held() -> Ledger:
    """Two ranks with their exit codes, and a job with its restarts, all shown."""
    held = Ledger()
    held.record(result("ranks", {"rank": "", "exit_code": ""}, [(0, 1), (1, 0)]), "ranks", {})
    held.record(result("job", {"state": "", "restarts": "", "gpus": ""}, [("FAILED", 2, 2)]), "job", {})
    held.show_all()
    return held


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("No checkpoint was lost when the job ended as [[E2.state]].", "an empty answer's own count"),
        ("Only rank [[E1.rank]] was slow.", "one answer that was shown whole"),
        ("Rank [[E1.rank]] ended later.", "the times of both"),
        ("Rank [[E1.rank]] was the slowest.", "both figures of one column"),
    ],
)
def test_each_kind_of_word_is_told_with_what_it_passes(held: Ledger, text: str, told: str) -> None:
    problems = check_answer(Answer(short=text), held, []).problems
    assert len(problems) == 1
    assert told in problems[0]


def test_a_word_of_no_kind_is_told_as_it_was(held: Ledger) -> None:
    (problem,) = check_answer(Answer(short="The job ended as [[E2.state]] of sorrow."), held, []).problems
    assert problem == (
        "short says 'sorrow', which nothing that it cites says: say what the cells show (state) without these words, or cite the row that says it, or say it in hypotheses"
    )


def test_a_number_in_words_is_shown_only_the_cells_that_stand_beside_it(held: Ledger) -> None:
    problem = check_answer(Answer(short="The two ranks failed as rank [[E1.rank]] did."), held, []).problems[0]
    assert problem.startswith("short: 'two' is a typed figure, in words")
    assert "[[E2.gpus]]" not in problem
    problem = check_answer(Answer(short="The two ranks ended as [[E2.state]]."), held, []).problems[0]
    assert "hold as many: [[E2.restarts]] = 2; [[E2.gpus]] = 2" in problem


def test_the_help_stands_by_each_sentence_that_says_more(held: Ledger) -> None:
    shows = {"short": "The job ended as [[E2.state]].", "shows": [{"text": "Nobody cancelled it: [[E2.state]]."}]}
    report = check_answer(Answer.model_validate(shows), held, [])
    assert report.ok
    assert f"- shows[0] says 'nobody', 'cancelled' ({helped(['nobody'])})" in refusal("answer", [], report.beyond)
    assert helped(["sorrow"]) == ""


def test_a_cause_is_refused_by_the_word_that_makes_it_one(held: Ledger) -> None:
    problem = check_answer(
        Answer(short="The job ended as [[E2.state]] because of its [[E2.gpus]] gpus."), held, []
    ).problems[0]
    assert problem.startswith("short states a cause that nothing it cites states, by 'because'")
