"""A course over rows, both of two, the first that failed, what could not be done, the same name or node, a zero that is named. False
is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "code": ("code-error", "4816"),
    "none": ("command-not-found", "4817"),
    "gone": ("cancelled-by-user", "4811"),
    "oom": ("host-memory-kill", "4804"),
    "fine": ("healthy-ddp", "4824"),
    "back": ("requeued-by-operator", "4826"),
}
SAID = [
    ("The loss was rising: <kill.loss_curve.loss>, <kill.loss_curve:1.loss>, <kill.loss_curve:2.loss>.", "The loss was falling: <kill.loss_curve.loss>, <kill.loss_curve:1.loss>, <kill.loss_curve:2.loss>."),
    ("The loss was still falling: <gone.loss_curve:3.loss> at step <gone.loss_curve:3.first_step>, <gone.loss_curve:2.loss> at step <gone.loss_curve:2.first_step>.", "The loss was still falling: <gone.loss_curve:2.loss> at step <gone.loss_curve:2.first_step>, <gone.loss_curve:3.loss> at step <gone.loss_curve:3.first_step>."),
    ("The loss was falling: <down.loss_curve:4.loss>, <down.loss_curve:5.loss>.", "The loss was rising: <down.loss_curve:4.loss>, <down.loss_curve:5.loss>."),
    ("The loss was falling to the end: <kill.loss_curve.loss>, <kill.loss_curve:1.loss>.", "The loss was falling: <kill.loss_curve:1.loss>, <kill.loss_curve:2.loss>."),
    ("The loss was not falling: <kill.loss_curve.loss>, <kill.loss_curve:1.loss>.", "The loss was falling: <kill.loss_curve.loss>, <kill.loss_curve:1.loss>."),
    ("Both ranks exited with code <kill.launcher_failures.exit_code>.", "Both ranks exited with code <code.launcher_failures.exit_code>."),
    ("Only one rank exited with code <code.launcher_failures.exit_code>.", "Rank <code.launcher_failures.rank> exited with code <code.launcher_failures.exit_code>."),
    ("All ranks got signal <kill.launcher_failures:3.signal>.", "Rank <kill.launcher_failures:3.rank> got signal <kill.launcher_failures:3.signal>."),
    ("The launcher took rank <code.launcher_failures.rank> for the first to fail.", "The launcher took rank <code.launcher_failures:1.rank> for the first to fail."),
    ("Rank <kill.launcher_failures:1.rank> was the first to fail.", "Rank <kill.launcher_failures:3.rank> was the first to fail."),
    ("Slurm could not execute the job: \"<none.slurm_messages.message>\".", "Slurm could not execute the program: \"<none.slurm_messages:1.message>\"."),
    ("Slurm could not start the node: \"<none.slurm_messages:1.message>\".", "The scheduler says \"<none.slurm_messages:1.message>\"."),
    ("The failure came from <none.slurm_messages.host>.", "Exit messages came from <none.slurm_messages.host> and <none.slurm_messages:2.host>."),
    ("A later job of the same name, <gone.similar_jobs:1.job_id>, ran on the same node, <gone.similar_jobs:1.node_list>.", "A later job of the same name, <kill.similar_jobs:1.job_id>, ran on the same node, <kill.similar_jobs:1.node_list>."),
    ("A job of the same name, <find_jobs:3.job_id>, ended as <find_jobs:3.state>.", "An earlier job with the same name, <kill.similar_jobs:2.job_id>, ended as <kill.similar_jobs:2.state>."),
    ("The rerun as job <gone.similar_jobs:1.job_id> reached step <gone.similar_jobs:1.last_step>.", "A later job, <gone.similar_jobs:1.job_id>, reached step <gone.similar_jobs:1.last_step>."),
    ("GPU <wide.gpu_summary.gpu> was throttled: its share of throttled samples was <wide.gpu_summary.severe_throttle_share>.", "The job was requeued <kill.job_overview.restarts> times."),
    ("The job was restarted at <kill.job_overview.end_ts> (<kill.job_overview.restarts>).", "The job was restarted <kill.job_overview.restarts> times."),
    ("The job exited cleanly with code <kill.job_overview.exit_code>.", "The job exited cleanly with code <fine.job_overview.exit_code>."),
    ("The program ended normally with exit code <kill.job_overview.exit_code>.", "The program ended normally with exit code <fine.job_overview.exit_code>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eleven jobs, of two of them with what ran before and after them."""
    alike = [("kill", "similar_jobs"), ("gone", "similar_jobs")]
    return book(tmp_path_factory.mktemp("lake"), MORE, besides=alike)


test_what_the_rows_do_not_say_is_refused, test_what_the_rows_say_passes = sides(SAID)
