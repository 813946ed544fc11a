"""Each figure is that of whom it is told of: of all the others, of one's own request, of the end, of how many, beside its false twin."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result

GOOD = "The last attempt ended as [[E1:1.state]]."


def held() -> Ledger:
    """E1 two attempts on one node, E2 four processes, E3 one failed allocation, E4 launches, E5 GPUs, E6 fatal signals, E7 one exit, E8 saves,
    E9 two attempts on two nodes, E10 a node, E11 jobs of two users, E12 what spins, E13 ranks of two nodes."""
    book = Ledger()
    attempts = {
        "attempt": "",
        "state": "",
        "node_list": "",
        "elapsed_s": "s",
        "time_limit_s": "s",
        "gpus": "",
        "node_count": "",
    }
    rows = [(1, "PREEMPTED", "n1", 90.0, 600.0, 4, 1), (2, "TIMEOUT", "n1", 600.0, 600.0, 4, 1)]
    book.record(result("job_attempts", attempts, rows), "job_attempts", {})
    exits = {"rank": "", "node": "", "exit_code": "", "exit_signal": "", "lived_s": "s"}
    book.record(
        result(
            "process_exits",
            exits,
            [(0, "n1", None, 15, 95.0), (1, "n1", None, 15, 95.0), (2, "n1", 1, 0, 80.0), (3, "n1", None, 15, 95.0)],
        ),
        "process_exits",
        {},
    )
    sizes = {"gpu": "", "requested_gib": "GiB", "total_gib": "GiB", "free_gib": "GiB", "allocated_gib": "GiB"}
    book.record(result("oom_events", sizes, [(3, 5.5, 47.5, 1.25, 44.0)]), "oom_events", {})
    book.record(
        result("cuda_activity", {"rank": "", "launches": "", "launches_late": ""}, [(0, 91_000, 0)]),
        "cuda_activity",
        {},
    )
    shares = {"node": "", "gpu": "", "idle_share": "ratio"}
    book.record(result("gpu_summary", shares, [("n1", 0, 0.02), ("n1", 1, 0.88)]), "gpu_summary", {})
    signals = {"signal": "", "signal_name": "", "ranks": "", "sender": ""}
    book.record(result("fatal_signals", signals, [(15, "SIGTERM", 3, "kernel-oom")]), "fatal_signals", {})
    book.record(
        result("launcher_failures", {"rank": "", "exit_code": "", "signal": ""}, [(2, 1, None), (1, -9, 9)]),
        "launcher_failures",
        {},
    )
    saves = {"name": "", "step": "", "line_no": ""}
    book.record(
        result("checkpoints", saves, [("saving", 50, 7), ("saving", 100, 19), ("saving", 150, 31)]), "checkpoints", {}
    )
    other = [(1, "PREEMPTED", "n1", 90.0, 600.0, 4, 1), (2, "TIMEOUT", "n2", 500.0, 600.0, 4, 1)]
    book.record(result("job_attempts", attempts, other), "job_attempts", {})
    book.record(result("job_nodes", {"node": "", "ranks": ""}, [("n1", 4)]), "job_nodes", {})
    users = [("7", "ada"), ("8", "bo"), ("9", "ada")]
    book.record(result("find_jobs", {"job_id": "", "user": ""}, list(users)), "find_jobs", {})
    book.record(result("gpu_spread", {"spinning": "", "used": ""}, [(3, 4)]), "gpu_spread", {})
    book.record(result("node_ranks", {"node": "", "ranks": ""}, [("n1", 4), ("n2", 4)]), "node_ranks", {})
    book.show_all()
    return book


TRUE = [
    "Rank [[E2:2.rank]] exited by itself with code [[E2:2.exit_code]].",
    "Rank [[E7.rank]] exited on its own with code [[E7.exit_code]].",
    "Rank [[E2:2.rank]] lived [[E2:2.lived_s]], the other three [[E2.lived_s]].",
    "Rank [[E2:2.rank]] lived [[E2:2.lived_s]]; the remaining three ranks lived [[E2.lived_s]].",
    "All four ranks had ended: rank [[E2:2.rank]] lived [[E2:2.lived_s]], the others [[E2.lived_s]].",
    "The process tried to allocate [[E3.requested_gib]] while [[E3.free_gib]] of [[E3.total_gib]] were free.",
    "GPU [[E3.gpu]] had [[E3.free_gib]] left when [[E3.requested_gib]] were requested.",
    "Rank [[E4.rank]] launched [[E4.launches]] kernels, and [[E4.launches_late]] late.",
    "GPU [[E5:1.gpu]] was idle for most of the time: its idle share was [[E5:1.idle_share]].",
    "[[E6.ranks]] ranks were ended by [[E6.signal_name]]; rank [[E7.rank]] exited with code [[E7.exit_code]].",
    "The OOM killer ended [[E6.ranks]] ranks with [[E6.signal_name]], sent by [[E6.sender]].",
    "Three checkpoints are announced in the log, the last of step [[E8:2.step]].",
    "The second attempt ran on the same node, [[E1:1.node_list]].",
    "The second attempt ran for [[E1:1.elapsed_s]], exactly its time limit of [[E1:1.time_limit_s]].",
    "The first attempt ran for [[E1.elapsed_s]] when it was evicted; its state is [[E1.state]].",
    "Three ranks were ended by [[E6.signal_name]].",
    "One of the two attempts ended as [[E1.state]].",
    "It ran on one node, [[E10.node]].",
    "Two jobs of [[E11.user]] are listed, [[E11.job_id]] and [[E11:2.job_id]].",
    "Three of the four GPUs were spinning ([[E12.spinning]] of [[E12.used]]).",
]
FALSE = [
    "Rank [[E2.rank]] exited by itself with signal [[E2.exit_signal]].",
    "Rank [[E7:1.rank]] exited on its own with [[E7:1.exit_code]].",
    "Rank [[E2:2.rank]] lived [[E2:2.lived_s]], the other two [[E2.lived_s]].",
    "Rank [[E2:1.rank]] lived [[E2:1.lived_s]]; the remaining three ranks lived [[E2:1.lived_s]].",
    "All four ranks had ended: rank [[E2:2.rank]] lived [[E2:2.lived_s]], rank [[E2.rank]] lived [[E2.lived_s]].",
    "All three ranks had ended: rank [[E2:2.rank]] lived [[E2:2.lived_s]], the others [[E2.lived_s]].",
    "All four ranks were ended by a signal: rank [[E2.rank]] by [[E2.exit_signal]], the others by [[E2:2.exit_signal]].",
    "The process tried to allocate [[E3.allocated_gib]].",
    "The process failed to get [[E3.free_gib]].",
    "[[E3.requested_gib]] of [[E3.total_gib]] were free.",
    "Rank [[E4.rank]] was launching kernels at its end: [[E4.launches]].",
    "GPU [[E5.gpu]] was idle for most of the time: its idle share was [[E5.idle_share]].",
    "[[E6.ranks]] ranks exited with code [[E7.exit_code]].",
    "Four checkpoints are announced in the log, the last of step [[E8:2.step]].",
    "Three checkpoints are announced in the log, the last of step [[E8:1.step]].",
    "The second attempt ran on the same node, [[E9:1.node_list]].",
    "The first attempt ran for [[E1.elapsed_s]], exactly its time limit of [[E1.time_limit_s]].",
    "Attempts [[E1.attempt]] and [[E1:1.attempt]] ended badly, as [[E1.state]] and [[E1:1.state]].",
    "The idle share of GPU [[E5.gpu]] grew from [[E5.idle_share]] to [[E5:1.idle_share]].",
    "Four ranks were ended by [[E6.signal_name]].",
    "It ran on two nodes, [[E10.node]] and [[E10.node]].",
    "Two jobs of [[E11.user]] are listed, [[E11.job_id]] and [[E11:1.job_id]].",
    "One job of [[E11.user]] is listed, [[E11.job_id]].",
    "Two of the four GPUs were spinning ([[E12.spinning]] of [[E12.used]]).",
    "The nodes have [[E13.ranks]] ranks in total.",
]


@pytest.mark.parametrize("text", TRUE)
def test_what_is_its_own_is_shown(text: str) -> None:
    assert passes(text, held(), GOOD)


@pytest.mark.parametrize("text", FALSE)
def test_what_is_of_another_is_not(text: str) -> None:
    assert not passes(text, held(), GOOD)
