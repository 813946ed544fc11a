"""What a family denies nobody may affirm on the same cells, and each of several keeps its own end, reason and measure.

A family that is ruled out names what was not there ("nobody cancelled it"), and so does one that is found ("no crash of the
job"). The false sentences passed the gate by these very words; the true ones deny what the families deny.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.denials import affirmed, negated, refused
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.wordkit import Book, book

MORE = {"cancel": ("cancelled-by-user", "4811")}
GOOD = "Job <kill.job_overview.job_id> ended as <kill.job_overview.state>."


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of six jobs."""
    folder: Path = tmp_path_factory.mktemp("denied")
    return book(folder, MORE)


FALSE = {
    "what a family rules out": [
        "The job ended as <kill.job_overview.state> after a node of the job changed to a bad state.",
        "The job was cancelled and ended as <kill.job_overview.state>.",
        "The job was requeued and ended as <kill.job_overview.state>.",
        "Nobody noticed that the job was cancelled; it ended as <kill.job_overview.state>.",
        "The loss diverged: <kill.loss_shape.first_loss> at the start, <kill.loss_shape.last_loss> at the end.",
        "Training never started: it had reached step <kill.train_summary.last_step> of <kill.train_summary.total_steps>.",
        "The job was healthy: Slurm recorded <kill.job_overview.state> with exit status <kill.job_overview.exit_code>.",
        "The job was undertrained: it made <kill.short_run.last_step> steps.",
        "It was a save storm: <kill.save_pace.saves> saves in <kill.save_pace.steps> steps.",
        "The startup crash was <kill.exceptions.name>.",
    ],
    "what a finding denies": [
        "Rank <kill.fatal_signals:1.rank> raised a Python traceback of its own and was ended by <kill.fatal_signals:1.signal_name>.",
        "The earlier attempt crashed and was requeued at <evict.requeue_history.event_ts>.",
        "Node <evict.job_attempts.node_list> crashed, and the job was requeued at <evict.requeue_history.event_ts>.",
    ],
    "the end of another": [
        "Attempt <evict.job_attempts.attempt> completed and attempt <evict.job_attempts:1.attempt> was preempted.",
        "Attempts <evict.job_attempts.attempt> and <evict.job_attempts:1.attempt> were preempted.",
        "While attempt <evict.job_attempts.attempt> succeeded, attempt <evict.job_attempts:1.attempt> was preempted.",
        "Attempt <evict.job_attempts:1.attempt> was preempted after <evict.job_attempts:1.elapsed_s>, attempt <evict.job_attempts.attempt> completed.",
    ],
    "the end of an earlier attempt": [
        "The job ended as <evict.job_attempts.state>.",
        "It ran for <evict.job_attempts.elapsed_s>.",
        "The job ended as <evict.job_attempts.state> after <evict.job_attempts.elapsed_s>.",
    ],
    "a reason that explains nothing": [
        "The exception <kill.exceptions.name> explains the failure.",
        "The job failed because of <kill.exceptions.name>.",
    ],
    "whose it is": [
        "Rank <kill.fatal_signals:1.rank> raised <kill.exceptions.name>.",
        "<kill.exceptions.name> was raised on rank <kill.fatal_signals:1.rank> of <kill.fatal_signals:1.host>.",
        "The traceback at line <kill.exceptions.line_no> of <kill.exceptions.file> is that of rank <kill.fatal_signals:1.rank>.",
        "The user <evict.job_overview.user> requeued the job.",
    ],
    "what was never counted": [
        "The job was requeued (<kill.job_overview.restarts>).",
        "The job was never preempted (<evict.requeue_history.failed_attempts> failed attempts).",
        "The job was requeued once (<kill.job_overview.restarts>).",
    ],
    "asked for or waited, not used": [
        "The job used <kill.job_overview.memory_gib> of memory.",
        "The memory of <kill.job_overview.memory_gib> was used up.",
        "The signal came <kill.job_overview.wait_s> after the start.",
        "The job was preempted after <evict.requeue_history.waited_min>.",
    ],
    "no bound": [
    "The loss was at most <kill.loss_shape.last_loss>.",
        "The loss was at least <kill.train_summary.max_loss>.",
        "At most <kill.train_summary.last_step> of <kill.train_summary.total_steps> steps were made.",
        "Rank <wide.process_exits:3.rank> had at most PID <wide.process_exits:3.pid>.",
    ],
    "compared by what is no size": [
        "The loss jumped by <evict.resume_signs.jump> at the resume.",
        "The loss jumped up at the resume (<evict.resume_signs.jump>).",
        "Attempt <evict.job_attempts.attempt> was slower than attempt <evict.job_attempts:1.attempt>.",
        "Attempts <evict.job_attempts.attempt> and <evict.job_attempts:1.attempt> ran at once.",
    ],
}  # fmt: skip

