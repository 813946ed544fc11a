"""An answer may repeat what the rules' verdict says of the one job that was opened, as what it is there."""

from __future__ import annotations

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Draft
from tests.agent_tools.gate.gatekit import assessments, draft
from tests.agent_tools.gate.test_meaning import fleet

BOOK, FOUND = fleet(), assessments()
FOLLOWS, GUESS, RULED = (
    "The memory plan is larger than the card.",
    "A leak in the loader is the usual cause.",
    "No counter rose.",
)
OWN: Draft = draft(
    implies=[{"text": FOLLOWS, "status": "supported"}, {"text": GUESS, "status": "hypothesis"}],
    ruled_out=[{"family": "B2", "status": "ruled_out", "text": RULED}],
)
SHORT = "Rank [[E2.rank]] asked for [[E2.requested_bytes]]."


def asked(own: tuple[str, Draft] | None = ("4812", OWN), short: str = SHORT, **fields: object):
    return check_answer(Answer.model_validate({"short": short, **fields}), BOOK, FOUND, drafts=[own] if own else [])


def test_an_inference_keeps_the_status_that_it_has_in_the_verdict():
    report = asked(implies=[{"text": f"{FOLLOWS} "}, {"text": GUESS}])
    assert report.ok, report.problems
    assert [c.status for c in report.answer.implies] == ["supported", "hypothesis"]


def test_its_author_may_be_less_sure():
    report = asked(implies=[{"text": FOLLOWS, "status": "hypothesis"}])
    assert [c.status for c in report.answer.implies] == ["hypothesis"]


def test_what_was_ruled_out_needs_no_cell_where_there_is_none():
    """That nothing was seen has no row; the rules looked, and say so."""
    report = asked(shows=[{"text": RULED}])
    assert report.ok, report.problems
    assert [c.text for c in report.answer.shows] == [RULED]
    assert "cites nothing" in asked(shows=[{"text": "No counter fell."}]).problems[0]
    assert "cites nothing" in asked(shows=[{"text": GUESS}]).problems[0]


@pytest.mark.parametrize("short", ["Job [[E5:1.job_id]] ended as [[E5:1.state]].", "The log says [[E9.name]]."])
def test_beside_another_job_nothing_is_repeated(short: str):
    """A row of another job, and an answer of the store that was asked about one."""
    report = asked(short=short, implies=[{"text": FOLLOWS}])
    assert [c.status for c in report.answer.implies] == ["hypothesis"]
    assert "cites nothing" in asked(short=short, shows=[{"text": RULED}]).problems[0]


def test_where_several_jobs_were_opened_nothing_is_repeated():
    assert [c.status for c in asked(None, implies=[{"text": FOLLOWS}]).answer.implies] == ["hypothesis"]
