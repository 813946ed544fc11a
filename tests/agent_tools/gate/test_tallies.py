"""How many of somebody's jobs ended so, and when a job crashed: the tally's row and the finding tell. False is refused, and its true
twin passes."""

from __future__ import annotations

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.wordkit import Book, book

MORE = {
    "code": ("code-error", "4816"),
    "full": ("disk-full", "4810"),
    "gone": ("cancelled-by-user", "4811"),
    "fine": ("healthy-ddp", "4824"),
}
CRASHED = [
    ("The crash came before training: the log holds <kill.short_run.reports> reports.", "The crash came before training: the log holds <code.short_run.reports> reports."),
    ("The crash came at step <down.short_run.last_step>.", "The crash came at step <full.short_run.last_step>."),
    ("The crash came at step <fine.short_run.last_step>.", "The job ended at step <fine.short_run.last_step>."),
    ("The crash came from node <code.job_overview.node_list>.", "The job ran on node <code.job_overview.node_list>."),
    ("No crash came at step <full.short_run.last_step>.", "Its last step was <full.short_run.last_step>."),
]  # fmt: skip
TALLIED = [
    ("Two jobs of user <who:wen> were cancelled.", "One job of user <who:wen> was cancelled."),
    ("One job of user <who:dario> was cancelled.", "User <who:dario> had no cancelled jobs."),
    ("User <who:wen> had no failed jobs.", "User <who:mira> had no failed jobs."),
    ("Users <who:mira> and <who:wen> had no cancelled jobs.", "Users <who:mira> and <who:dario> had no cancelled jobs."),
    ("Every job of user <who:wen> completed.", "One job of user <who:wen> failed."),
    ("Every job of user <who:mira> completed.", "User <who:mira> had <fleet_tally:MIRA.jobs> jobs."),
    ("Every job of user <who:dario> failed.", "Every job of user <who:noor> failed."),
    ("All jobs of user <who:wen> were cancelled.", "One job of user <who:noor> failed."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of nine jobs."""
    return book(tmp_path_factory.mktemp("lake"), MORE, tally="user")


def passes(text: str, shown: Book) -> bool:
    tally = next(e for e in shown.ledger.all() if e.query == "fleet_tally")
    for row in range(len(tally.rows)):
        who = str(tally.value("value", row))
        text = text.replace(f"<who:{who}>", f"[[{tally.id}:{row}.value]]").replace(
            f"fleet_tally:{who.upper()}.", f"fleet_tally:{row}."
        )
    assert "who:" not in text
    return check_answer(Answer(short=shown.said(text)), shown.ledger, shown.found).ok


@pytest.mark.parametrize("text", [false for false, _ in (*CRASHED, *TALLIED)])
def test_what_the_tally_or_no_finding_says_is_refused(shown: Book, text: str) -> None:
    assert not passes(text, shown)


@pytest.mark.parametrize("text", [true for _, true in (*CRASHED, *TALLIED)])
def test_what_the_tally_or_a_finding_says_passes(shown: Book, text: str) -> None:
    assert passes(text, shown)
