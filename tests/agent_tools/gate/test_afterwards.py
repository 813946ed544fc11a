"""What came later, only after the job, again, or so long after its own start, and small words: false is refused, its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "hang": ("collective-hang", "4831"),
    "stop": ("cancelled-by-user", "4811"),
    "back": ("requeued-by-operator", "4826"),
}
SAID = [
    ("Training stopped reporting at <hang.quiet_end.progress_ts>, and the job ended at <hang.quiet_end.end_ts>, <hang.quiet_end.run_min> later.", "Training stopped reporting at <hang.quiet_end.progress_ts>, and the job ended at <hang.quiet_end.end_ts>, <hang.quiet_end.quiet_min> later."),
    ("The job ended at <hang.quiet_end.end_ts>, and training stopped reporting at <hang.quiet_end.progress_ts>, <hang.quiet_end.quiet_s> later.", "Training stopped reporting at <hang.quiet_end.progress_ts>, and the job ended at <hang.quiet_end.end_ts>, <hang.quiet_end.quiet_s> later."),
    ("The job started at <hang.quiet_end.start_ts>, and it ended at <hang.quiet_end.end_ts>, <hang.quiet_end.quiet_min> later.", "The job started at <hang.quiet_end.start_ts>, and it ended at <hang.quiet_end.end_ts>, <hang.quiet_end.run_min> later."),
    ("Node <down.node_failures.node> went down only after the job had ended, at <down.node_failures.since_ts>.", "Node <hang.node_failures.node> went down only after the job had ended, at <hang.node_failures.since_ts>."),
    ("Training stopped reporting only after the job had ended, at <hang.quiet_end.progress_ts>.", "Training stopped reporting at <hang.quiet_end.progress_ts>."),
    ("Process <wide.process_exits.pid> died <wide.process_exits:1.lived_s> after its start.", "Process <wide.process_exits.pid> died <wide.process_exits.lived_s> after its start."),
    ("The job ended <wide.process_exits.lived_s> after its start.", "Process <wide.process_exits:1.pid> ended <wide.process_exits:1.lived_s> after it had begun."),
    ("Job <stop.job_overview.job_id> was cancelled by <kill.job_overview.user> himself.", "The job was cancelled by <stop.job_attempts.cancelled_by> himself."),
    ("The job was started again at <back.job_attempts.start_ts>.", "The job was started again at <back.job_attempts:1.start_ts>."),
    ("Slurm started the job again at <kill.job_overview.start_ts>.", "Slurm started the job again at <evict.job_attempts:1.start_ts>."),
    ("Slurm started the job again at <evict.job_attempts:1.end_ts>.", "Slurm started the job again on node <evict.job_attempts:1.node_list>."),
    ("The job has not ended yet, the last report is for step <hang.train_summary.last_step>.", "The plan was <hang.train_summary.total_steps> steps, yet the last report is for step <hang.train_summary.last_step>."),
    ("The log confirms a crash: \"<stop.slurm_messages.message>\".", "The log confirms it: \"<stop.slurm_messages.message>\"."),
    ("The log confirms it: <stop.job_overview.state>.", "The log confirms this: \"<stop.slurm_messages.message>\" (line <stop.slurm_messages.line_no>)."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


test_what_did_not_come_so_is_refused, test_what_came_so_by_the_rows_passes = sides(SAID)
