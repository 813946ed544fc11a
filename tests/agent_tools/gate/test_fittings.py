"""Small words that are so where the row says it: every, only one, own, up to, under, became, itself, reads. False is refused, and
its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.gate.words import stems
from tests.agent_tools.gate.wordkit import Book, book

MORE = {
    "code": ("code-error", "4816"),
    "full": ("disk-full", "4810"),
    "none": ("command-not-found", "4817"),
    "gone": ("cancelled-by-user", "4811"),
    "oom": ("host-memory-kill", "4804"),
    "fine": ("healthy-ddp", "4824"),
}
FITTINGS = [
    ("The job was cancelled by its own user after <kill.job_overview.elapsed_s>.", "The job was cancelled by its own user after <gone.job_overview.elapsed_s>."),
    ("The innermost frame of the user's own code is <code.exceptions.frame>.", "The innermost frame of the user's own code is <code.exceptions.user_frame>."),
    ("The user's code fails in <full.exceptions.frame>.", "The program raised <full.exceptions.name> at <full.exceptions.user_frame>."),
    ("The program of node <code.job_overview.node_list> ended.", "The program itself says \"<fine.short_run.end_message>\"."),
    ("The program read \"<none.end_words.last_text>\".", "The last line of the log reads \"<none.end_words.last_text>\"."),
    ("Node <fine.node_failures.node> went down <fine.node_failures.after_end_s> before the job had ended.", "Node <fine.node_failures.node> went down only <fine.node_failures.after_end_s> after the job had ended."),
    ("Node <kill.node_failures.node> became <kill.node_failures.state> <kill.node_failures.after_end_s> after the job's start.", "Node <kill.node_failures.node> became <kill.node_failures.state> <kill.node_failures.after_end_s> after the job's end."),
    ("Node <kill.node_failures.node> was <kill.node_failures.state> for <kill.node_failures.after_end_s>.", "Node <kill.node_failures.node> was <kill.node_failures.state> <kill.node_failures.after_end_s> after the end of the job."),
    ("Node <kill.node_failures.node> became idle <kill.node_failures.after_end_s> after the job had ended.", "Node <down.node_failures.node> became <down.node_failures.state>."),
    ("Every loss in the log is finite: <nan.loss_shape.finite_points> of <nan.loss_shape.points>.", "Every loss in the log is finite: <full.loss_shape.finite_points> of <full.loss_shape.points>."),
    ("All losses are bad: <nan.loss_shape.bad_points> of <nan.loss_shape.points>.", "All losses are finite (<evict.loss_shape.finite_points> of <evict.loss_shape.points>)."),
    ("Every norm is finite: <full.loss_shape.finite_points> of <full.loss_shape.points>.", "Each loss is finite: <kill.loss_shape.finite_points> of <kill.loss_shape.points>."),
    ("Reports came every <down.quiet_end.quiet_s>.", "Reports usually came every <down.quiet_end.usual_gap_s>."),
    ("A checkpoint was saved every <evict.checkpoints.step> steps.", "The checkpoint is of step <evict.checkpoints.step>."),
    ("A step ended every <kill.job_overview.wait_s>.", "A report usually came every <kill.quiet_end.usual_gap_s>."),
    ("The mean temperature was up to <wide.gpu_summary:3.temp_max_c>.", "The temperature went up to <wide.gpu_summary:3.temp_max_c>."),
    ("The power went up to <wide.gpu_summary:3.power_mean_w>.", "The mean power was <wide.gpu_summary:3.power_mean_w>."),
    ("All ranks had completed the same number of collectives, <wide.rank_compare.completed>.", "Rank <wide.rank_compare.rank> had completed <wide.rank_compare.completed> collectives."),
    ("Only one node is down: <down.job_nodes.node>.", "Only one node was in trouble: <nodes_in_trouble.node>."),
    ("Only one job failed: <find_jobs.job_id>.", "Job <find_jobs.job_id> ended as <find_jobs.state>."),
    ("Only one node was not in trouble: <nodes_in_trouble.node>.", "Only one node was in trouble, <nodes_in_trouble.node>."),
    ("The job itself ended as <oom.job_steps.state>, while the step itself ended as <oom.job_overview.state>.", "The step ended as <oom.job_steps.state> while the job itself ended as <oom.job_overview.state>."),
    ("The launcher sent process <kill.launcher_failures.pid> the signal <kill.launcher_failures.signal>.", "The launcher sent process <kill.launcher_failures:4.pid> the signal <kill.launcher_failures:4.signal>."),
    ("Process <kill.launcher_failures:4.pid> sent the signal <kill.launcher_failures:4.signal>.", "The log is only <none.end_words.lines> lines long."),
    ("Slurm sent process <kill.launcher_failures:4.pid> the signal <kill.launcher_failures:4.signal>.", "Process <kill.launcher_failures:4.pid> was sent signal <kill.launcher_failures:4.signal> by the launcher."),
    ("Slurm sent <kill.launcher_failures:4.name> to process <kill.launcher_failures:4.pid>.", "The launcher sent process <kill.launcher_failures:5.pid> the signal <kill.launcher_failures:5.signal>."),
    ("The model was initialised from <gone.checkpoints:1.path>.", "The model was initialised from scratch, says line <gone.checkpoints.line_no>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eleven jobs, and the nodes in trouble."""
    return book(tmp_path_factory.mktemp("lake"), MORE, ("nodes_in_trouble",))


@pytest.mark.parametrize("text", [false for false, _ in FITTINGS])
def test_a_small_word_that_no_row_says_is_refused(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", sorted({true for _, true in FITTINGS}))
def test_a_small_word_that_the_row_says_passes(shown: Book, text: str) -> None:
    assert shown.passes(text)


def test_a_word_is_one_in_both_ways_of_writing_it() -> None:
    assert stems("initialising utilised") == stems("Initializing utilized")
    assert stems("size") != stems("sis")
    assert stems("losses") == stems("loss")
