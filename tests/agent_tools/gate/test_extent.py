"""What is said of each, of all others, or of more than any other: held against every row of the cited answer."""

from __future__ import annotations

from functools import partial

import pytest

from agent_tools.evidence import Ledger
from store.result import Cell, Coverage, Result, ResultColumn
from tests.agent_tools.gate import gatekit

JOB = {"job_id": "77"}
UNITS = {
    "elapsed_s": "s",
    "time_limit_s": "s",
    "limit_share": "ratio",
    "peak_gib": "GiB",
    "last_gib": "GiB",
    "idle_share": "ratio",
}
DOCS = {
    "elapsed_s": "time running",
    "limit_share": "time running over the limit",
    "ranks": "ranks on it",
    "processes": "processes on it",
    "behind": "collectives behind the farthest",
    "peak_gib": "highest memory",
    "last_gib": "memory at the last sample",
    "bad_points": "reports whose loss is not finite",
    "exit_signal": "signal that ended it",
    "idle_share": "share of the samples in which it did nothing",
}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 the attempt of two nodes and three GPUs, E2 its nodes, E3 its processes, E4 its GPUs, E5 a tally, E6 its loss, E7 its saves, E8 a
    node's failures, E9 ranks that not all were watched, E10 the job's end, E11
    exceptions, E12 the training."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...], job: bool = True) -> None:
        named = tuple(ResultColumn(c, "VARCHAR", UNITS.get(c, ""), DOCS.get(c, "")) for c in columns.split())
        params = {**JOB} if job else {}
        cover = (Coverage(name, 1, len(rows)),)
        book.record(Result(name, f"SELECT * FROM {name}", params, named, rows, len(rows), False, cover), name, {})

    t = "2026-05-01T08:{}:00Z".format
    ask(
        "job_attempts",
        "attempt state start_ts end_ts elapsed_s time_limit_s limit_share gpus node_count",
        (1, "FAILED", t("00"), t("59"), 3540.0, 7200.0, 0.49, 3, 2),
    )
    ask("job_nodes", "node ranks processes", ("cn-1", 2, 2), ("cn-2", 2, 1))
    ask("process_exits", "rank exit_code exit_signal", (0, 1, None), (1, None, 15), (2, None, 15))
    ask(
        "gpu_summary",
        "node gpu peak_gib last_gib idle_share",
        ("cn-1", 0, 30.5, 20.0, 1.0),
        ("cn-1", 1, 31.5, 20.0, 1.0),
        ("cn-2", 0, 29.5, 20.0, 1.0),
    )
    ask("fleet_tally", "value attempts failed", ("wen", 16, 9), ("mira", 9, 2), ("dario", 9, 8), job=False)
    ask("loss_shape", "points bad_points highest_loss last_loss", (72, 0, 9.5, 2.5))
    ask("checkpoints", "name step", ("saving", 200), ("saving", 400))
    ask("node_failures", "node state since_ts", ("cn-1", "DOWN", t("20")), ("cn-1", "DOWN", t("40")))
    ask("rank_compare", "rank behind", (0, 0), (1, 0))
    ask("job_overview", "state exit_code", ("FAILED", 9))
    ask(
        "exceptions",
        "name message line_no",
        ("OSError", "No space left: ran out of space", 70),
        ("ChildFailedError", "", 76),
    )
    ask("train_summary", "best_step last_step total_steps", (300, 640, 900))
    book.show_all()
    return book


passes = partial(gatekit.passes, good="The job ended as [[E1.state]].")


@pytest.mark.parametrize(
    "text",
    [
        "Each node ran [[E2.ranks]] ranks.",
        "Both nodes had [[E2.ranks]] ranks each.",
        "All [[E1.gpus]] GPUs stayed idle for [[E4.idle_share]] of the time.",
        "Rank [[E3.rank]] exited with code [[E3.exit_code]]; the other ranks were ended by signal [[E3:1.exit_signal]].",
        "Rank [[E3.rank]] exited with code [[E3.exit_code]]; all others were terminated by signal [[E3:2.exit_signal]].",
        "[[E5.value]] had more attempts than any other user ([[E5.attempts]]).",
        "[[E5:1.value]] had fewer failed attempts than anybody else ([[E5:1.failed]]).",
        "The loss never exceeded [[E6.highest_loss]].",
        "No loss was NaN or infinite ([[E6.bad_points]]).",
        "It used [[E1.limit_share]] of its time limit.",
        "The job failed after [[E1.elapsed_s]], well within its limit of [[E1.time_limit_s]].",
        "Two checkpoints were being saved, the last at step [[E7:1.step]].",
        "The final checkpoint is at step [[E7:1.step]].",
        "[[E8.node]] went down at [[E8.since_ts]] and again at [[E8:1.since_ts]].",
        "The GPUs stayed idle for [[E4.idle_share]] of the time.",
        "Rank [[E3.rank]] exited with code [[E3.exit_code]].",
        "The job ran on [[E2.node]] and [[E2:1.node]], and [[E11.name]] was raised: [[E11.message]].",
        "[[E11.name]] was raised first, [[E11:1.name]] after it.",
        "The run stopped at step [[E12.last_step]].",
    ],
)
def test_what_every_row_bears_out_passes(text: str, held: Ledger) -> None:
    assert passes(text, held)


@pytest.mark.parametrize(
    "text",
    [
        "Each node ran [[E2.processes]] processes.",
        "Both nodes had [[E2:1.processes]] processes each.",
        "All [[E1.gpus]] GPUs peaked at [[E4.peak_gib]].",
        "All [[E1.node_count]] GPUs stayed idle for [[E4.idle_share]] of the time.",
        "Both GPUs stayed idle for [[E4.idle_share]] of the time.",
        "Rank [[E3:1.rank]] was ended by signal [[E3:1.exit_signal]]; the other ranks were ended by signal [[E3:2.exit_signal]].",
        "Every rank was ended by signal [[E3:1.exit_signal]].",
        "Each rank was [[E9.behind]] collectives behind.",
        "[[E5:1.value]] had more attempts than any other user ([[E5:1.attempts]]).",
        "[[E5:1.value]] had fewer attempts than anybody else ([[E5:1.attempts]]).",
        "[[E5:2.value]] had fewer failed attempts than any other user ([[E5:2.failed]]).",
        "The loss never exceeded [[E6.last_loss]].",
        "The memory never exceeded [[E4.last_gib]].",
        "The loss never exceeded [[E6.points]].",
        "It used [[E1.time_limit_s]] of its time limit.",
        "The job waited in vain for [[E1.time_limit_s]], well within its limit of [[E1.elapsed_s]].",
        "Two checkpoints were saved, the last at step [[E7:1.step]].",
        "The final checkpoint is at step [[E7.step]].",
        "The newest checkpoint is at step [[E7.step]].",
        "[[E8.node]] went down at [[E8:1.since_ts]] and again at [[E8.since_ts]].",
        "Rank [[E9:1.rank]] fell behind by [[E9:1.behind]].",
        "The GPUs peaked at [[E4.peak_gib]].",
        "Rank [[E3:1.rank]] exited with [[E10.exit_code]].",
        "Node [[E2.node]] ran out of space: [[E11.message]].",
        "[[E11:1.name]] was raised first, [[E11.name]] after it.",
        "The job asked for steps but stopped at step [[E12.best_step]].",
    ],
)
def test_what_a_row_denies_does_not(text: str, held: Ledger) -> None:
    """The same words about a row that stands apart, a part of the job's, one that is level with another, or another figure."""
    assert not passes(text, held)
