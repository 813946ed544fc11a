"""What is also the last or the lowest, and what lies below another: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {"wall": ("time-limit", "73101"), "disk": ("disk-full", "4810")}
SAID = [
    ("The last loss, <kill.train_summary.last_loss>, is also the highest of the run.", "The last loss, <kill.train_summary.last_loss>, is also the lowest of the run."),
    ("The last loss, <disk.train_summary.last_loss>, is also the lowest of the run.", "The last loss, <wall.train_summary.last_loss> at step <wall.train_summary.last_step>, is also the lowest of the run."),
    ("The highest loss, <kill.loss_shape.highest_loss>, was the last one reported.", "The highest loss, <kill.loss_shape.highest_loss>, was the first one reported."),
    ("The last loss, <kill.train_summary.last_loss>, is also the lowest of all jobs.", "The last loss, <kill.train_summary.last_loss>, was the lowest of all."),
    ("The lowest loss was <disk.train_summary.min_loss>, far below the last one, <disk.train_summary.last_loss>.", "The lowest loss was <disk.train_summary.min_loss>, a little under the last one, <disk.train_summary.last_loss>."),
    ("The last loss was <disk.train_summary.last_loss>, a little under the lowest one, <disk.train_summary.min_loss>.", "The lowest loss was <disk.train_summary.min_loss>, just below the last one, <disk.train_summary.last_loss>."),
    ("The lowest loss was <kill.train_summary.min_loss>, a little under the first one, <kill.train_summary.first_loss>.", "The lowest loss was <kill.train_summary.min_loss>, well below the first one, <kill.train_summary.first_loss>."),
    ("The longest of <find_jobs:1.user>'s jobs was <find_jobs:1.job_id>, with <find_jobs.elapsed_s>.", "Job <find_jobs:1.job_id> ran for <find_jobs:1.elapsed_s>."),
    ("The loss got as high as <kill.train_summary.min_loss>.", "The loss got as high as <kill.train_summary.max_loss>."),
    ("The loss fell from <kill.loss_curve.loss> to <kill.loss_curve:2.loss> between the first two reports.", "The loss fell from <kill.loss_curve.loss> to <kill.loss_curve:1.loss> between the first two reports."),
    ("The loss rose from <kill.loss_curve.loss> to <kill.loss_curve:1.loss> between the first two reports.", "The loss fell from <kill.loss_curve:2.loss> to <kill.loss_curve:3.loss> between the last two reports."),
    ("The loss fell from <kill.loss_curve.loss> to <kill.loss_curve:1.loss> between the last two reports.", "The loss fell from <kill.loss_curve.loss> to <kill.loss_curve:1.loss>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of jobs whose loss fell, stayed high and ended at its lowest."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


test_what_is_not_the_edge_is_refused, test_what_the_row_has_twice_passes = sides(SAID)
