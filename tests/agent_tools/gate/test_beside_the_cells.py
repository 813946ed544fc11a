"""What a sentence says beside its cells: whose a time is, what a state is told to have been within, what a question supposes.

Each sentence was written down before the gate was asked; the false ones passed it then, the honest ones of `TRUE` were refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Draft
from tests.agent_tools.gate.wordkit import Book, book

MORE = {
    "hang": ("collective-hang", "4831"),
    "disk": ("disk-full", "4810"),
    "cancel": ("cancelled-by-user", "4811"),
}
GOOD = "Job <kill.job_overview.job_id> ended as <kill.job_overview.state>."


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs."""
    folder: Path = tmp_path_factory.mktemp("beside")
    return book(folder, MORE)


FALSE = {
    "a time of something else": [
        "The job ended at <kill.train_summary.last_ts>.",
        "Node <down.node_failures.node> went down at <down.job_overview.start_ts>.",
        "Rank <kill.fatal_signals:1.rank> was signalled at <kill.job_overview.end_ts>.",
        "Training began at <kill.job_overview.start_ts>.",
        "The preemption was at <evict.job_attempts:1.start_ts>.",
        "Attempt <evict.job_attempts:1.attempt> was preempted at <evict.requeue_history.event_ts>.",
        "The step <kill.train_summary.last_step> had a loss of <kill.train_summary.first_loss>.",
        "Rank <wide.process_exits:2.rank> was the first to be signalled, at <wide.fatal_signals:1.signal_ts>.",
        "The job ran out of time at <disk.job_overview.end_ts>.",
    ],
    "what befell a machine after the run": [
        "Node <kill.node_failures.node> was <kill.node_failures.state> when job <kill.job_overview.job_id> ended.",
        "Job <kill.job_overview.job_id> ran on <kill.node_failures.node>, which was <kill.node_failures.state> with the reason <kill.node_failures.reason>.",
        "Node <kill.node_failures.node> had <kill.node_failures.reason>; rank <kill.fatal_signals:1.rank> on it was ended by <kill.fatal_signals:1.signal_name>.",
        "# Cause\nnode <kill.node_failures.node>, <kill.node_failures.reason>",
        "**Root cause**: <kill.node_failures.reason>",
        "The node <hang.node_failures.node> was <hang.node_failures.state> during the hang.",
        "Root cause: <kill.node_failures.reason>, <kill.node_failures.state> at <kill.node_failures.since_ts>.",
    ],
    "links that no finding makes": [
        "GPU <wide.gpu_events.gpu_uuid> throttled, and the job went down with <wide.job_overview.state>.",
        "Rank <wide.rank_compare.rank> used GPU <wide.gpu_events.gpu_uuid>, which had <wide.gpu_events.event>.",
        "The throttling rank is <wide.rank_compare.rank>, <wide.gpu_events.message>.",
        "The OOM killer sent <kill.fatal_signals:1.signal_name> to rank <kill.fatal_signals:1.rank>.",
        "Slurm ended the job for <disk.exceptions.name>.",
        "Ranks: <wide.process_exits.rank>, <wide.process_exits:1.rank>, <wide.process_exits:3.rank>. Signals: <wide.process_exits:2.exit_signal>.",
        "Rank <kill.launcher_failures:3.rank> exited by itself with <kill.launcher_failures:3.exit_code>.",
    ],
    "denials and names": [
        "Job <kill.job_overview.job_id> did not fail: Slurm recorded <kill.job_overview.state>.",
        "The job was not cancelled; its user <cancel.job_overview.user> ended it with state <cancel.job_overview.state>.",
        "The whole job ran on <wide.job_nodes.node>.",
        "Verdict: <wide.gpu_events.gpu_uuid>.",
        "The answer is <find_jobs.node_list>.",
        "Rank <wide.rank_compare.rank> spent <wide.rank_compare.sync_s> per step in synchronising calls.",
        "The job was requeued <evict.job_overview.attempts> times.",
        "Rank <wide.rank_compare:2.rank> completed the most collectives, <wide.rank_compare:2.completed>.",
    ],
}  # fmt: skip

