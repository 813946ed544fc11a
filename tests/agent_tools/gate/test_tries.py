"""What is told of a job's attempts, and of the job for which one waits: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "again": ("requeued-by-operator", "4826"),
    "wall": ("time-limit", "73101"),
    "dep": ("dependency-never-satisfied", "4819"),
}
SAID = [
    ("The job was preempted once and completed in its second attempt, as <again.job_overview.state>.", "The job was requeued once and completed in its second attempt, as <again.job_overview.state>."),
    ("The job was requeued twice and completed in its second attempt, as <again.job_overview.state>.", "The job was requeued once and completed in its last attempt, as <again.job_overview.state>."),
    ("The job was preempted once and failed in its second attempt: <evict.job_overview.state>.", "The job was preempted once and completed in its second attempt, as <evict.job_overview.state>."),
    ("The job completed in its first attempt, as <evict.job_overview.state>.", "The job completed in its second attempt, as <evict.job_overview.state>."),
    ("The job was cancelled once and completed in its second attempt, as <evict.job_overview.state>.", "The job timed out in its second attempt, as <wall.job_overview.state>."),
    ("The job was preempted once, in its first attempt: <kill.job_overview.state>.", "The job ended as <kill.job_overview.state>."),
    ("The second attempt's first report came at <again.job_attempts.start_ts>.", "The first attempt started at <again.job_attempts.start_ts>."),
    ("The first attempt used <again.job_attempts.memory_bytes> of memory.", "The first attempt ran on <again.job_attempts.node_list>."),
    ("The first attempt resumed from <again.checkpoints.path>.", "The second attempt resumed from <again.checkpoints.path>."),
    ("The first attempt's first report is for step <again.train_summary.first_step>.", "The second attempt resumed from <again.checkpoints.path>, and its first report is for step <again.train_summary.first_step>."),
    ("The third attempt held its GPU for <wall.requeue_history.earlier_gpu_hours>.", "The first attempt held <wall.requeue_history.earlier_gpu_hours> of GPU time."),
    ("The second attempt held <wall.requeue_history.earlier_gpu_hours> of GPU time.", "The first attempt held <evict.requeue_history.earlier_gpu_hours> of GPU time."),
    ("The second attempt started <wall.requeue_history.waited_min> before the first had ended.", "The second attempt started <wall.requeue_history.waited_min> after the first had ended."),
    ("The third attempt started <wall.requeue_history.waited_min> after the second had ended.", "The last attempt started <wall.requeue_history.waited_min> after the previous one had ended."),
    ("The second attempt ended <wall.requeue_history.waited_min> after the first had ended.", "The second attempt started <evict.requeue_history.waited_min> after the first had ended."),
    ("The first attempt completed on <again.job_attempts.node_list>; the second ended as <again.job_attempts.state>.", "The first attempt ended as <again.job_attempts.state> on <again.job_attempts.node_list>; the second completed on <again.job_attempts:1.node_list>."),
    ("The first attempt ended as <again.job_attempts.state> on <again.job_attempts.node_list>; the third completed on <again.job_attempts:1.node_list>.", "The first attempt ended as <again.job_attempts.state>."),
    ("The job waits for job <kill.job_overview.job_id> (<dep.job_overview.dependency>).", "Job <dep.job_overview.job_id> is <dep.job_overview.state>."),
    ("The job was sent back to the queue twice, and its second attempt completed as <again.job_attempts:1.state>.", "The job was sent back to the queue once and completed on another node, <again.job_attempts:1.node_list>."),
    ("The job was sent back to the queue once and completed on another node, <evict.job_attempts:1.node_list>.", "The job was sent back to the queue once and completed on node <evict.job_attempts:1.node_list>."),
    ("Job <evict.job_overview.job_id> was preempted once and completed in its third attempt.", "Job <evict.job_overview.job_id> was preempted once and completed in its second attempt."),
    ("Job <find_jobs:7.job_id> was preempted once and completed in its second attempt.", "Job <again.job_overview.job_id> was requeued once and completed in its second attempt."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of jobs that were preempted, requeued, timed out twice, and wait."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


test_what_no_attempt_bears_out_is_refused, test_what_the_attempts_say_passes = sides(SAID)
