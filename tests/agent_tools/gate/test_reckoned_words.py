"""Multiples, orders, small words and denials: each is reckoned from the cells beside it, and its false twin is refused."""

from __future__ import annotations

from functools import partial

import pytest

from agent_tools.evidence import FOUND, Ledger
from store.result import Cell, Coverage, Result, ResultColumn
from tests.agent_tools.gate import gatekit

JOB: dict[str, Cell] = {"job_id": "77"}
DOCS = {
    "failed_attempts": "attempts before the last that ended in failure",
    "limit_share": "time running over the limit",
    "events": "how many alike",
    "restarts": "times requeued as Slurm counts",
    "first_loss": "first loss",
    "last_loss": "last loss",
    "min_loss": "lowest loss",
    "step": "training step that is named",
}
UNITS = {"limit_share": "ratio", "elapsed_s": "s"}


def answer(name: str, columns: str, rows: list[tuple[Cell, ...]], params: dict[str, Cell]) -> Result:
    """A result of a query with descriptions and units."""
    named = tuple(ResultColumn(c, "VARCHAR", UNITS.get(c, ""), DOCS.get(c, "")) for c in columns.split())
    return Result(
        name, f"SELECT {columns}", params, named, tuple(rows), len(rows), False, (Coverage(name, 1, len(rows)),)
    )


@pytest.fixture
def held() -> Ledger:
    """E1 two attempts, E2 how often it was sent back, E3 exceptions, E4 checkpoints, E5 losses, E6 one attempt of another answer,
    E7 XIDs, E8 no exception in the log, E9 jobs of one user, E10 nodes."""
    book = Ledger()
    tries: list[tuple[Cell, ...]] = [
        (1, "PREEMPTED", 60.0, 0.1, "cn-1", 4, 1, "2026-05-01T08:00:00Z", "2026-05-01T08:01:00Z"),
        (2, "COMPLETED", 120.0, 0.51, "cn-2", 4, 1, "2026-05-01T08:03:00Z", "2026-05-01T08:05:00Z"),
    ]
    book.record(
        answer(
            "job_attempts", "attempt state elapsed_s limit_share node_list gpus node_count start_ts end_ts", tries, JOB
        ),
        "overview",
        {},
    )
    book.record(answer("requeue_history", "restarts failed_attempts", [(2, 0)], JOB), "history", {})
    raised: list[tuple[Cell, ...]] = [("KeyError", 4, "2026-05-01T08:04:00Z"), ("OSError", 2, "2026-05-01T08:04:30Z")]
    book.record(answer("exceptions", "name events first_ts", raised, JOB), "log_events", {})
    saves: list[tuple[Cell, ...]] = [("saved", 10), ("saved", 20), ("loaded", 5)]
    book.record(answer("checkpoints", "name step", saves, JOB), "checkpoints", {})
    book.record(
        answer(
            "train_summary", "first_loss last_loss min_loss last_step total_steps", [(2.0, 4.5, 1.9, 400, 400)], JOB
        ),
        "c",
        {},
    )
    done = [("COMPLETED", 1, 0, "2026-05-01T08:00:00Z", "2026-05-01T08:05:00Z")]
    book.record(
        answer("job_attempts", "state attempt restarts start_ts end_ts", [*done], {"job_id": "78"}), "overview", {}
    )
    xids: list[tuple[Cell, ...]] = [("cn-1", 0, 79, "2026-05-01T08:00:10Z"), ("cn-2", 3, 74, "2026-05-01T08:00:40Z")]
    book.record(answer("gpu_events", "node gpu xid event_ts", xids, JOB), "gpu_events", {})
    book.record(answer("exceptions", "name events", [], {"job_id": "79"}), "log_events", {})
    jobs: list[tuple[Cell, ...]] = [(str(n), "wen", "FAILED" if n < 3 else "COMPLETED", "cn-1") for n in range(5)]
    book.record(answer("find_jobs", "job_id user state node_list", jobs, {"user": "wen"}), "find_jobs", {})
    down: list[tuple[Cell, ...]] = [("cn-1", "DOWN", 2, "2026-05-01T08:00:50Z")]
    book.record(answer("node_failures", "node state job_nodes since_ts", down, JOB), "nodes", {})
    book.show_all()
    book.mark_shown("E8", [0], [FOUND])
    return book


passes = partial(gatekit.passes, good="Attempt [[E1:1.attempt]] ended as [[E1:1.state]].")


