"""Who made what, whose end it is, and of which part a figure: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book

MORE = {
    "oom": ("host-memory-kill", "4804"),
    "cut": ("cut-json-line", "4812"),
    "meet": ("no-rendezvous-torchrun", "4825"),
    "late": ("time-limit", "73101"),
}
MADE = [
    ("<cut.exceptions:1.name> threw <cut.exceptions.name>.", "The job raised <cut.exceptions.name>."),
    ("The exception <cut.exceptions:2.name> raised the exception <cut.exceptions.name>.", "The job raised <meet.exceptions.name>."),
    ("<cut.exceptions.name> was raised by <cut.exceptions:1.name>.", "<meet.exceptions.name> was raised."),
    ("<meet.exceptions.cause_name> came because of <meet.exceptions.name>.", "<meet.exceptions.name> came because of <meet.exceptions.cause_name>."),
    ("<meet.exceptions.name> led to <meet.exceptions.cause_name>.", "<meet.exceptions.cause_name> led to <meet.exceptions.name>."),
    ("<cut.exceptions.cause_name> was the result of <cut.exceptions.name>.", "<cut.exceptions.name> was the result of <cut.exceptions.cause_name>."),
    ("Node <oom.job_overview.node_list> forced the task to exit with code <oom.job_overview.exit_code>.", "The job exited with code <oom.job_overview.exit_code>."),
    ("Rank <kill.fatal_signals:1.rank> made its step fail with code <kill.slurm_messages.exit_code>.", "Rank <kill.fatal_signals:1.rank> got signal <kill.fatal_signals:1.signal>."),
    ("Node <down.slurm_messages.host> failed and brought <down.slurm_messages:1.host> down.", "Node <down.node_failures.node> was <down.node_failures.state> at <down.node_failures.since_ts>."),
    ("Node <down.node_failures.node> pulled <down.slurm_messages:1.host> down with it.", "Node <down.node_failures.node> was <down.node_failures.state>."),
    ("The job ended as <oom.job_steps.state>.", "The job ended as <oom.job_overview.state>."),
    ("The run was recorded as <oom.job_steps.state> by Slurm.", "The run was recorded as <oom.job_overview.state> by Slurm."),
    ("The step ended as <oom.job_overview.state>.", "The step ended as <oom.job_steps.state>."),
    ("Step <oom.job_steps.step_id> was recorded as <oom.job_overview.state>.", "Step <oom.job_steps.step_id> was recorded as <oom.job_steps.state>."),
    ("The step ended as <oom.job_overview.state>, the job as <oom.job_steps.state>.", "The step ended as <oom.job_steps.state>, the job as <oom.job_overview.state>."),
    ("Training reports began at <late.train_summary.last_ts>.", "The first report came at <kill.train_summary.first_ts>."),
    ("Reports started to come at <down.train_summary.last_ts>.", "The first report came at <down.train_summary.first_ts>."),
    ("A step took <down.save_pace.early_s> late in the run, and <down.save_pace.late_s> early in it.", "A step took <down.save_pace.late_s> late in the run, and <down.save_pace.early_s> early in it."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of nine jobs: `oom` failed by a step that ran out of memory, `meet` raised one exception from another."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


@pytest.mark.parametrize("text", [false for false, _ in MADE])
def test_what_no_row_says_of_two_is_refused(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", sorted({true for _, true in MADE}))
def test_what_a_row_says_passes(shown: Book, text: str) -> None:
    assert shown.passes(text)
