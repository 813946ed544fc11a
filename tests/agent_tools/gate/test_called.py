"""A cell that is told as its neighbour, and a state that is over as one that lasts: refused, and the true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book

MORE = {"cut": ("cut-json-line", "4812"), "late": ("time-limit", "73101"), "well": ("healthy", "4807")}
CALLED = [
    ("The gradient norm began at <evict.loss_shape.highest_grad_norm>.", "The gradient norm began at <evict.loss_shape.start_grad_norm>."),
    ("The gradient norm ended at <nan.loss_shape.highest_grad_norm>.", "The gradient norm ended at <nan.loss_shape.end_grad_norm>."),
    ("The loss started at <well.loss_shape.start_grad_norm>.", "The loss started at <well.loss_shape.start_loss>."),
    ("A step took <evict.short_run.rate>.", "The rate was <evict.short_run.rate>."),
    ("The run made <nan.short_run.samples> steps.", "Its reports number <nan.short_run.reports>."),
    ("Step <well.short_run.total_steps> had been reached by then.", "Of <late.train_summary.reports> reports the last was of step <late.train_summary.last_step>."),
    ("The user had asked for <late.job_overview.elapsed_min>.", "The time limit was <late.job_overview.time_limit_min>."),
    ("The job was ended by signal <kill.job_overview.exit_signal>.", "The job ended with exit signal <kill.job_overview.exit_signal>."),
    ("The step got signal <well.job_steps.exit_signal>.", "The step ended as <well.job_steps.state>."),
    ("The second attempt was ended by signal <evict.job_overview.derived_exit_signal>.", "The job ended as <evict.job_overview.state>."),
    ("User <kill.job_overview.name> ran job <kill.job_overview.job_id>.", "User <kill.job_overview.user> ran job <kill.job_overview.job_id>."),
    ("<kill.job_overview.state_reason> submitted job <kill.job_overview.job_id>.", "<kill.job_overview.user> submitted job <kill.job_overview.job_id>."),
    ("The exception ends at line <cut.exceptions:1.line_no>.", "The exception stands at line <cut.exceptions:1.line_no>."),
    ("The exception begins on line <cut.exceptions:1.line_end>.", "The exception begins on line <cut.exceptions:1.line_no>."),
    ("The log is <late.checkpoints:1.path>.", "The log is <cut.exceptions.file>."),
    ("Node <nodes_in_trouble.node> is <nodes_in_trouble.state> for now.", "Node <nodes_in_trouble.node> was <nodes_in_trouble.state>."),
    ("Node <nodes_in_trouble.node> is now <nodes_in_trouble.state>.", "Node <nodes_in_trouble.node> was <nodes_in_trouble.state> from <nodes_in_trouble.begin_ts>."),
    ("Since <nodes_in_trouble.begin_ts> node <nodes_in_trouble.node> is <nodes_in_trouble.state>.", "At <nodes_in_trouble.begin_ts> node <nodes_in_trouble.node> was <nodes_in_trouble.state>."),
    ("Node <kill.job_overview.node_list> is still allocated to job <kill.job_overview.job_id>.", "Node <kill.job_overview.node_list> was allocated to job <kill.job_overview.job_id>."),
    ("Its gradient norm had begun at <evict.loss_shape.end_grad_norm>.", "The gradient norm began at <evict.loss_shape.start_grad_norm>."),
    ("Job <find_jobs.job_id> was submitted by <find_jobs.partition>.", "Job <find_jobs.job_id> was submitted by <find_jobs.user>."),
    ("Node <kill.job_nodes.node> holds job <kill.job_overview.job_id>.", "Node <kill.job_nodes.node> was allocated to job <kill.job_overview.job_id>."),
    ("Job <kill.job_overview.job_id> is on node <kill.job_overview.node_list>.", "Job <kill.job_overview.job_id> was on node <kill.job_overview.node_list>."),
    ("Its steps were made in <evict.short_run.rate>.", "Its rate was <evict.short_run.rate>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs, and the nodes in trouble."""
    return book(tmp_path_factory.mktemp("lake"), MORE, ("nodes_in_trouble",))


@pytest.mark.parametrize("text", [false for false, _ in CALLED])
def test_a_cell_is_not_its_neighbour(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", sorted({true for _, true in CALLED}))
def test_a_cell_is_what_its_row_has_it_for(shown: Book, text: str) -> None:
    assert shown.passes(text)