TWINS = {
    "orders": (
        [
            "The first attempt ended as [[E1.state]], the second as [[E1:1.state]].",
            "The job had two attempts: the first ended as [[E1.state]], the second as [[E1:1.state]].",
            "The first attempt ran on [[E1.node_list]], and the second started at [[E1:1.start_ts]].",
            "The second attempt ran longer than the first: [[E1:1.elapsed_s]] against [[E1.elapsed_s]].",
            "The first XID, [[E7.xid]], was on [[E7.node]]; the second, [[E7:1.xid]], on [[E7:1.node]].",
        ],
        [
            "The first attempt ended as [[E1:1.state]], the second as [[E1.state]].",
            "The job had three attempts: the first ended as [[E1.state]], the second as [[E1:1.state]].",
            "The first attempt ran on [[E1:1.node_list]], and the second started at [[E1:1.start_ts]].",
            "The first attempt ran longer than the second: [[E1.elapsed_s]] against [[E1:1.elapsed_s]].",
            "The second attempt ran longer than the first: [[E1.elapsed_s]] against [[E1:1.elapsed_s]].",
            "The first XID, [[E7:1.xid]], was on [[E7:1.node]]; the second, [[E7.xid]], on [[E7.node]].",
        ],
    ),
    "multiples and parts": (
        [
            "[[E3.name]] was raised twice as often as [[E3:1.name]] ([[E3.events]] against [[E3:1.events]]).",
            "The loss more than doubled, from [[E5.first_loss]] to [[E5.last_loss]].",
            "The second attempt used about half of its limit ([[E1:1.limit_share]]).",
            "It was requeued twice ([[E2.restarts]]).",
        ],
        [
            "[[E3:1.name]] was raised twice as often as [[E3.name]] ([[E3:1.events]] against [[E3.events]]).",
            "[[E3.name]] was raised three times as often as [[E3:1.name]] ([[E3.events]] against [[E3:1.events]]).",
            "[[E3:1.name]] was raised twice as often as [[E3.name]] ([[E3.events]] against [[E3:1.events]]).",
            "The loss tripled, from [[E5.first_loss]] to [[E5.last_loss]].",
            "The loss halved, from [[E5.last_loss]] to [[E5.first_loss]].",
            "The second attempt used about a quarter of its limit ([[E1:1.limit_share]]).",
            "The second attempt used nearly half of its limit ([[E1:1.limit_share]]).",
            "It was requeued three times ([[E2.restarts]]).",
        ],
    ),
    "counts": (
        [
            "Two checkpoints were saved, at steps [[E4.step]] and [[E4:1.step]].",
            "Each of the two attempts held [[E1.gpus]] GPUs.",
            "The two attempts ran on different nodes: [[E1.node_list]] and [[E1:1.node_list]].",
            "The attempts did not run on the same node: first [[E1.node_list]], then [[E1:1.node_list]].",
            "Three jobs of [[E9.user]] ended as [[E9.state]].",
            "One of its [[E10.job_nodes]] nodes, [[E10.node]], went down.",
            "It restarted just [[E2.restarts]] times.",
            "All planned steps were done: [[E5.last_step]] of [[E5.total_steps]].",
        ],
        [
            "Three checkpoints were saved, at steps [[E4.step]] and [[E4:1.step]].",
            "One checkpoint was saved, at step [[E4.step]].",
            "Each of the three attempts held [[E1.gpus]] GPUs.",
            "The two attempts ran on the same node: [[E1.node_list]] and [[E1:1.node_list]].",
            "The attempts did not hold the same gpus: first [[E1.gpus]], then [[E1:1.gpus]].",
            "Four jobs of [[E9.user]] ended as [[E9.state]].",
            "Three jobs ended as [[E9.state]].",
            "Two of its [[E10.job_nodes]] nodes went down ([[E10.state]]).",
            "Its two nodes went down ([[E10.state]]).",
            "Only rank [[E7.gpu]] got it.",
            "All planned steps were done: [[E5.last_step]] of [[E5.last_loss]].",
        ],
    ),
    "comparisons": (
        [
            "The loss ended higher than it had begun: [[E5.last_loss]] against [[E5.first_loss]].",
            "The first loss was [[E5.first_loss]], slightly above its minimum of [[E5.min_loss]].",
        ],
        [
            "The loss ended lower than it had begun: [[E5.last_loss]] against [[E5.first_loss]].",
            "The loss ended higher than it had begun: [[E5.first_loss]] against [[E5.min_loss]].",
            "The last loss was [[E5.last_loss]], slightly above its minimum of [[E5.min_loss]].",
        ],
    ),
    "denials": (
        [
            "None of the earlier attempts failed ([[E2.failed_attempts]]).",
            "Nobody cancelled it ([[E6.state]]).",
            "It did not fail: it ended as [[E6.state]].",
            "The log holds no exception ([[E8.row_count]]).",
            "No exception was logged ([[E8.row_count]]).",
            "No exceptions were logged: [[E8.row_count]] were found.",
            "The log shows no Python exception ([[E8.row_count]]).",
        ],
        [
            "None of the earlier attempts completed ([[E2.failed_attempts]]).",
            "It was not preempted ([[E1:1.state]]).",
            "It did not complete ([[E6.state]]).",
            "Nobody killed it ([[E6.state]]).",
            "No exception was raised ([[E8.row_count]]).",
            "No error was logged: [[E8.row_count]] were found.",
            "No exception was logged by the kernel ([[E8.row_count]]).",
            "No exception was raised by what logged ([[E8.row_count]] events).",
            "The log holds no error ([[E8.row_count]]).",
            "The log holds no checkpoint ([[E8.row_count]]).",
            "The log holds no exception and no warning ([[E8.row_count]]).",
        ],
    ),
}


@pytest.mark.parametrize("text", [t for true, _ in TWINS.values() for t in true])
def test_what_the_cells_bear_out_passes(text: str, held: Ledger) -> None:
    assert passes(text, held)


@pytest.mark.parametrize("text", [t for _, false in TWINS.values() for t in false])
def test_its_false_twin_does_not(text: str, held: Ledger) -> None:
    assert not passes(text, held)