TRUE = [
    "Nobody cancelled the job; Slurm recorded the end as <kill.job_overview.state>.",
    "The job was not requeued, and Slurm recorded its end as <kill.job_overview.state>.",
    "Attempt <evict.job_attempts.attempt> was preempted and attempt <evict.job_attempts:1.attempt> completed.",
    "While attempt <evict.job_attempts:1.attempt> completed, attempt <evict.job_attempts.attempt> was preempted after <evict.job_attempts.elapsed_s>.",
    "The job was preempted at <evict.requeue_history.event_ts>.",
    "The job was requeued <kill.job_overview.restarts> times.",
    "The job was not restarted (<kill.job_overview.restarts> restarts).",
    "The job was requeued once: <evict.job_overview.restarts> restart.",
    "The job waited <kill.job_overview.wait_s> before it started.",
    "It waited <kill.job_overview.wait_s> in the queue before it started at <kill.job_overview.start_ts>.",
    "The loss fell from <kill.loss_shape.first_loss> to <kill.loss_shape.last_loss> in the steps that were logged.",
    "Attempt <evict.job_attempts.attempt> ended before attempt <evict.job_attempts:1.attempt> started.",
    "The job started <kill.job_overview.wait_s> after its submission.",
    "The job ended as <evict.job_attempts:1.state> after <evict.job_attempts:1.elapsed_s>.",
    "The first attempt ended as <evict.job_attempts.state>.",
    "Attempt <evict.job_attempts.attempt> ran for <evict.job_attempts.elapsed_s>.",
    "The loss was at most <kill.train_summary.max_loss>.",
    "The loss was at least <kill.train_summary.min_loss>.",
    "The loss fell, from <kill.loss_shape.first_loss> to <kill.loss_shape.last_loss>.",
]  # fmt: skip


@pytest.mark.parametrize("text", [t for texts in FALSE.values() for t in texts])
def test_what_is_denied_is_no_observation(text: str, held: Book):
    """Refused as the answer; among what was seen refused or told as a hypothesis."""
    said = held.said(text)
    assert not check_answer(Answer(short=said), held.ledger, held.found).ok
    seen = Answer.model_validate({"short": held.said(GOOD), "shows": [{"text": said}]})
    report = check_answer(seen, held.ledger, held.found)
    assert not report.ok or [c.status for c in report.answer.implies] == ["hypothesis"]


@pytest.mark.parametrize("text", FALSE["the end of another"])
def test_the_end_of_another_is_no_hypothesis_either(text: str, held: Book):
    """The rows deny it."""
    answer = Answer.model_validate(
        {"short": held.said(GOOD), "implies": [{"text": held.said(text), "status": "hypothesis"}]}
    )
    report = check_answer(answer, held.ledger, held.found)
    assert not report.ok
    assert "say of each what its own row says" in report.problems[0]


@pytest.mark.parametrize("text", TRUE)
def test_an_honest_sentence_passes(text: str, held: Book):
    said = held.said(text)
    report = check_answer(Answer.model_validate({"short": said, "shows": [{"text": said}]}), held.ledger, held.found)
    assert report.ok, report.problems
    assert len(report.answer.shows) == 1


def test_a_family_s_sentence_is_taken_apart_at_its_negations():
    text = "The only exceptions are wrappers, and they explain none. No node changed, was drained or failed; the job ended."
    assert " ".join(affirmed(text).split()) == "The only exceptions are wrappers, and they . ; the job ended."
    assert refused(text) == "explain none No node changed, was drained or failed"


def test_a_negation_reaches_no_farther_than_is_sure():
    text = "It was not requeued and was cancelled, nor preempted"
    assert [w for w in text.split() if negated(text, text.index(w))] == ["requeued", "preempted"]
