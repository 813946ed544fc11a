"""A word for a time with a slip of the keys is read as what it stands for, and the answer says so."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.questions.spelling import spelled
from store import Reader, Writer
from tests.agent_tools.questions.lookupkit import T, job


@pytest.mark.parametrize(
    ("question", "taken"),
    [
        ("which jobs failed yesteday?", [("yesteday", "yesterday")]),
        ("jobs that failed lst wek", []),  # nothing says that a time is meant
        ("jobs that failed last wek", [("wek", "week")]),
        ("failures of the last 3 mnths", [("mnths", "month")]),
        ("what ran on Mnoday and Tusday?", [("Mnoday", "monday"), ("Tusday", "tuesday")]),
        ("jobs since Ocotber", [("Ocotber", "october")]),
        ("what ran last weeek", [("weeek", "week")]),
    ],
)
def test_such_words_are_put_right(question: str, taken: list[tuple[str, str]]) -> None:
    assert spelled(question)[1] == taken


@pytest.mark.parametrize(
    "question",
    [
        "which jobs failed in the last four hours?",
        "which jobs failed this week, on mondays and weekends?",
        "did the weak scaling run on node-7 match last month's?",
        "is rank 7 of the last run behind in sundry steps?",
        "what did april-lm and /home/toda/run print this year?",
        "why did the last hour take this way?",
    ],
)
def test_other_words_stay(question: str) -> None:
    assert spelled(question) == (question, [])


def test_the_answer_is_for_that_time_and_says_how_the_word_was_taken(tmp_path: Path) -> None:
    """It was for all times, without a word."""
    rows = [job("41", 0, "FAILED", "n1"), job("42", 40, "FAILED", "n1"), job("43", 41, "FAILED", "n1")]
    Writer(tmp_path, durable=False).append(rows, batch="b")
    assert (T + timedelta(days=41)).month == 4
    with Reader(tmp_path) as reader:
        reply = Investigation(reader).ask("which jobs failed in Arpil?")
        told = " ".join([reply.short, *(c.text for c in reply.shows)])
    assert reply.question == "which jobs failed in Arpil?"
    assert 'The word "Arpil" was taken for "april".' in reply.provenance.notes
    assert told.count("Job ") == 2
