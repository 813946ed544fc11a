"""Is a cell told as what it holds: its yes or no, its kind of average, its side of a moment, and of how many rows it is so?"""

from __future__ import annotations

from functools import partial

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.agreement import disagreement
from agent_tools.gate.clauses import clauses
from agent_tools.gate.labels import mislabelled
from agent_tools.gate.tellings import mistold
from store.result import Cell, Coverage, Result, ResultColumn
from tests.agent_tools.gate import gatekit

JOB = {"job_id": "77"}
DOCS = {
    "never_entered": "everything that it enqueued is completed while others wait in a later collective",
    "comm_size": "ranks in it",
    "last_seq": "last completed",
    "before_end_s": "seconds from it to the job's end",
    "sent_back": "attempts that were preempted or requeued",
    "failed": "attempts that failed, timed out or lost their node",
    "max_gap_s": "longest time between two launches",
    "peak_gib": "highest memory, its limit apart",
    "last_ts": "last sample",
    "asked_step": "step in the name of the checkpoint that it asks for",
}
UNITS = {
    "before_end_s": "s",
    "max_gap_s": "s",
    "peak_gib": "GiB",
    "limit_gib": "GiB",
    "mean_s": "s",
    "median_s": "s",
    "wait_s": "s",
    "time_limit_s": "s",
}


@pytest.fixture
def held() -> Ledger:
    """E1 attempts, E2 ranks of a collective, E3 a counter's rise, E4 a tally of users, E5 runs by name, E6 a resumption, E7 saves,
    E8 probes of ranks, E9 losses, E10 the training's reports, E11 jobs of the fleet, E12 host memory, E13 a job that
    waits, E14 one that was sent back."""
    book = Ledger()

    def ask(name: str, columns: str, rows: list[tuple[Cell, ...]], params: dict[str, str]) -> None:
        named = tuple(ResultColumn(c, "VARCHAR", UNITS.get(c, ""), DOCS.get(c, "")) for c in columns.split())
        text = f"SELECT * FROM {name} -- {params}"
        cover = (Coverage(name, 1, len(rows)),)
        book.record(Result(name, text, {**params}, named, tuple(rows), len(rows), False, cover), name, {})

    tries: list[tuple[Cell, ...]] = [
        (1, "PREEMPTED", "2026-05-01T08:00:00Z", "2026-05-01T08:20:00Z", 60.0, 7200.0),
        (2, "COMPLETED", "2026-05-01T08:30:00Z", "2026-05-01T09:00:00Z", 600.0, 7200.0),
    ]
    ask("job_attempts", "attempt state start_ts end_ts wait_s time_limit_s", tries, JOB)
    rises: list[tuple[Cell, ...]] = [(3, "remap_failure", 27.0, 1), (3, "remapped_uncorrectable", 27.0, 3)]
    ask("nccl_progress", "rank comm_size last_seq never_entered", [(0, 2, 41, True), (1, 2, 40, False)], JOB)
    ask("gpu_counter_rises", "gpu counter before_end_s last_value", rises, JOB)
    ask("fleet_tally", "value attempts failed sent_back", [("wen", 16, 9, 1), ("mira", 9, 2, 1)], {})
    ask("sql", "name mean_s median_s", [("gpt", 54.3, 48.0), ("sft", 92.2, 88.0)], {})
    ask("resume_signs", "asked_step first_step", [(600, 20)], JOB)
    saves: list[tuple[Cell, ...]] = [("saved", 200, "2026-05-01T08:40:00Z"), ("saved", 400, "2026-05-01T08:50:00Z")]
    ask("checkpoints", "name step checkpoint_ts", saves, JOB)
    ask("rank_compare", "rank max_gap_s last_ts", [(0, 30.0, "2026-05-01T08:59:00Z")], JOB)
    losses: list[tuple[Cell, ...]] = [(2.6, 500, 22.1, 940, 22.1, 940)]
    ask("loss_shape", "best_loss best_step highest_loss highest_step last_loss last_step", losses, JOB)
    ask("train_summary", "last_step last_ts", [(940, "2026-05-01T08:45:00Z")], JOB)
    ask("find_jobs", "job_id attempt state", [("80", 2, "COMPLETED"), ("81", 1, "COMPLETED")], {})
    ask("cgroup_peaks", "node peak_gib limit_gib", [("cn-1", 80.0, 256.0)], JOB)
    ask("job_attempts", "attempt state gpus", [(1, "PENDING", 16)], {"job_id": "90"})
    back: list[tuple[Cell, ...]] = [(1, "REQUEUED", "2026-05-01T08:00:00Z", "cn-1")]
    ask("job_attempts", "attempt state start_ts node_list", back, {"job_id": "91"})
    book.show_all()
    return book


