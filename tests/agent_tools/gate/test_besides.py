"""Small words about the others, the whole and what came back, and what no job is: true of the rows they pass, else they are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import FOUND, Ledger
from agent_tools.gate.fleetnone import asked_of_fleet, no_job
from store.result import Cell
from tests.agent_tools.gate.gatekit import pairs, result

DOCS = {
    "before_end_s": "seconds from it to the job's end",
    "last_step": "last step reported",
    "limit_share": "time running over the limit",
}
UNITS = {"before_end_s": "s", "limit_share": "ratio", "peak_gib": "GiB", "elapsed_s": "s"}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 the attempt, E2 peaks of two nodes, E3 a node's states, E4 an XID, E5 two of another, E6 a job that waits, E7 one that waits for room,
    E8 events, E9 a log of one event, E10 its training, E11 its loss, E12 two attempts, E13 a cancelled job, E14 to E17 empty answers."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...], **params: Cell) -> str:
        made = result(name, {c: UNITS.get(c, "") for c in columns.split()}, list(rows), docs=DOCS)
        return book.record(replace(made, params=params) if params else made, name, {}).id

    t = "2026-06-02T10:{}:00Z".format
    ask(
        "job_attempts",
        "attempt state start_ts end_ts node_list node_count limit_share",
        (1, "FAILED", t("00"), t("50"), "rk-1,rk-2", 2, 0.4),
    )
    ask("cgroup_peaks", "node peak_gib", ("rk-1", 20.0), ("rk-2", 90.0))
    ask(
        "node_states",
        "node state begin_ts until_ts before_end_s troubled lost",
        ("rk-2", "DOWN", t("49"), t("55"), 60.0, True, True), ("rk-2", "IDLE", t("55"), None, -300.0, False, False), ("rk-1", "IDLE", t("51"), None, -60.0, False, False),
    )  # fmt: skip
    ask("gpu_events", "node gpu event xid events event_ts before_end_s", ("rk-2", 1, "xid", 48, 1, t("49"), 45.0))
    ask(
        "gpu_events_late",
        "node gpu event xid events before_end_s",
        ("rk-2", 1, "xid", 48, 1, 45.0),
        ("rk-1", 0, "xid", 48, 1, 40.0),
    )
    ask("job_overview", "state state_reason submit_ts gpus", ("PENDING", "Dependency", t("00"), 8))
    ask("job_overview_too", "state state_reason submit_ts gpus", ("PENDING", "Resources", t("00"), 8))
    ask(
        "log_events",
        "kind name line_no file message times",
        ("exception", "OSError", 40, "a.log", "[Errno 28] No space left on device", 1), ("checkpoint", "saved", 20, "a.log", "saved 200", 1),
        ("checkpoint", "saved", 30, "a.log", "saved 400", 1), ("exception", "ValueError", 41, "a.log", "bad shape", 1),
    )  # fmt: skip
    ask("log_events", "kind name times ts", ("train_end", "training_done", 1, t("48")))
    ask("train_summary", "last_step total_steps", (830, 1200))
    ask("loss_shape", "start_loss best_loss end_loss best_step", (6.1, 1.9, 2.4, 700))
    ask(
        "find_jobs",
        "job_id attempt state event",
        ("77", 1, "REQUEUED", "X"),
        ("77", 2, "COMPLETED", "X"),
        ("78", 1, "REQUEUED", "Y"),
    )
    ask("job_ends", "user cancelled_by elapsed_s", ("ada", "ada", 60.0), ("bo", "root", 60.0))
    for name, params in (
        ("find_jobs", {"state": "OUT_OF_MEMORY"}),
        ("find_jobs_summary", {"state": "SUSPENDED"}),
        ("find_jobs", {"state": "FAILED", "user": "ada"}),
        ("find_jobs", {"state": "out of memory"}),
    ):
        ask(name, "job_id", **params)
    book.show_all()
    for e in book.all():
        if not e.rows:
            book.mark_shown(e.id, [0], [FOUND])
    return book


SAID = [
    ("Both nodes, {E1.node_list}, failed.", "Both nodes, {E1.node_list}, were allocated."),
    ("All three nodes, {E1.node_list}, were allocated.", "Both nodes, {E1.node_list}, were allocated."),
    ("The other node, {E2:1.node}, peaked at {E2.peak_gib}.", "The other node, {E2.node}, peaked at {E2.peak_gib}."),
    ("Jobs {E12.job_id} and {E12:2.job_id} both raised {E12.event}.", "Jobs {E12.job_id} and {E12:1.job_id} have event {E12.event}."),
    ("Attempts {E12.attempt} and {E12:1.attempt} were requeued.", "Attempt {E12.attempt} of job {E12.job_id} was requeued."),
    ("{E3:2.node} has been back as {E3:2.state} since {E3:2.begin_ts}.", "{E3:1.node} has been back as {E3:1.state} since {E3:1.begin_ts}."),
    ("{E3.node} has been back as {E3.state} since {E3.begin_ts}.", "{E3:1.node} has been back since {E3:1.begin_ts}."),
    ("XID {E5.xid} was logged only once.", "XID {E4.xid} was logged only once."),
    ("The job ended {E3.before_end_s} after the XID.", "The job ended {E4.before_end_s} after the XID."),
    ("The job ended {E4.before_end_s} before the XID.", "The XID came {E4.before_end_s} before the job ended."),
    ("It is pending with the reason {E7.state_reason}: it waits for another job to end.", "It is pending with the reason {E6.state_reason}: it waits for another job to end."),
    ("It has been {E12:1.state} ever since it was submitted.", "It has been {E6.state} ever since it was submitted at {E6.submit_ts}."),
    ("The job has not failed yet: it is {E6.state}.", "The job has not started yet: it is {E6.state}."),
    ("The disk was full: {E8:3.message}.", "The disk was full: {E8.message}."),
    ("The disk was never full: {E8.message}.", "The disk was full: {E8.message}."),
    ("Two checkpoints were lost before the exception in line {E8.line_no}.", "Two checkpoints were saved before the exception in line {E8.line_no}."),
    ("Three checkpoints were saved before the exception in line {E8.line_no}.", "Two checkpoints had been saved before the exception in line {E8.line_no}."),
    ("The save in line {E8:1.line_no} came after the exception in line {E8.line_no}.", "The save in line {E8:1.line_no} came before the exception in line {E8.line_no}."),
    ("The only event in the log is {E8.name}.", "The only event in the log is {E9.name}."),
    ("Training had got up to step {E10.total_steps}.", "Training had got up to step {E10.last_step}."),
    ("Training had got as far as step {E10.total_steps}.", "Training had got as far as step {E10.last_step}."),
    ("Before its best loss of {E11.best_loss}, the loss had risen from {E11.start_loss}.", "Before its best loss of {E11.best_loss}, the loss had fallen from {E11.start_loss}."),
    ("After its best loss of {E11.best_loss}, the loss had fallen from {E11.start_loss}.", "Before its best loss of {E11.best_loss}, the loss had fallen from {E11.start_loss}."),
    ("It was cancelled by {E13:1.cancelled_by}, its own user.", "It was cancelled by {E13.cancelled_by}, its own user."),
    ("Only {E1.limit_share} of the memory had been used when the job failed as {E1.state}.", "Only {E1.limit_share} of the time limit had been used when the job ended as {E1.state}."),
    # what no job is
    ("No job failed ({E14.row_count}).", "No job ended as OUT_OF_MEMORY ({E14.row_count})."),
    ("No job ended as TIMEOUT ({E14.row_count}).", "No job ended as OUT_OF_MEMORY ({E14.row_count})."),
    ("A job ended as OUT_OF_MEMORY ({E14.row_count}).", "No job ended as OUT_OF_MEMORY ({E14.row_count})."),
    ("No job is running ({E15.row_count}).", "No job is suspended ({E15.row_count})."),
    ("No job and no node is suspended ({E15.row_count}).", "No job is suspended at the moment ({E15.row_count})."),
    ("No job ended as FAILED ({E16.row_count}).", "No job is suspended ({E15.row_count})."),
    ("No job ended as OUT_OF_MEMORY ({E17.row_count}).", "No job ended as OUT_OF_MEMORY ({E14.row_count})."),
]  # fmt: skip


test_what_the_rows_do_not_bear_out_is_refused, test_what_the_rows_bear_out_passes = pairs(SAID)


def test_only_a_question_of_one_state_of_all_jobs_says_what_no_job_is() -> None:
    assert asked_of_fleet("find_jobs", {"state": "TIMEOUT", "user": None}) == "TIMEOUT"
    assert asked_of_fleet("find_jobs", {"state": "TIMEOUT", "user": "ada"}) == ""
    assert asked_of_fleet("find_jobs", {}) == ""
    assert asked_of_fleet("slow_nodes", {"state": "TIMEOUT"}) == ""
    assert not no_job("No job is suspended.", [], Ledger())