TRUE = [
    "It held <hang.job_overview.gpus> GPUs on <hang.job_overview.node_list>.",
    "<kill.fatal_signals:1.signal_name> ended rank <kill.fatal_signals:1.rank>, <kill.fatal_signals.signal_name> ended ranks <kill.fatal_signals.all_ranks>.",
    "The first rank to end was <wide.process_exits.rank>, at <wide.process_exits.end_ts>.",
    "The log records no out-of-memory error: <disk.run_ending.cuda_ooms>.",
    "Slurm counts no restarts (<hang.job_overview.restarts>).",
    "No training was reported for <hang.quiet_end.quiet_min> before the end.",
    "GPU <wide.gpu_summary:2.gpu_uuid> used <wide.gpu_summary:2.peak_gib> of <wide.gpu_summary:2.total_gib> at its peak.",
    "Of the <nan.loss_shape.points> loss reports <nan.loss_shape.bad_points> were not finite.",
    "The GPU metrics of this job were not collected: <kill.coverage_nodes:2.table>, present: <kill.coverage_nodes:2.present>.",
    "After <hang.quiet_end.progress_ts> the log is quiet for <hang.quiet_end.quiet_min> until the job ended at <hang.quiet_end.end_ts>.",
    "After the job, at <hang.node_failures.since_ts>, node <hang.node_failures.node> went <hang.node_failures.state>.",
    "Rank <wide.process_exits.rank> ended at <wide.process_exits.end_ts>, before rank <wide.process_exits:2.rank> at <wide.process_exits:2.end_ts>.",
    "Attempt <evict.job_attempts:1.attempt> ran from <evict.job_attempts:1.start_ts> to <evict.job_attempts:1.end_ts> and ended as <evict.job_attempts:1.state>.",
    "The loss at the end was <hang.loss_shape.last_loss>.",
    "The first process ended at <wide.process_exits.end_ts>, the last at <wide.process_exits:3.end_ts>.",
    "GPU <wide.gpu_events.gpu_uuid> on node <wide.gpu_events.node> had the event <wide.gpu_events.event> at <wide.gpu_events.event_ts>.",
]  # fmt: skip


@pytest.mark.parametrize("text", [t for texts in FALSE.values() for t in texts])
def test_a_false_sentence_is_no_observation(text: str, held: Book):
    """Refused as the answer; among what was seen, in an answer and in a verdict, refused or told as a hypothesis."""
    said = held.said(text)
    assert not check_answer(Answer(short=said), held.ledger, held.found).ok
    seen = Answer.model_validate({"short": held.said(GOOD), "shows": [{"text": said}]})
    report = check_answer(seen, held.ledger, held.found)
    assert not report.ok or [c.status for c in report.answer.implies] == ["hypothesis"]
    judged = Gate().check(_draft(held, shows=[{"text": held.said(GOOD)}, {"text": said}]), held.ledger, held.found)
    assert not judged.ok or len(judged.draft.shows) == 1


@pytest.mark.parametrize("text", TRUE)
def test_an_honest_sentence_passes(text: str, held: Book):
    said = held.said(text)
    seen = Answer.model_validate({"short": said, "shows": [{"text": said}]})
    report = check_answer(seen, held.ledger, held.found)
    assert report.ok, report.problems
    assert [c.text for c in report.answer.shows] == [report.answer.short]


@pytest.mark.parametrize(
    "text",
    [
        "Whether the faulty GPU <wide.gpu_events.gpu_uuid> had failed before.",
        "Why node <kill.node_failures.node> broke the job.",
        "When the switch went down.",
        "Nothing else could have ended it than the GPU.",
        "Why the loss rose.",
    ],
)
def test_what_is_open_supposes_nothing(text: str, held: Book):
    """A question can claim, too: that there is a faulty card, that the node did it, that the switch went down."""
    missing = [{"text": held.said(text), "signal": "the kernel log"}]
    answer = Answer.model_validate({"short": held.said(GOOD), "cannot_answer": missing})
    assert not check_answer(answer, held.ledger, held.found).ok


@pytest.mark.parametrize("text", ["Whether the GPU is faulty.", "Whether the job was killed."])
def test_what_is_open_may_be_asked(text: str, held: Book):
    missing = [{"text": text, "signal": "the kernel log"}]
    answer = Answer.model_validate({"short": held.said(GOOD), "cannot_answer": missing})
    assert check_answer(answer, held.ledger, held.found).problems == []


@pytest.mark.parametrize(
    "text",
    [
        "Replace GPU <wide.gpu_events.gpu_uuid>.",
        "Drain node <kill.node_failures.node> and RMA its card.",
        "Fix the memory leak in the dataloader.",
    ],
)
def test_advice_supposes_no_fault_that_was_not_found(text: str, held: Book):
    sound = [a for a in held.found if a.code not in ("B2", "B3", "F1")]
    assert not Gate().check(_draft(held, actions=[{"text": held.said(text)}]), held.ledger, sound).ok


def test_advice_may_mend_what_was_found(held: Book):
    actions = [c.model_dump() for a in held.found if a.status == "confirmed" for c in a.actions]
    assert actions
    assert Gate().check(_draft(held, actions=actions), held.ledger, held.found).problems == []


def test_a_lost_node_lets_no_other_machine_be_blamed(held: Book):
    """A finding that blames one machine is no leave to blame another."""
    assert any(a.code == "F1" and a.status == "confirmed" for a in held.found)
    said = held.said("GPU <wide.gpu_events.gpu_uuid> probably failed.")
    judged = Gate().check(_draft(held, shows=[{"text": held.said(GOOD)}, {"text": said}]), held.ledger, held.found)
    assert any("blames hardware" in p for p in judged.problems)


def _draft(held: Book, **fields: object) -> Draft:
    base = {"family": "U0", "confidence": 0.4, "attribution": "undetermined", "headline": held.said(GOOD)}
    return Draft.model_validate({**base, "shows": [{"text": held.said(GOOD)}], **fields})