passes = partial(gatekit.passes, good="The job ended as [[E1:1.state]].")


@pytest.mark.parametrize(
    "text",
    [
        "It came [[E3.before_end_s]] before the end of the job.",
        "The mean of [[E5.name]] was [[E5.mean_s]] and its median [[E5.median_s]].",
        "The run was asked to resume from step [[E6.asked_step]].",
        "The first attempt waited for [[E1.wait_s]].",
        "Training went on until [[E10.last_ts]].",
        "Job [[E11:1.job_id]] completed in its first attempt ([[E11:1.attempt]]).",
        "The checkpoint at step [[E7.step]] was saved by attempt [[E1:1.attempt]].",
        "On [[E4.value]] [[E4.failed]] attempts failed.",
        "[[E4.value]] and [[E4:1.value]] had [[E4.failed]] and [[E4:1.failed]] failed attempts.",
        "The loss ended at [[E9.last_loss]].",
        "The first attempt ran on [[E14.node_list]].",
        "On [[E12.node]] the peak was [[E12.peak_gib]], beside a limit of [[E12.limit_gib]].",
    ],
)
def test_what_a_cell_holds_passes(text: str, held: Ledger) -> None:
    assert passes(text, held)


@pytest.mark.parametrize(
    "text",
    [
        "Rank [[E2:1.rank]] never entered the collective ([[E2:1.never_entered]]).",
        "Rank [[E2.rank]] entered the collective ([[E2.never_entered]]).",
        "It came [[E3.before_end_s]] after the exception.",
        "It came [[E3.before_end_s]] before the exception.",
        "The median run of [[E5.name]] took [[E5.mean_s]].",
        "The run resumed from step [[E6.asked_step]].",
        "The job was pending for [[E1.time_limit_s]].",
        "The job was stuck for [[E1:1.wait_s]].",
        "The attempt held its GPUs for [[E1.wait_s]].",
        "Training went on until [[E8.last_ts]].",
        "Rank [[E8.rank]] stopped [[E8.max_gap_s]] before the end.",
        "Job [[E11.job_id]] completed in its first attempt ([[E11.attempt]]).",
        "The checkpoint at step [[E7.step]] was saved by attempt [[E1.attempt]].",
        "All [[E2.comm_size]] ranks completed [[E2.last_seq]] collectives.",
        "[[E4.value]] and [[E4:1.value]] each had an attempt preempted ([[E4.sent_back]]).",
        "On [[E4.value]] [[E4.failed]] attempts timed out.",
        "In total [[E4.attempts]] attempts ran on the cluster.",
        "The best loss, [[E9.best_loss]], came at the end.",
        "It was job [[E11.job_id]] that preempted the job.",
        "[[E4.value]] and [[E4:1.value]] had [[E4:1.failed]] and [[E4.failed]] failed attempts.",
        "The users together had [[E4.failed]] failures.",
        "The average rank completed [[E2.last_seq]] collectives.",
        "The loss started at [[E9.last_loss]].",
        "The limit of [[E12.peak_gib]] was reached on [[E12.node]].",
        "The exception came [[E3.before_end_s]] before the job's end.",
        "GPU [[E3.gpu]] has [[E3.last_value]] remapped rows.",
        "The job stopped at step [[E7:1.step]].",
        "The job holds [[E13.gpus]] GPUs.",
    ],
)
def test_what_it_does_not_hold_is_refused(text: str, held: Ledger) -> None:
    assert disagreement(text, held) or mislabelled(text, held)
    assert not passes(text, held)


def test_a_yes_is_told_by_the_words_of_its_column(held: Ledger) -> None:
    told = clauses("Rank [[E2.rank]] never entered the collective ([[E2.never_entered]]).", held)
    assert not any(mistold(c, held) for c in told)


def test_one_may_be_set_against_the_median(held: Ledger) -> None:
    told = clauses("Rank [[E2.rank]] completed [[E2.last_seq]] collectives, as many as the median rank.", held)
    assert not any(mistold(c, held) for c in told)


def test_a_highest_that_is_the_last_may_be_put_to_the_end(held: Ledger) -> None:
    told = clauses("The highest loss, [[E9.highest_loss]], came at the end.", held)
    assert not any(mistold(c, held) for c in told)
