"""Of one alone, and of a small part only: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {"stop": ("cancelled-by-user", "4811"), "oom": ("host-memory-kill", "4804"), "fine": ("healthy-ddp", "4824")}
FLEET = ("nodes_in_trouble", "nodes_free")
TALLY = "user"
SAID = [
    ("Of the job's <down.node_failures.job_nodes> nodes only <down.job_nodes.node> was in trouble.", "Of the job's <down.node_failures.job_nodes> nodes only <down.node_failures.node> was in trouble."),
    ("Of the job's <down.node_failures.bad_nodes> nodes only <down.node_failures.node> was in trouble.", "Of its <down.node_failures.job_nodes> nodes only node <down.node_failures.node> was down."),
    ("Of its <down.node_failures.job_nodes> nodes only <down.node_failures.node> was not down.", "Of its <down.node_failures.job_nodes> nodes, only <down.node_failures.node> was down."),
    ("Job <find_jobs:6.job_id> is the only one that ended as <find_jobs:6.state>.", "Job <find_jobs:1.job_id> is the only one that ended as <find_jobs:1.state>."),
    ("Job <kill.job_overview.job_id> is the only one that ended as <kill.job_overview.state>.", "Job <stop.job_overview.job_id> ended as <stop.job_overview.state>."),
    ("Job <find_jobs:6.job_id> is the only one that failed.", "Job <find_jobs:5.job_id> is the only one that was cancelled."),
    ("Only job <find_jobs:6.job_id> failed.", "Only node <nodes_free:2.node> is mixed."),
    ("Job <find_jobs:6.job_id> is the only one that was cancelled.", "Only node <nodes_in_trouble.node> was in trouble."),
    ("Only node <nodes_free.node> was in trouble.", "Node <nodes_in_trouble.node> was the only one in trouble."),
    ("Only node <nodes_free.node> is idle.", "Node <nodes_free.node> is idle."),
    ("Node <nodes_free.node> is the only node with <nodes_free.gpus_free> free GPUs.", "Node <nodes_free.node> has <nodes_free.gpus_free> free GPUs."),
    ("User <fleet_tally:3.value> is the only one with <fleet_tally:3.failed> failed jobs.", "User <fleet_tally.value> is the only one with <fleet_tally.failed> failed jobs."),
    ("Training had only reached step <fine.train_summary.last_step> of <fine.train_summary.total_steps>.", "Training had only reached step <kill.train_summary.last_step> of <kill.train_summary.total_steps>."),
    ("Training had only reached step <kill.train_summary.last_step> of <fine.train_summary.total_steps>.", "Only <kill.train_summary.last_step> of <kill.train_summary.total_steps> steps were made."),
    ("Only <kill.train_summary.total_steps> of <kill.train_summary.last_step> steps were made.", "The run made <kill.train_summary.last_step> of <kill.train_summary.total_steps> steps."),
    ("The run made <kill.train_summary.total_steps> of its <kill.train_summary.last_step> steps.", "It had only made <oom.train_summary.last_step> of its <oom.train_summary.total_steps> steps."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs, the nodes in trouble and those that are free, and a tally by user."""
    return book(tmp_path_factory.mktemp("lake"), MORE, fleet=FLEET, tally=TALLY)


test_what_is_not_of_one_alone_is_refused, test_what_the_rows_say_of_one_alone_passes = sides(SAID)
