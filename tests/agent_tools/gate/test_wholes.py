"""Of how many nodes, and near no limit: what every row says passes, and what one row denies is refused."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

DOCS = {"peak_gib": "highest memory", "limit_gib": "memory.max"}
GOOD = "The job ended as [[E2.state]]."
NEAR = "Neither node came near its memory limit: [[E1.peak_gib]] and [[E1:1.peak_gib]], of [[E1.limit_gib]]."
LIMIT = "Host memory was not the limit: the highest peak was [[E1.peak_gib]] of [[E1.limit_gib]], on [[E1.node]]."


def peaks(second: float, nodes: int = 2, kills: int = 0) -> Ledger:
    """Two nodes of a job of `nodes`, the second with that share of its limit, and some kills."""
    held = Ledger()
    columns = {"node": "", "peak_gib": "GiB", "limit_gib": "GiB", "used": "ratio", "oom_kills": ""}
    rows = [("n1", 30.0, 100.0, 0.3, 0), ("n2", 100 * second, 100.0, second, kills)]
    held.record(result("cgroup_peaks", columns, [*rows], docs=DOCS), "cgroup_peaks", {"job_id": "4812"})
    overview = result("job_overview", {"job_id": "", "state": "", "node_count": ""}, [("4812", "FAILED", nodes)])
    held.record(overview, "job_overview", {"job_id": "4812"})
    held.show_all()
    return held


@pytest.mark.parametrize("text", [NEAR, LIMIT])
def test_no_node_came_near_its_limit_where_each_is_far_from_it(text: str) -> None:
    assert passes(text, peaks(0.2), GOOD)
    assert not passes(text, peaks(0.97), GOOD)  # the other node did
    assert not passes(text, peaks(0.2, nodes=3), GOOD)  # of the third nothing is known


@pytest.mark.parametrize(
    "text",
    [
        NEAR.replace("memory limit", "time limit"),
        NEAR.replace("node", "GPU"),
        NEAR.replace("near its memory limit", "near the end"),
        LIMIT.replace("Host", "GPU"),
        LIMIT.replace("was not", "was"),
        LIMIT.replace(" of [[E1.limit_gib]], on", ", so the network failed on"),
    ],
)
def test_of_another_limit_the_peaks_say_nothing(text: str) -> None:
    assert not passes(text, peaks(0.2), GOOD)


def test_where_something_was_killed_memory_may_have_been_the_limit() -> None:
    assert not passes(LIMIT, peaks(0.2, kills=1), GOOD)


def busy(mean: float, late: float) -> Ledger:
    """Two GPUs of a job, of a mean and a late activity."""
    held = Ledger()
    columns = {"node": "", "gpu": "", "engine_mean": "ratio", "engine_late": "ratio"}
    rows = [("n1", 0, mean, late), ("n1", 1, mean, late)]
    held.record(result("gpu_summary", columns, [*rows]), "gpu_summary", {"job_id": "4812"})
    overview = {"job_id": "", "state": "", "gpus": "", "node_count": ""}
    held.record(result("job_overview", overview, [("4812", "FAILED", 2, 1)]), "job_overview", {"job_id": "4812"})
    held.show_all()
    return held


def test_little_used_is_what_was_busy_for_less_than_a_third() -> None:
    text = "GPU [[E1.gpu]] on [[E1.node]] was little used: its mean engine activity was [[E1.engine_mean]]."
    assert passes(text, busy(0.12, 0.1), GOOD)
    assert not passes(text, busy(0.62, 0.1), GOOD)
    assert not passes(text.replace("little used", "unused"), busy(0.12, 0.1), GOOD)


def test_idle_for_most_of_the_time_is_what_was_busy_for_less_than_half() -> None:
    text = "GPU [[E1.gpu]] on [[E1.node]] was idle for most of the time, with an engine activity of [[E1.engine_mean]]."
    told = "GPU [[E1.gpu]] of [[E1.node]] stood idle for most of the time: [[E1.engine_mean]]."
    found = Assessment("D1", "confirmed", confidence=0.8, attribution="job", headline=told)

    def so(said: str, mean: float) -> bool:
        return check_answer(Answer(short=said), busy(mean, 0.1), [found]).ok

    assert so(text, 0.12)
    assert not so(text, 0.62)
    assert not so(text.replace("idle", "busy"), 0.12)


def test_nothing_was_done_towards_the_end_where_the_last_minutes_have_a_zero() -> None:
    text = "GPU [[E1.gpu]] on [[E1.node]] did nothing towards the end: its engine activity was [[E1.engine_late]]."
    assert passes(text, busy(0.5, 0.0), GOOD)
    assert not passes(text, busy(0.5, 0.2), GOOD)
    assert not passes(text.replace("towards the end", "during the run"), busy(0.5, 0.0), GOOD)
    assert not passes(text.replace("nothing towards the end", "nothing wrong"), busy(0.5, 0.0), GOOD)


FLEET = ("nodes_free",)
SAID = [
    ("All <nodes_free.all_gpus> GPUs of the three nodes are free.", "Of the cluster's <nodes_free.all_gpus> GPUs <nodes_free.all_free> are free."),
    ("All <nodes_free.all_gpus> GPUs of the four nodes are free.", "Node <nodes_free.node> is idle."),
    ("All <nodes_free.all_free> free GPUs are on two nodes.", "<nodes_free.all_free> of the <nodes_free.all_gpus> GPUs of the four nodes are free."),
    ("None of the jobs of <fleet_tally.value> failed.", "None of the jobs of <fleet_tally:2.value> failed."),
    ("No job of <fleet_tally.value> is running (<fleet_tally:1.running>).", "No job of <fleet_tally.value> is running (<fleet_tally.running>)."),
    ("No job of <fleet_tally.value> ran (<fleet_tally.running>).", "No job of <fleet_tally:1.value> is running."),
    ("Users <fleet_tally.value> and <fleet_tally:1.value> each had one attempt sent back.", "User <fleet_tally.value> had <fleet_tally.attempts> attempts."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The nodes that are free, and a tally by user."""
    return book(tmp_path_factory.mktemp("lake"), fleet=FLEET, tally="user")


test_what_the_rows_of_the_fleet_deny_is_refused, test_what_they_all_say_passes = sides(SAID)
