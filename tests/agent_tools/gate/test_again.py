"""What came again, went back to the queue, came before or is over: the rows tell; false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book

MORE = {"back": ("requeued-by-operator", "4826"), "oom": ("host-memory-kill", "4804"), "fine": ("healthy-ddp", "4824")}
AGAIN = [
    ("The rerun waited <back.job_attempts.wait_s>.", "The rerun waited <back.job_attempts:1.wait_s>."),
    ("The re-run ended as <evict.job_attempts.state>.", "The re-run ended as <evict.job_attempts:1.state>."),
    ("The rerun ran on <kill.job_attempts.node_list>.", "The rerun ran on <back.job_attempts:1.node_list>."),
    ("The rerun lasted <nan.job_overview.elapsed_s>.", "The rerun lasted <evict.job_overview.elapsed_s>."),
    ("Its rerun started at <evict.job_attempts.start_ts>.", "Its rerun started at <evict.job_attempts:1.start_ts>."),
    ("The rerun of job <find_jobs.job_id> ran on <find_jobs.node_list>.", "The rerun of job <back.job_overview.job_id> ran on <back.job_overview.node_list>."),
    ("The rerun had reached step <evict.checkpoints.step>.", "The rerun resumed from step <evict.checkpoints.step>."),
    ("The first attempt lasted <evict.job_attempts:1.elapsed_s>, the rerun <evict.job_attempts.elapsed_s>.", "The first attempt lasted <evict.job_attempts.elapsed_s>, the rerun <evict.job_attempts:1.elapsed_s>."),
    ("The job was sent back to the queue at <back.job_attempts:1.end_ts>.", "The job was sent back to the queue at <back.job_attempts.end_ts>."),
    ("The job went back to the queue at <kill.job_overview.end_ts>.", "The job went back to the queue at <evict.requeue_history.event_ts>."),
    ("It was put back into the queue at <evict.job_attempts:1.start_ts>.", "It was put back into the queue at <evict.job_attempts.end_ts>."),
    ("Job <kill.job_overview.job_id> was sent back to the queue.", "Job <evict.job_overview.job_id> was sent back to the queue."),
    ("The job was not sent back to the queue at <evict.job_attempts.end_ts>.", "The job was sent back to the queue at <evict.job_attempts.end_ts>."),
    ("The rerun was started by user <back.job_attempts:1.user>.", "The rerun started at <back.job_attempts:1.start_ts>."),
    ("The job was sent back to the queue by <evict.job_overview.user> at <evict.job_attempts.end_ts>.", "At <evict.job_attempts.end_ts> the job was sent back to the queue."),
    ("The job was preempted by its node at <evict.job_attempts.end_ts>.", "The job was preempted at <evict.job_attempts.end_ts>."),
    ("The rank was ended by the machine with signal <kill.fatal_signals:1.signal>.", "The rank was ended by signal <kill.fatal_signals:1.signal>."),
    ("An operator sent the job back to the queue at <evict.job_attempts.end_ts>.", "The job went back to the queue at <evict.job_attempts.end_ts>."),
    ("An earlier job, <kill.similar_jobs:1.job_id>, ended as <kill.similar_jobs:1.state>.", "A later job, <kill.similar_jobs:1.job_id>, ended as <kill.similar_jobs:1.state>."),
    ("A subsequent job, <kill.similar_jobs:2.job_id>, ended at step <kill.similar_jobs:2.last_step>.", "A previous job, <kill.similar_jobs:2.job_id>, ended at step <kill.similar_jobs:2.last_step>."),
    ("An earlier job, <evict.similar_jobs:1.job_id>, ended as <evict.similar_jobs:1.state>.", "An earlier job, <kill.similar_jobs:2.job_id>, ran on <kill.similar_jobs:2.node_list>."),
    ("An earlier job, <find_jobs:3.job_id>, ended as <find_jobs:3.state>.", "Job <find_jobs:3.job_id> ended as <find_jobs:3.state>."),
    ("Node <nodes_in_trouble.node> is no longer idle.", "Node <nodes_in_trouble.node> is no longer down."),
    ("Node <down.node_failures.node> is no longer down.", "Node <down.node_failures.node> was <down.node_failures.state>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs, two of which ran twice, and the nodes in trouble."""
    alike = [("kill", "similar_jobs"), ("evict", "similar_jobs")]
    return book(tmp_path_factory.mktemp("lake"), MORE, ("nodes_in_trouble",), besides=alike)


@pytest.mark.parametrize("text", [false for false, _ in AGAIN])
def test_what_did_not_come_again_or_before_is_refused(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", sorted({true for _, true in AGAIN}))
def test_what_the_rows_say_came_again_or_before_passes(shown: Book, text: str) -> None:
    assert shown.passes(text)
