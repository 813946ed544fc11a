"""Words that a sentence borrows from what is not its own: another job's evidence, a column's list of values, a neighbour's extreme."""

from __future__ import annotations

from functools import partial

import pytest

from agent_tools.evidence import Ledger
from store.result import Cell, Coverage, Result, ResultColumn
from tests.agent_tools.gate import gatekit

A, B = {"job_id": "77"}, {"job_id": "78"}
DOCS = {
    "name": "saving, saved, loading, loaded, resumed, none_found, from_scratch, failed",
    "value": 'the user, node or day, or "all"; NULL where it is not known',
    "ranks": "ranks that raised it, where ranks are told apart",
    "failed": "attempts that failed, timed out or lost their node",
    "last_loss": "last loss",
    "bad_points": "reports whose loss is not finite",
    "min_loss": "lowest loss",
    "max_loss": "highest loss",
    "failed_attempts": "attempts before the last that ended in failure, time-out or out of memory",
}


def answer(name: str, columns: str, rows: list[tuple[Cell, ...]], params: dict[str, str]) -> Result:
    """A result of a query with descriptions of its columns."""
    named = tuple(ResultColumn(c, "VARCHAR", "", DOCS.get(c, "")) for c in columns.split())
    return Result(
        name,
        f"SELECT * FROM {name} -- {params}",
        {**params},
        named,
        tuple(rows),
        len(rows),
        False,
        (Coverage(name, 1, len(rows)),),
    )


@pytest.fixture
def held() -> Ledger:
    """E10 attempts of job 79, E11 its node's failure, E12 a GPU's memory, E13 a host's, E14 ranks, E15 no checkpoint of 78, E16 two GPUs; E1 attempts of job 77, E2 nodes of job 78, E3 a checkpoint, E4 a tally, E5 losses, E6 exceptions, E7 a node's failure, E8 events of
    77, E9 jobs of the fleet."""
    book = Ledger()
    ran: list[tuple[Cell, ...]] = [("FAILED", "cn-1", "2026-05-01T08:00:00Z", "2026-05-01T09:00:00Z")]
    book.record(answer("job_attempts", "state node_list start_ts end_ts", ran, A), "overview", {})
    book.record(answer("job_nodes", "node", [("cn-9",)], B), "nodes", {})
    book.record(answer("checkpoints", "name step", [("resumed", 50)], A), "checkpoints", {})
    book.record(
        answer("fleet_tally", "value attempts failed", [("cn-1", 15, 10), ("cn-2", 4, 1)], {}), "fleet_tally", {}
    )
    book.record(answer("train_summary", "last_loss min_loss max_loss", [(2.36, 2.29, 6.65)], A), "training_curve", {})
    book.record(answer("exceptions", "exception ranks", [("KeyError", 3)], A), "exceptions", {})
    book.record(
        answer(
            "node_failures",
            "node state reason since_ts",
            [("cn-1", "DOWN", "Not responding", "2026-05-01T08:40:00Z")],
            A,
        ),
        "nodes",
        {},
    )
    told: list[tuple[Cell, ...]] = [("started", "2026-05-01T08:00:00Z"), ("requeued", "2026-05-01T08:30:00Z")]
    book.record(answer("job_events", "event event_ts", told, A), "events", {})
    jobs: list[tuple[Cell, ...]] = [("77", "FAILED", "cn-1"), ("78", "PENDING", "cn-9")]
    book.record(answer("find_jobs", "job_id state node_list", jobs, {}), "find_jobs", {})
    tries: list[tuple[Cell, ...]] = [(1, 60.0, "2026-05-01T08:00:00Z"), (2, 90.0, "2026-05-01T08:30:00Z")]
    book.record(answer("job_attempts", "attempt elapsed_s start_ts", tries, {"job_id": "79"}), "overview", {})
    left: list[tuple[Cell, ...]] = [("cn-1", "DOWN", "Not responding", 1800.0)]
    book.record(answer("node_failures", "node state reason before_end_s", left, {"job_id": "79"}), "nodes", {})
    book.record(answer("oom_events", "gpu requested_gib free_gib", [(1, 7.1, 0.7)], A), "oom", {})
    book.record(answer("host_events", "node event rss_gib", [("cn-1", "oom_kill", 200.0)], A), "host", {})
    book.record(answer("rank_compare", "rank behind step_time_s", [(4, 0, 4.5)], A), "ranks", {})
    book.record(answer("checkpoints", "name step", [], B), "checkpoints", {})
    hot: list[tuple[Cell, ...]] = [("cn-1", 0, 0.0, 0), ("cn-1", 1, 0.5, 0)]
    book.record(answer("gpu_summary", "node gpu throttled_share bad_points", hot, A), "gpu_summary", {})
    book.show_all()
    book.mark_shown("E15", [0], ["row_count"])
    return book


