"""All of so many, and every few seconds: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {"hang": ("collective-hang", "4831"), "oom": ("host-memory-kill", "4804")}
FLEET = ("nodes_free",)
SAID = [
    ("A report came every few seconds (every <hang.quiet_end.usual_gap_s>).", "A report came every few seconds (every <down.quiet_end.usual_gap_s>)."),
    ("A report came every few minutes (every <oom.quiet_end.usual_gap_s>).", "A report came every few seconds (every <oom.quiet_end.usual_gap_s>)."),
    ("Reports came every few seconds: the quiet time was <oom.quiet_end.quiet_s>.", "Reports came every few seconds: the usual gap was <oom.quiet_end.usual_gap_s>."),
    ("All sixteen GPUs of the cluster are free: <nodes_free.all_free> of <nodes_free.all_gpus>.", "Of the cluster's <nodes_free.all_gpus> GPUs, <nodes_free.all_free> are free."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of seven jobs, and what the cluster has free."""
    return book(tmp_path_factory.mktemp("lake"), MORE, fleet=FLEET)


test_what_is_not_of_so_many_is_refused, test_what_is_of_so_many_passes = sides(SAID)


def spread(used: int) -> Ledger:
    """The spread of four GPUs of a job of which so many were used, and a cluster of four of which all are free."""
    held = Ledger()
    columns = {"gpus": "", "used": "", "all_sm_min": "ratio", "all_sm_max": "ratio", "sm_mean": "ratio"}
    held.record(result("gpu_spread", columns, [(4, used, 0.31, 0.62, 0.5)]), "gpu_spread", {"job_id": "4812"})
    free = result("nodes_free", {"node": "", "all_free": "", "all_gpus": ""}, [("n1", 4, 4)])
    held.record(free, "nodes_free", {})
    held.show_all()
    return held


GOOD = "Node [[E2.node]] is listed."
LEAST = "On all four GPUs the SM activity was at least [[E1.all_sm_min]]."
FREE = "All four GPUs of the cluster are free: [[E2.all_free]] of [[E2.all_gpus]]."


@pytest.mark.parametrize("text", [LEAST, "On all four GPUs the SM activity was at most [[E1.all_sm_max]].", FREE])
def test_all_of_so_many_stands_with_the_extreme_of_all(text: str) -> None:
    assert passes(text, spread(4), GOOD)
    assert not passes(text.replace("four", "three"), spread(4), GOOD)
    assert not passes(text.replace("ll four GPUs", "ll four nodes"), spread(4), GOOD)


def test_not_of_all_where_some_were_unused_or_the_extreme_is_the_other_one() -> None:
    assert not passes(LEAST, spread(3), GOOD)
    assert not passes(LEAST.replace("all_sm_min", "all_sm_max"), spread(4), GOOD)
    assert not passes(LEAST.replace("at least [[E1.all_sm_min]]", "[[E1.sm_mean]]"), spread(4), GOOD)
    assert not passes(LEAST.replace("was", "was not"), spread(4), GOOD)
