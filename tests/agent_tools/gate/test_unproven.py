"""True cells, put together to what no row bears out: a reason that is none, a zero that counts nothing, a part told as the whole.

Each false sentence has its true twin over the same cells, where there is one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.gatekit import draft, ledger
from tests.agent_tools.gate.wordkit import Book, book

MORE = {
    "well": ("healthy-ddp", "4824"),
    "bad": ("bad-record", "4809"),
    "mem": ("host-memory-kill", "4804"),
    "saved": ("resumed-from-scratch", "4827"),
}
FALSE = {
    "a run that did its work is no reason": [
        "Job <well.job_overview.job_id> ended as <well.job_overview.state> because it had made <well.train_summary.last_step> steps.",
        "The job ended as <well.job_overview.state> due to its last loss of <well.train_summary.last_loss>.",
    ],
    "nobody told is not nobody": [
        "<bad.exceptions.ranks> ranks raised <bad.exceptions.name>.",
        "<bad.exceptions.name> was raised by <bad.exceptions.ranks> ranks.",
    ],
    "on the other side of the moment": [
        "The exception came after <mem.fatal_signals:1.signal_name> at <mem.exceptions:0.first_ts>.",
        "The exception, before <mem.exceptions:0.name> at <mem.fatal_signals:1.signal_ts>, is another.",
    ],
    "a part of the steps": [
        "The median step took <well.save_pace.step_plain_s>.",
        "The median step took <saved.save_pace.step_save_s>.",
        "A step took <saved.save_pace.late_s>.",
    ],
}
TRUE = [
    "Job <mem.job_overview.job_id> ended as <mem.job_overview.state>.",
    "A plain step took <saved.save_pace.step_plain_s>.",
    "A late step took <saved.save_pace.late_s>.",
    "<mem.exceptions:1.ranks> ranks raised <mem.exceptions:1.name>.",
    "The gradient norm peaked at <well.loss_shape.highest_grad_norm>.",
    "The step's peak was <well.job_steps.max_rss_gib> of memory.",
    "Rank <mem.fatal_signals:1.rank> was ended by <mem.fatal_signals:1.signal_name> at <mem.fatal_signals:1.signal_ts>.",
]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of nine jobs."""
    folder: Path = tmp_path_factory.mktemp("unproven")
    return book(folder, MORE)


def problems(held: Book, text: str) -> list[str]:
    return check_answer(Answer(short=held.said(text)), held.ledger, held.found).problems


@pytest.mark.parametrize("text", [t for kind in FALSE.values() for t in kind])
def test_what_no_row_bears_out_is_refused(held: Book, text: str) -> None:
    assert problems(held, text)


@pytest.mark.parametrize("text", TRUE)
def test_what_the_rows_say_is_let_through(held: Book, text: str) -> None:
    assert problems(held, text) == []


@pytest.mark.parametrize(("mode", "refused"), [("env", "says 'data'"), ("data", ""), (None, "")])
def test_a_mode_is_a_cause_too_and_follows_from_the_assessment(mode: str | None, refused: str):
    """Shown beside the family, it names what to mend: `Startup crash (env)` sends a reader elsewhere than `(data)`."""
    found = Assessment(
        "A1", "confirmed", mode="data", confidence=0.9, attribution="job", headline="State [[E1.state]]."
    )
    concluded = draft(family="A1", mode=mode, headline="State [[E1.state]].", implies=[])
    report = Gate().check(concluded, ledger(), [found])
    assert report.ok is not bool(refused)
    assert refused in "\n".join(report.problems)
    assert refused or report.draft.mode == "data"
    unsaid = Gate().check(concluded, ledger(), [replace(found, mode=None)])
    assert unsaid.ok is (mode is None)