passes = partial(gatekit.passes, good="The job ended as [[E1.state]].")


@pytest.mark.parametrize(
    "text",
    [
        "The job ran on [[E1.node_list]] and ended as [[E1.state]].",
        "It resumed from step [[E3.step]].",
        "On [[E4.value]] [[E4.failed]] of [[E4.attempts]] attempts failed.",
        "The loss ended at [[E5.last_loss]], above its minimum of [[E5.min_loss]].",
        "The highest loss was [[E5.max_loss]] and the lowest [[E5.min_loss]].",
        "[[E6.exception]] was raised on [[E6.ranks]] ranks.",
        "[[E7.node]] went [[E7.state]] at [[E7.since_ts]], before the job had ended.",
        "It was requeued at [[E8:1.event_ts]], after it had started at [[E8.event_ts]].",
        "Job [[E9.job_id]] ended as [[E1.state]], and job [[E9:1.job_id]] is [[E9:1.state]].",
        "The first attempt lasted [[E10.elapsed_s]], the second [[E10:1.elapsed_s]].",
        "[[E11.node]] went [[E11.state]] [[E11.before_end_s]] before the end of the second attempt.",
        "On GPU [[E12.gpu]] [[E12.requested_gib]] were requested and [[E12.free_gib]] were free.",
        "A step took [[E14.step_time_s]].",
        "On [[E4.value]] most attempts failed: [[E4.failed]] of [[E4.attempts]].",
        "The log announces no checkpoint ([[E15.row_count]]).",
        "The log announces [[E15.row_count]] checkpoints.",
        "GPU [[E16.gpu]] of [[E16.node]] was not throttled ([[E16.throttled_share]]).",
        "On GPU [[E12.gpu]] [[E12.free_gib]] were free.",
    ],
)
def test_what_is_told_as_its_own_passes(text: str, held: Ledger) -> None:
    assert passes(text, held)


@pytest.mark.parametrize(
    "text",
    [
        "The job ran on [[E2.node]] and ended as [[E1.state]].",
        "It ended as [[E1.state]], and ran on [[E9:1.node_list]].",
        "The run started from scratch ([[E3.name]]).",
        "All attempts on [[E4.value]] failed ([[E4.failed]]).",
        "The loss ended at [[E5.last_loss]], its minimum.",
        "The highest loss was [[E5.min_loss]] and the lowest [[E5.max_loss]].",
        "The loss was [[E5.min_loss]] at its highest and [[E5.max_loss]] at its lowest.",
        "[[E6.exception]] was raised on rank [[E6.ranks]].",
        "[[E7.node]] went down before the job had started ([[E7.since_ts]]).",
        "[[E7.node]] went down after the job's end.",
        "It was requeued before it had started at [[E8.event_ts]] ([[E8:1.event_ts]]).",
        "Job [[E9:1.job_id]] is running.",
        "The first attempt lasted [[E10:1.elapsed_s]], the second [[E10.elapsed_s]].",
        "The first attempt lasted [[E10:1.elapsed_s]].",
        "[[E11.node]] went [[E11.state]] [[E11.before_end_s]] before the end of the first attempt.",
        "On GPU [[E12.gpu]] [[E12.free_gib]] were requested and [[E12.requested_gib]] were free.",
        "Host memory ran out ([[E12.requested_gib]]).",
        "A GPU ran out of memory on [[E13.node]] ([[E13.rss_gib]]).",
        "An epoch took [[E14.step_time_s]].",
        "Rank [[E14.rank]] was behind ([[E14.behind]]).",
        "Most attempts on [[E4:1.value]] failed ([[E4:1.failed]] of [[E4:1.attempts]]).",
        "Most attempts on [[E4.value]] failed ([[E4.failed]]).",
        "A checkpoint is announced in the log ([[E15.row_count]]).",
        "The log announces [[E15.row_count]] exceptions.",
        "The log's [[E15.row_count]] checkpoints ended the job.",
        "No GPU was throttled ([[E16.throttled_share]]).",
        "No GPU of [[E16.node]] was throttled ([[E16.throttled_share]]).",
        "No loss was finite ([[E16.bad_points]]).",
        "GPU [[E12.gpu]] had [[E12.requested_gib]] free.",
        "[[E6.exception]] was raised by [[E1.node_list]].",
    ],
)
def test_what_is_borrowed_does_not(text: str, held: Ledger) -> None:
    assert not passes(text, held)
