"""Which attempt it is of, how many came before it, and what was allowed: true of the rows it passes, else it is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import Ledger
from store.result import Cell
from tests.agent_tools.gate.gatekit import pairs, result

DOCS = {
    "earlier_gpu_hours": "GPU time that they held",
    "elapsed_s": "time running",
    "time_limit_s": "wall-clock limit",
    "limit_share": "time running over the limit",
}
UNITS = {"elapsed_s": "s", "time_limit_s": "s", "limit_share": "ratio", "earlier_gpu_hours": "h"}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 three attempts, E2 what the log is of, E3 its loss, E4 the requeues; of another job E5 its one attempt, E6 its events, E7 its loss."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...], job: str = "4812") -> None:
        made = result(name, {c: UNITS.get(c, "") for c in columns.split()}, list(rows), docs=DOCS)
        book.record(replace(made, params={"job_id": job}), name, {})

    t = "2026-06-02T10:{}:00Z".format
    ask(
        "job_attempts",
        "attempt state start_ts end_ts",
        (1, "PREEMPTED", t("00"), t("10")), (2, "PREEMPTED", t("12"), t("20")), (3, "COMPLETED", t("21"), t("51")),
    )  # fmt: skip
    ask("log_attempts", "attempt reports", (3, 49))
    ask("loss_shape", "start_loss end_loss best_loss", (6.1, 1.92, 1.9))
    ask("requeue_history", "attempts preempted_attempts earlier_gpu_hours", (3, 2, 5.25))
    ask(
        "job_attempts",
        "attempt state start_ts end_ts elapsed_s time_limit_s limit_share node_count gpus",
        (1, "TIMEOUT", t("00"), t("40"), 2400.0, 2400.0, 1.0, 4, 32),
        job="90",
    )
    ask(
        "log_events",
        "kind name severity message",
        ("exception", "KeyError", "fatal", "'mask'"), ("exception", "UserWarning", "warning", "odd"),
        job="90",
    )  # fmt: skip
    ask("loss_shape", "start_loss end_loss best_loss", (6.1, 2.9, 1.9), job="90")
    ask("process_exits", "rank pid end_ts", (3, 71, t("39")), job="90")
    book.show_all()
    return book


SAID = [
    ("The loss of the first attempt fell from {E3.start_loss} to {E3.end_loss}.", "The loss of the last attempt fell from {E3.start_loss} to {E3.end_loss}."),
    ("The loss of the second attempt fell from {E3.start_loss} to {E3.end_loss}.", "The loss fell from {E3.start_loss} to {E3.end_loss}."),
    ("The last attempt ended at {E1:1.end_ts}.", "The last attempt ended at {E1:2.end_ts}."),
    ("The three earlier attempts together held {E4.earlier_gpu_hours} of GPU time.", "The two earlier attempts together held {E4.earlier_gpu_hours} of GPU time."),
    ("The two last attempts together held {E4.earlier_gpu_hours} of GPU time.", "The two earlier attempts together held {E4.earlier_gpu_hours} of GPU time."),
    ("It ran {E5.time_limit_s} of the {E5.elapsed_s} that it was allowed.", "It ran for {E5.elapsed_s} of the time limit, {E5.time_limit_s}, that it was allowed."),
    ("All {E5.gpus} nodes were allocated.", "All {E5.node_count} nodes were allocated."),
    ("All {E5.node_count} nodes were lost.", "All {E5.gpus} GPUs were allocated."),
    ("The program failed with {E6:1.name}: {E6:1.message}.", "The program failed with {E6.name}: {E6.message}."),
    ("The program never failed with {E6.name}: {E6.message}.", "The job then failed with {E6.name}: {E6.message}."),
    ("The program failed with {E6.name} before {E5.start_ts}.", "The program failed with {E6.name}: {E6.message}."),
    ("The loss ended at {E7.end_loss}, close to its best, {E7.best_loss}.", "The loss ended at {E3.end_loss}, close to its best, {E3.best_loss}."),
    ("Rank {E8.rank} was gone at {E8.end_ts}, after the job itself ended at {E5.end_ts}.", "Rank {E8.rank} was gone at {E8.end_ts}, before the job itself ended at {E5.end_ts}."),
    ("Rank {E8.rank} was gone until {E8.end_ts}.", "Rank {E8.rank} was gone at {E8.end_ts}."),
    ("It ran until the limit was hit in its first attempt, {E1.state}.", "It ran {E5.elapsed_s}, until the limit was hit: {E5.state}."),
]  # fmt: skip


test_what_the_rows_do_not_bear_out_is_refused, test_what_the_rows_bear_out_passes = pairs(SAID)
