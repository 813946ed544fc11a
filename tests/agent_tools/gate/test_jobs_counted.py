"""How many jobs ended so, and which of two ends more of them had: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "wait": ("dependency-never-satisfied", "4819"),
    "fine": ("healthy-ddp", "4824"),
    "core": ("native-crash", "4823"),
}
FLEET = ("find_jobs_summary",)
BESIDES = [("core", "similar_jobs"), ("fine", "similar_jobs")]
TALLY = "user"
SAID = [
    ("One job is still pending: <find_jobs:4.job_id>.", "One job is still pending: <find_jobs:7.job_id>."),
    ("One job is still running: <find_jobs:7.job_id>.", "Job <find_jobs:7.job_id> is still pending."),
    ("Job <find_jobs:7.job_id> is still running.", "Job <find_jobs:7.job_id> is pending."),
    ("Job <find_jobs:4.job_id> is still pending.", "One job is pending: <find_jobs:7.job_id>."),
    ("Two jobs are pending: <find_jobs:7.job_id> and <find_jobs:4.job_id>.", "One job is pending: <find_jobs:7.job_id>."),
    ("Two earlier jobs of that name failed: <fine.similar_jobs:1.job_id> and <core.similar_jobs.job_id>.", "Two earlier jobs of that name failed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>."),
    ("Two later jobs of that name failed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>.", "Two earlier jobs of that name failed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>."),
    ("One earlier job of that name failed: <fine.similar_jobs:1.job_id>.", "One earlier job of the same name failed: <core.similar_jobs:2.job_id>."),
    ("Two earlier jobs of that name completed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>.", "Two earlier jobs failed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>."),
    ("Only two jobs of that name failed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>.", "Two earlier jobs of that name failed: <fine.similar_jobs:1.job_id> and <fine.similar_jobs:2.job_id>."),
    ("More jobs completed than failed, <find_jobs_summary:1.jobs> against <find_jobs_summary.jobs>.", "More jobs failed than completed, <find_jobs_summary.jobs> against <find_jobs_summary:1.jobs>."),
    ("More jobs failed than completed, <find_jobs_summary:1.jobs> against <find_jobs_summary.jobs>.", "Fewer jobs completed than failed, <find_jobs_summary:1.jobs> against <find_jobs_summary.jobs>."),
    ("As many jobs failed as completed: <find_jobs_summary.jobs> and <find_jobs_summary:1.jobs>.", "As many jobs are pending as were preempted, <find_jobs_summary:3.jobs> each."),
    ("As many jobs are pending as completed, <find_jobs_summary:3.jobs> each.", "As many jobs are pending as were preempted: <find_jobs_summary:3.jobs> and <find_jobs_summary:4.jobs>."),
    ("As many jobs are pending as were preempted: <find_jobs_summary:4.jobs> and <find_jobs_summary:3.jobs>.", "One job was preempted, at <find_jobs_summary:4.last_ts>."),
    ("One job was preempted, at <find_jobs_summary:4.first_ts>.", "One job was preempted, at <find_jobs_summary:4.last_ts>."),
    ("Four jobs failed, at <find_jobs_summary.last_ts>.", "<find_jobs_summary.jobs> jobs failed."),
    ("None of <fleet_tally.value>'s jobs failed.", "All of <fleet_tally:2.value>'s jobs failed."),
    ("All of <fleet_tally:1.value>'s jobs failed: <fleet_tally:1.failed> of <fleet_tally:1.jobs>.", "All of <fleet_tally:2.value>'s jobs failed: <fleet_tally:2.failed> of <fleet_tally:2.jobs>."),
    ("None of <fleet_tally:1.value>'s jobs failed (<fleet_tally:3.failed>).", "None of <fleet_tally:3.value>'s jobs failed (<fleet_tally:3.failed>)."),
    ("No job of user <fleet_tally:1.value> failed.", "No job of user <fleet_tally:3.value> failed."),
    ("None of <fleet_tally:3.value>'s jobs was sent back.", "None of <fleet_tally:1.value>'s jobs was sent back."),
    ("Two jobs of user <fleet_tally:3.value> were sent back.", "One job of user <fleet_tally:3.value> was sent back."),
    ("User <fleet_tally:2.value>'s job is still running.", "None of <fleet_tally.value>'s jobs was cancelled."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs and of what is counted of them."""
    return book(tmp_path_factory.mktemp("lake"), MORE, fleet=FLEET, besides=BESIDES, tally=TALLY)


test_what_the_rows_do_not_say_is_refused, test_what_the_rows_say_passes = sides(SAID)


def test_as_many_of_two_ends_each_count_of_its_own_state() -> None:
    held = Ledger()
    columns = {"state": "", "attempts": "", "jobs": ""}
    rows = [("COMPLETED", 6, 6), ("FAILED", 6, 6), ("CANCELLED", 1, 1)]
    held.record(result("find_jobs_summary", columns, rows), "find_jobs_summary", {})
    held.show_all()
    told = "As many jobs completed as failed: [[E1.jobs]] and [[E1:1.jobs]]."
    good = "[[E1.jobs]] jobs completed."
    assert passes(told, held, good)
    assert not passes(told.replace("as failed", "as were cancelled"), held, good)
    assert not passes("As many jobs completed as failed: [[E1:1.jobs]] and [[E1.jobs]].", held, good)
    assert not passes("More jobs completed than failed: [[E1.jobs]] and [[E1:1.jobs]].", held, good)
