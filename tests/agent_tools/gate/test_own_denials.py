"""What a row denies in its own text, what has not begun, and small words that a column says: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "wait": ("dependency-never-satisfied", "4819"),
    "few": ("too-few-steps", "4806"),
    "wall": ("time-limit", "73101"),
    "disk": ("disk-full", "4810"),
    "hang": ("collective-hang", "4831"),
}
FLEET = ("nodes_free",)
BESIDES = [("wall", "loss_curve"), ("few", "end_words")]
SAID = [
    ("Its dependency <wait.job_overview.dependency> can never be met.", "Its dependency <wait.job_overview.dependency> can never be satisfied."),
    ("The job ended as <few.job_overview.state>, and its dependency was never satisfied.", "The reason is <wait.job_overview.state_reason>: its dependency was never satisfied."),
    ("Its dependency <wait.job_overview.dependency> was satisfied.", "The reason is <wait.job_overview.state_reason>."),
    ("The user's signal ended the other <hang.job_overview.gpus> ranks.", "The job asked for <wait.job_overview.gpus> GPU."),
    ("All of the cluster's <nodes_free.all_gpus> GPUs are free.", "Of the cluster's <nodes_free.all_gpus> GPUs, <nodes_free.all_free> are free."),
    ("No space was left on the node (line <disk.other_events.line_no>).", "No space was left on the device: line <disk.other_events:1.line_no> of the log says so."),
    ("No space was left on the device: line <few.end_words.save_line> of the log says so.", "Line <few.end_words.save_line> of the log says that the model was saved."),
    ("The job is <wait.job_overview.state>: it has not failed.", "The job is <wait.job_overview.state>: it has not started."),
    ("The job ended as <few.job_overview.state>: it has not started.", "The job was not started: it is <wait.job_overview.state>."),
    ("It has not started, unlike job <find_jobs:3.job_id>, which is <find_jobs:3.state>.", "The job has not begun: it is <wait.job_overview.state>."),
    ("The job used <few.job_overview.limit_used> of its limit, so the limit was exceeded.", "The job used <wall.job_overview.limit_used> of its limit, so the limit was exceeded."),
    ("The job used <wall.job_overview.limit_used> of its limit, so the limit was never exceeded.", "The job exceeded its limit: it used <wall.job_overview.limit_used> of it."),
    ("The loss at the second report was <wall.loss_curve.loss>, at the third <wall.loss_curve:2.loss>.", "The loss at the first report was <wall.loss_curve.loss>, at the third <wall.loss_curve:2.loss>."),
    ("The loss at the first report was <wall.loss_curve:2.loss>, at the third <wall.loss_curve.loss>.", "The loss at the second report was <wall.loss_curve:1.loss>, at the third <wall.loss_curve:2.loss>."),
    ("The loss at the first report was <wall.loss_curve.loss>, at the last <wall.loss_curve:2.loss>.", "The loss at the first report was <wall.loss_curve.loss>, at the second <wall.loss_curve:1.loss>."),
    ("Of the cluster's <nodes_free.all_gpus> GPUs, <nodes_free.nodes_free> are free.", "Of the cluster's <nodes_free.all_gpus> GPUs, <nodes_free.all_free> are free."),
    ("The first attempt ended at <wall.job_attempts:1.end_ts>, the second at <wall.job_attempts.end_ts>.", "The first attempt ended at <wall.job_attempts.end_ts>, the second at <wall.job_attempts:1.end_ts>."),
    ("The first attempt ended at <wall.job_attempts.end_ts>, the second at <wall.job_attempts:1.start_ts>.", "The first attempt ended at <wall.job_attempts.end_ts>, the second at <wall.job_attempts:1.end_ts>."),
    ("The job covered <few.job_overview.limit_used> of an epoch.", "It covered <few.short_run.last_epoch> of an epoch."),
    ("The program says that it lost its model: \"<few.end_words.save_text>\".", "The program says that it saved its model: \"<few.end_words.save_text>\"."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of ten jobs, and what the cluster has free."""
    return book(tmp_path_factory.mktemp("lake"), MORE, fleet=FLEET, besides=BESIDES)


test_what_the_rows_do_not_say_is_refused, test_what_the_rows_say_passes = sides(SAID)


def shares(second: float) -> Ledger:
    """Two GPUs and their shares of throttled samples."""
    held = Ledger()
    columns = {"node": "", "gpu": "", "severe_throttle_share": "ratio"}
    held.record(result("gpu_summary", columns, [("n1", 0, 0.0), ("n1", 1, second)]), "gpu_summary", {})
    held.show_all()
    return held


NONE = "None of the GPUs was throttled: the share of throttled samples was [[E1.severe_throttle_share]] and [[E1:1.severe_throttle_share]]."
GOOD = "GPU [[E1.gpu]] of [[E1.node]] is listed."


def test_none_was_throttled_where_each_share_is_zero() -> None:
    assert passes(NONE, shares(0.0), GOOD)
    assert not passes(NONE, shares(0.2), GOOD)
    assert not passes(NONE.replace("None of the GPUs was", "Each of the GPUs was"), shares(0.0), GOOD)
    assert not passes(NONE.replace(" and [[E1:1.severe_throttle_share]]", ""), shares(0.2), GOOD)
