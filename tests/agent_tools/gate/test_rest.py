"""`agent_tools.gate.rest`: a figure of the others is not that of the one that its row names, nor the other way round."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.gatekit import passes, result

GOOD = "The job ended as [[E1.state]]."
DOCS = {
    "sm_mean": "mean SM activity", "engine_mean": "mean engine activity", "rest_sm_median": "median of the mean SM activity of the others",
    "rest_engine_median": "median of the mean engine activity of the others", "watched_s": "from the first to the last sample", "loss": "training loss",
}  # fmt: skip


@pytest.fixture(scope="module")
def held() -> Ledger:
    book = Ledger()
    spread = {
        "node": "",
        "gpu": "",
        "sm_mean": "ratio",
        "engine_mean": "ratio",
        "rest_sm_median": "ratio",
        "rest_engine_median": "ratio",
    }
    for name, columns, row in (
        ("job_attempts", {"state": "", "elapsed_s": "s"}, ("COMPLETED", 5731.0)),
        ("gpu_spread", spread, ("cn-43", 4, 0.575, 0.95, 0.158, 0.972)),
        ("gpu_summary", {"node": "", "gpu": "", "watched_s": "s"}, ("cn-43", 4, 5700.0)),
        ("loss_curve", {"first_step": "", "loss": ""}, (1240, 1.7)),
    ):
        made = result(name, columns, [row])
        told = tuple(replace(c, doc=DOCS.get(c.name, "")) for c in made.columns)
        book.record(replace(made, columns=told), name, {})
    book.show_all()
    return book


@pytest.mark.parametrize(
    "text",
    [
        "The engine activity of GPU [[E2.gpu]] was [[E2.rest_engine_median]].",
        "GPU [[E2.gpu]] of [[E2.node]] had a median SM activity of [[E2.rest_sm_median]].",
        "The others had a mean SM activity of [[E2.sm_mean]], GPU [[E2.gpu]] of [[E2.rest_sm_median]].",
        "The median of the others is [[E2.rest_sm_median]], and that of GPU [[E2.gpu]] is [[E2.rest_engine_median]].",
        "The job took [[E3.watched_s]].",
        "The loss stood still at [[E4.loss]].",
    ],
)
def test_what_is_of_another_is_not_shown(held: Ledger, text: str):
    assert not passes(text, held, GOOD)
    assert not check_answer(Answer(short=text), held, []).ok


@pytest.mark.parametrize(
    "text",
    [
        "GPU [[E2.gpu]] of [[E2.node]] had a mean SM activity of [[E2.sm_mean]] against [[E2.rest_sm_median]] of the others.",
        "The mean SM activity of GPU [[E2.gpu]] is [[E2.sm_mean]], the median of the others is [[E2.rest_sm_median]].",
        "The median engine activity of the others was [[E2.rest_engine_median]].",
        "The job took [[E1.elapsed_s]].",
        "The loss stood at [[E4.loss]].",
    ],
)
def test_what_is_its_own_is_shown(held: Ledger, text: str):
    assert passes(text, held, GOOD)
