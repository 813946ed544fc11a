"""Words that looked like causes, or like another column's name: where a figure went, what is written down as a cause, how often
and how long after its start. False is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book

MORE = {
    "meet": ("no-rendezvous-torchrun", "4825"),
    "cut": ("cut-json-line", "4812"),
    "fine": ("healthy-ddp", "4824"),
    "bad": ("bad-record", "4809"),
}
COURSES = [
    ("The loss fell to <kill.train_summary.max_loss>.", "The loss fell to <kill.train_summary.last_loss>."),
    ("The loss fell to <kill.train_summary.first_loss>.", "The loss fell to only <kill.train_summary.min_loss>."),
    ("The loss had fallen to <nan.train_summary.last_loss>.", "The loss had fallen to <evict.train_summary.last_loss>."),
    ("The loss rose to <fine.train_summary.last_loss>.", "The loss rose to <nan.loss_shape.highest_loss>."),
    ("The loss climbed to <evict.loss_shape.end_loss>.", "The loss dropped to <evict.loss_shape.end_loss>."),
    ("The loss never fell to <evict.loss_shape.end_loss>.", "The loss fell to <evict.loss_shape.end_loss>."),
    ("The gradient norm fell to <evict.loss_shape.highest_grad_norm>.", "The gradient norm fell to <evict.loss_shape.end_grad_norm>."),
    ("The temperature fell to <wide.gpu_summary.temp_max_c>.", "The highest temperature was <wide.gpu_summary:3.temp_max_c>."),
    ("The loss of the run fell to <down.node_failures.node>.", "The loss of the run fell to <down.train_summary.last_loss>."),
    ("The loss fell to <down.train_summary.last_loss> and the job to node <wide.job_overview.node_list>.", "Its loss fell to <down.train_summary.last_loss>."),
    ("The job fell to rank <wide.process_exits.rank>.", "Rank <wide.process_exits.rank> ended."),
    ("The loss fell to <down.train_summary.last_loss> because of node <down.node_failures.node>.", "The loss fell to <down.train_summary.min_loss>."),
]  # fmt: skip
WRITTEN = [
    ("The exception's cause was <meet.exceptions.name>.", "The exception's cause was <meet.exceptions.cause_name>."),
    ("The cause of the error <cut.exceptions.name> was <meet.exceptions.cause_name>.", "The cause of the error <cut.exceptions.name> was <cut.exceptions.cause_name>."),
    ("The cause of job <cut.job_overview.job_id>'s end was <meet.exceptions.cause_name>.", "The error's cause is <cut.exceptions.cause_name>."),
    ("The cause of the exception was node <cut.job_overview.node_list>.", "Its exception's cause was <cut.exceptions.cause_name>."),
    ("The reason given for job <kill.job_overview.job_id> is \"<down.node_failures.reason>\".", "The reason given for node <down.node_failures.node> is \"<down.node_failures.reason>\"."),
    ("The reason given for the crash was \"<down.node_failures.reason>\".", "The reason noted for node <nodes_in_trouble.node> was \"<nodes_in_trouble.reason>\"."),
    ("Slurm restarted the job <evict.job_overview.attempts> times.", "Slurm restarted the job <evict.job_overview.restarts> times."),
    ("Slurm restarted the run <kill.job_overview.gpus> times.", "Slurm restarted the run <kill.job_overview.restarts> times."),
    ("Slurm preempted the job <kill.job_overview.restarts> times.", "It restarted the job <evict.job_overview.restarts> time."),
    ("Slurm restarted the rank <evict.job_overview.restarts> times.", "The job was restarted <evict.job_overview.restarts> times."),
    ("The user restarted the job <evict.job_overview.restarts> times.", "Slurm had restarted the job <evict.job_overview.restarts> times."),
    ("Rank <kill.fatal_signals:1.rank> ended <kill.job_overview.elapsed_s> after its start.", "The run ended <kill.job_overview.elapsed_s> after its start."),
    ("<find_jobs_summary.jobs> different users failed.", "<find_jobs_summary.jobs> different jobs failed."),
    ("The job ended <kill.job_overview.wait_s> after its start.", "The job ended <kill.job_overview.elapsed_s> after its start."),
    ("The job failed <kill.job_overview.time_limit_min> after it had started.", "The job failed <kill.job_overview.elapsed_min> after it had started."),
    ("The job ended <kill.job_overview.elapsed_s> after its submission.", "Job <down.job_overview.job_id> ended <down.job_overview.elapsed_s> after its start."),
    ("The job waited <kill.job_overview.elapsed_s> after its start.", "The job waited <kill.job_overview.wait_s>."),
    ("<find_jobs_summary:1.jobs> jobs failed.", "<find_jobs_summary.jobs> jobs failed."),
    ("<find_jobs_summary.jobs> jobs completed, <find_jobs_summary:1.jobs> failed.", "<find_jobs_summary:1.jobs> jobs completed, <find_jobs_summary.jobs> failed."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of nine jobs, the nodes in trouble and how jobs ended."""
    return book(tmp_path_factory.mktemp("lake"), MORE, ("nodes_in_trouble", "find_jobs_summary"))


@pytest.mark.parametrize("text", [false for false, _ in (*COURSES, *WRITTEN)])
def test_what_the_row_denies_is_refused(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", sorted({true for _, true in (*COURSES, *WRITTEN)}))
def test_what_the_row_bears_out_passes(shown: Book, text: str) -> None:
    assert shown.passes(text)
