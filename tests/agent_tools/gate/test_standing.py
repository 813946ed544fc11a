"""What lasts and what is over, and a restart that was none: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {"anew": ("resumed-from-scratch", "4828"), "back": ("requeued-by-operator", "4826")}
FLEET = ("nodes_in_trouble",)
BESIDES = [("anew", "resume_signs"), ("back", "requeue_history")]
SAID = [
    ("Node <nodes_in_trouble.node> is down.", "Node <nodes_in_trouble.node> was down from <nodes_in_trouble.begin_ts>."),
    ("Node <nodes_in_trouble.node> is still down.", "Node <nodes_in_trouble.node> is no longer down."),
    ("Node <nodes_in_trouble.node> has been down since <nodes_in_trouble.begin_ts>.", "Node <nodes_in_trouble.node> was down."),
    ("One node is down: <nodes_in_trouble.node>.", "One node was down: <nodes_in_trouble.node>."),
    ("Node <nodes_in_trouble.node> is in the state <nodes_in_trouble.state>.", "Node <nodes_in_trouble.node> was <nodes_in_trouble.state>."),
    ("Node <nodes_in_trouble.node> is in trouble.", "Node <nodes_in_trouble.node> was in trouble."),
    ("Node <nodes_in_trouble.node> is still lost.", "Node <nodes_in_trouble.node> was lost."),
    ("Node <nodes_in_trouble.node> killed the job, with the reason \"<nodes_in_trouble.reason>\".", "Node <nodes_in_trouble.node> was down, with the reason \"<nodes_in_trouble.reason>\"."),
    ("Job <kill.job_overview.job_id> was in trouble, with the reason \"<nodes_in_trouble.reason>\".", "Node <nodes_in_trouble.node> was in trouble, with the reason \"<nodes_in_trouble.reason>\"."),
    ("The job was restarted: \"<anew.resume_signs.fresh_message>\".", "The log says: \"<anew.resume_signs.fresh_message>\"."),
    ("Slurm restarted the job: \"<anew.resume_signs.fresh_message>\" (line <anew.resume_signs.fresh_line>).", "Line <anew.resume_signs.fresh_line> of the log says \"<anew.resume_signs.fresh_message>\"."),
    ("After a restart of the job the log says \"<anew.resume_signs.fresh_message>\".", "The run started from scratch: \"<anew.resume_signs.fresh_message>\"."),
    ("Job <kill.job_overview.job_id> was restarted <kill.job_overview.restarts> times, and that restart failed.", "Job <kill.job_overview.job_id> was restarted <kill.job_overview.restarts> times."),
    ("Job <kill.job_overview.job_id> was restarted.", "The job was restarted <back.requeue_history.restarts> time."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of seven jobs, one of which trained anew, and the nodes in trouble."""
    return book(tmp_path_factory.mktemp("lake"), MORE, fleet=FLEET, besides=BESIDES)


test_what_is_over_or_never_was_is_refused, test_what_the_rows_say_of_it_passes = sides(SAID)
