"""A kill for want of memory that is denied, and a crash by a signal: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "core": ("native-crash", "4823"),
    "oom": ("host-memory-kill", "4804"),
    "stop": ("cancelled-by-user", "4811"),
    "fine": ("healthy-ddp", "4824"),
}
SAID = [
    ("The last report before the crash was for step <stop.train_summary.last_step>.", "The last report before the crash was for step <core.train_summary.last_step>."),
    ("The last report before the crash was for step <oom.train_summary.last_step>.", "When the crash came, step <core.train_summary.last_step> had been reported."),
    ("The last report before the crash was for step <kill.train_summary.last_step>.", "The last report was for step <kill.train_summary.last_step>."),
    ("The last report before the crash was for step <fine.train_summary.last_step>.", "The last report was for step <fine.train_summary.last_step>."),
    ("Before the crash of the node step <core.train_summary.last_step> was reported.", "Until the crash the run had reached step <core.train_summary.last_step>."),
    ("The crash came at <core.train_summary.last_ts>.", "The job ended at <core.job_overview.end_ts>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of nine jobs, one of which broke off by SIGSEGV."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


test_what_was_no_crash_is_refused, test_what_a_finding_says_crashed_passes = sides(SAID)


def counts(second: int, nodes: int = 2, words: int = 0) -> Ledger:
    """Two nodes of a job of `nodes`, the second with its number of kills, and how many lines of a log tell of one."""
    held = Ledger()
    columns = {"node": "", "oom_kills": "", "peak_gib": "GiB"}
    held.record(
        result("cgroup_peaks", columns, [("n1", 0, 91.5), ("n2", second, 77.0)]), "cgroup_peaks", {"job_id": "4812"}
    )
    overview = result("job_overview", {"job_id": "", "state": "", "node_count": ""}, [("4812", "FAILED", nodes)])
    held.record(overview, "job_overview", {"job_id": "4812"})
    told = result("host_oom_words", {"name": "", "message": ""}, [("oom_kill", "Killed process 71 (python)")] * words)
    held.record(told, "host_oom_words", {"job_id": "4812"})
    held.show_all()
    return held


EACH = "The kernel killed no process for memory: [[E1.oom_kills]] OOM kills on [[E1.node]] and [[E1:1.oom_kills]] on [[E1:1.node]]."
NONE = "No process of the job was killed for want of memory ([[E1.oom_kills]] OOM kills)."
GOOD = "The job ended as [[E2.state]]."


@pytest.mark.parametrize("text", [EACH, NONE])
def test_nothing_was_killed_where_each_node_of_the_job_counts_none(text: str) -> None:
    assert passes(text, counts(0), GOOD)
    assert not passes(text, counts(1), GOOD)  # another node's count is one
    assert not passes(text, counts(0, nodes=3), GOOD)  # of the third nothing is known
    assert not passes(text, counts(0, words=1), GOOD)  # a log tells of a kill


@pytest.mark.parametrize(
    "text",
    [
        "The kernel killed a process for memory ([[E1.oom_kills]] OOM kills).",
        "No process of the job was killed for want of memory ([[E1.peak_gib]]).",
        "No process of the job was killed ([[E1.oom_kills]] OOM kills).",
        "No process of the job was killed for want of memory ([[E1.oom_kills]] OOM kills), so a faulty GPU ended it.",
        "Nothing was killed for memory, as the user killed it ([[E1.oom_kills]] OOM kills).",
    ],
)
def test_the_count_of_kills_bears_out_nothing_else(text: str) -> None:
    assert not passes(text, counts(0), GOOD)
