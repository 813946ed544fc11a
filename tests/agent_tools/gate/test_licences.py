"""What joins two cells needs a licence of a row, and what a finding vouches for is what its own sentence says of its own cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim
from tests.agent_tools.gate.gatekit import ledger
from tests.agent_tools.gate.wordkit import Book, book

FALSE = [
    "Node <down.node_failures.node> was <down.node_failures.state> for <down.job_overview.elapsed_s>.",
    "Step <kill.train_summary.last_step> was made by rank <kill.fatal_signals:1.rank>.",
    "Step <down.train_summary.last_step> was reached on GPU <wide.gpu_events.gpu>.",
    "The job was ended by signal <wide.process_exits:2.exit_signal>.",
    "The ranks were ended by a signal, <wide.process_exits:2.exit_signal>.",
    "The log says that rank <wide.process_exits:2.rank> was ended by signal <wide.process_exits:2.exit_signal>.",
    "<kill.fatal_signals:1.signal_name> was seen by the user at <kill.fatal_signals:1.signal_ts>.",
    "The job's memory was <kill.job_overview.memory_gib> at its end.",
    "The job held <kill.job_overview.gpu_hours_held> GPU hours before training began.",
    "The loss was <evict.train_summary.min_loss> before the end of the run.",
    "The rerun held <evict.requeue_history.earlier_gpu_hours> of GPU time.",
    "The job stopped before all <kill.train_summary.total_steps> steps were reached, and all <kill.train_summary.total_steps> steps were done.",
]
TRUE = [
    "Node <down.node_failures.node> was <down.node_failures.state> since <down.node_failures.since_ts>.",
    "Step <kill.train_summary.last_step> was reached, and rank <kill.fatal_signals:1.rank> was ended by <kill.fatal_signals:1.signal_name>.",
    "Rank <wide.process_exits:2.rank> was ended by signal <wide.process_exits:2.exit_signal>.",
    "The log says that rank <kill.fatal_signals:1.rank> was ended by <kill.fatal_signals:1.signal_name>.",
    "The job asked for <kill.job_overview.memory_gib> of memory.",
    "The job held <kill.job_overview.gpu_hours_held> GPU hours.",
    "The earlier attempts cost <evict.requeue_history.earlier_gpu_hours> of GPU time.",
    "Rank <kill.fatal_signals:1.rank> was the only rank ended by <kill.fatal_signals:1.signal_name>: <kill.fatal_signals:1.ranks>.",
]
RISKY = [
    "Turn the watchdog off.",
    "Turn persistence mode on again.",
    "Ignore the counter.",
    "Delete the older checkpoints.",
    "Use fewer workers, as there are too many.",
    "Leave the batch size as it was.",
    "Raise the time limit, since the training was nearly done.",
    "Stop the run, which is on its last step.",
    "Resume from the newest checkpoint, step <evict.checkpoints.step>, of three kills: the second kill was the last.",
    "Remove the memory limit of the job.",
    "Resume from step <kill.train_summary.last_step>.",
    "Raise the memory limit of the job.",
]
SOUND = [
    "Check whether there are too many workers.",
    "Check whether the watchdog was used.",
    "Compare the loss of step <evict.checkpoints.step> with the last loss.",
]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of five jobs."""
    folder: Path = tmp_path_factory.mktemp("licences")
    return book(folder)


def kept(held: Book, text: str) -> bool:
    """Whether a sentence is shown as what was seen."""
    good = held.said("Job <kill.job_overview.job_id> ended as <kill.job_overview.state>.")
    report = check_answer(Answer(short=good, shows=[Claim(text=held.said(text))]), held.ledger, held.found)
    return report.ok and len(report.answer.shows) == 1


def advised(held: Book, text: str) -> bool:
    """Whether an advice passes."""
    good = held.said("Job <kill.job_overview.job_id> ended as <kill.job_overview.state>.")
    return check_answer(Answer(short=good, actions=[Claim(text=held.said(text))]), held.ledger, held.found).ok


@pytest.mark.parametrize("text", FALSE)
def test_what_no_row_joins_is_not_shown(held: Book, text: str) -> None:
    assert not kept(held, text)


@pytest.mark.parametrize("text", TRUE)
def test_what_a_row_joins_is(held: Book, text: str) -> None:
    assert kept(held, text)


@pytest.mark.parametrize("text", RISKY)
def test_an_advice_changes_nothing_that_no_rule_offers(held: Book, text: str) -> None:
    assert not advised(held, text)


@pytest.mark.parametrize("text", SOUND)
def test_a_sound_advice_passes(held: Book, text: str) -> None:
    assert advised(held, text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Rank [[E2.rank]] lagged behind.", True),
        ("Rank [[E2.rank]] was late.", False),
        ("Rank [[E2.rank]] died.", False),
        ("The job stalled: [[E1.state]].", True),
        ("Rank [[E2.rank]] stalled.", False),
    ],
)
def test_a_finding_vouches_for_what_each_sentence_says_of_its_cells(text: str, shown: bool) -> None:
    """What it leaves open, and what it says of all such cases and of no cell, is said of none."""
    found = Assessment(
        "D3",
        "confirmed",
        attribution="job",
        headline="Rank [[E2.rank]] lagged behind",
        speaks_for=[Claim(text="The job stalled: [[E1.state]].")],
        implies=[Claim(text="The rank died, was late or took another path."), Claim(text="Such a rank died.")],
    )
    report = check_answer(Answer(short="It ended as [[E1.state]].", shows=[Claim(text=text)]), ledger(), [found])
    assert (report.ok and len(report.answer.shows) == 1) == shown
