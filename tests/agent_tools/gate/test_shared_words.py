"""How near it came, what several have in common, and what there was none of: true of the rows it passes, else it is refused."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from store.result import Cell
from tests.agent_tools.gate.gatekit import pairs, result

DOCS = {
    "bad_points": "reports whose loss is not finite", "points": "reports", "preempt_events": "preemption events", "restarts": "times requeued as Slurm counts",
    "elapsed_s": "time running", "time_limit_s": "wall-clock limit", "limit_share": "time running over the limit", "launches": "kernels launched",
    "completed": "collectives completed", "examined": "attempts with a stored verdict", "attempts": "attempts of jobs",
}  # fmt: skip
UNITS = {"elapsed_s": "s", "time_limit_s": "s", "limit_share": "ratio"}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 three attempts of one job, E2 two of another and one of a third, E3 a log's events, E4 its loss, E5 ranks, E6 saves, E7 counts,
    E8 a node, E9 a job that waits, E10 an exception, E11 another one, E12 a tally, E13 a job that nearly reached its limit."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...]) -> None:
        book.record(result(name, {c: UNITS.get(c, "") for c in columns.split()}, list(rows), docs=DOCS), name, {})

    t = "2026-06-02T10:{}:00Z".format
    ask(
        "job_attempts",
        "attempt state exit_signal start_ts end_ts elapsed_s time_limit_s limit_share node_list",
        (1, "PREEMPTED", 15, t("00"), t("10"), 600.0, 7200.0, 0.083, "rk-1"),
        (2, "PREEMPTED", 15, t("12"), t("20"), 480.0, 7200.0, 0.067, "rk-2"),
        (3, "COMPLETED", 0, t("21"), t("51"), 1800.0, 7200.0, 0.25, "rk-2"),
    )
    ask(
        "find_jobs",
        "job_id attempt state elapsed_s",
        ("77", 2, "TIMEOUT", 900.0),
        ("77", 1, "TIMEOUT", 900.0),
        ("78", 1, "TIMEOUT", 60.0),
    )
    ask(
        "log_events",
        "kind name line_no ts file",
        ("checkpoint", "saved", 20, t("30"), "a.log"), ("checkpoint", "saved", 40, t("40"), "a.log"), ("train_end", "finished", 41, t("50"), "a.log"),
    )  # fmt: skip
    ask("loss_shape", "points bad_points highest_step best_step last_step", (62, 0, 1190, 400, 1200))
    ask("rank_compare", "rank launches completed", (0, 910, 24), (1, 905, 24), (2, 990, 24))
    ask("save_pace", "saves steps", (24, 24), (5, 24))
    ask("requeue_history", "restarts preempt_events attempts", (2, 2, 3))
    lost = ("rk-9", "DOWN", t("05"), t("25"))
    ask("nodes_in_trouble", "node state begin_ts until_ts still lost nodes_still", (*lost, False, True, 0))
    ask("job_overview", "state submit_ts start_ts elapsed_s time_limit_s", ("PENDING", t("02"), None, 0.0, 3600.0))
    ask("exceptions", "name message", ("RendezvousConnectionError", "The connection to the C10d store has failed."))
    ask("exceptions_of_code", "name message", ("AttributeError", "the model has no head"))
    ask("fleet_tally", "attempts examined failed", (35, 0, 20))
    ask("run_before", "state elapsed_s time_limit_s limit_share", ("COMPLETED", 7150.0, 7200.0, 0.993))
    book.show_all()
    return book


SAID = [
    # how near
    ("The save in line {E3.line_no} came right after the one in line {E3:1.line_no}.", "The end in line {E3:2.line_no} came right after the save in line {E3:1.line_no}."),
    ("The end in line {E3:2.line_no} came right before the save in line {E3:1.line_no}.", "The save in line {E3:1.line_no} came right before the end in line {E3:2.line_no}."),
    ("The best loss came at step {E4.best_step}, shortly before the last step, {E4.last_step}.", "The highest loss came at step {E4.highest_step}, shortly before the last step, {E4.last_step}."),
    ("The second attempt began at {E1:1.start_ts}, just after the first had ended at {E1.end_ts}.", "The third attempt began at {E1:2.start_ts}, just after the second had ended at {E1:1.end_ts}."),
    ("It ended after {E13.elapsed_s}, well before its limit of {E13.time_limit_s}.", "It ended after {E1.elapsed_s}, well before its limit of {E1.time_limit_s}."),
    ("It ended just within its time limit, after {E1:2.limit_share} of it.", "It ended just within its time limit, after {E13.limit_share} of it."),
    ("It did not end well within its time limit, after {E1.limit_share} of it.", "It ended well within its time limit, after {E1.limit_share} of it."),
    # what several have in common
    ("All preempted attempts ran for {E1.elapsed_s}.", "Both preempted attempts were ended by signal {E1.exit_signal}."),
    ("Both completed attempts were ended by signal {E1.exit_signal}.", "All preempted attempts were ended by signal {E1.exit_signal}."),
    ("Both preempted attempts ran on {E1.node_list}.", "Both preempted attempts ended by signal {E1.exit_signal}."),
    ("Both attempts of {E2:2.job_id} ended as {E2:2.state}.", "Both attempts of {E2.job_id} ended as {E2.state}."),
    ("Only the third attempt is {E1:2.state}; the other three are {E1.state}.", "Only the third attempt is {E1:2.state}; the other two are {E1.state}."),
    ("Only the first attempt is {E1.state}; the other two are {E1:2.state}.", "The third attempt is {E1:2.state}; the other two are {E1.state}."),
    ("The launches lie between {E5.launches} and {E5:2.launches}.", "The launches lie between {E5:1.launches} and {E5:2.launches}."),
    ("The ranks made the same number of launches, {E5.launches}.", "The ranks completed the same number of collectives, {E5.completed}."),
    ("There were as many saves as steps, {E6:1.saves}.", "There were as many saves as steps, {E6.saves}."),
    ("There were twice as many saves as steps, {E6.saves}.", "There were as many saves as steps, {E6.saves}."),
    ("Slurm counts {E7.restarts} restarts, as many as there were attempts, {E7.attempts}.", "Slurm counts {E7.restarts} restarts, as many as there were preemption events, {E7.preempt_events}."),
    ("Three checkpoints were saved before training finished at {E3:2.ts}.", "Two checkpoints were saved before training finished at {E3:2.ts}."),
    ("Two checkpoints were saved before training finished at {E3:1.ts}.", "Two checkpoints were saved before training finished at {E3:2.ts}."),
    # what there was none of
    ("None of the {E4.points} losses was high ({E4.bad_points}).", "None of the {E4.points} losses was NaN or infinite ({E4.bad_points})."),
    (
        "None of the {E4.points} losses was finite ({E4.bad_points}).",
        "None of the {E4.points} losses was infinite ({E4.bad_points}).",
    ),
    ("None of the {E4.points} losses was finite ({E4.last_step}).", "None of the {E4.points} reports was NaN ({E4.bad_points})."),
    ("None of the {E12.attempts} attempts failed ({E12.failed}).", "None of the {E12.attempts} attempts has a stored verdict yet ({E12.examined})."),
    ("None of the {E12.attempts} attempts failed ({E12.examined}).", "None of the {E12.attempts} attempts has been examined yet ({E12.examined})."),
    ("No node is slow any more ({E8.nodes_still}).", "No node is down any more ({E8.nodes_still})."),
    ("Node {E8.node} has been back since {E8.begin_ts}.", "Node {E8.node} has been back since {E8.until_ts}."),
    ("Node {E8.node} has been gone since {E8.until_ts}.", "Node {E8.node} has been back since {E8.until_ts}."),
    ("The job has run for {E9.elapsed_s}: it never failed.", "The job has run for {E9.elapsed_s}: it never started."),
    ("The job ended as {E1:2.state}: it never started.", "The job is {E9.state}: it never started."),
    ("The job has been waiting until {E9.submit_ts}.", "The job has been waiting since {E9.submit_ts}."),
    ("The ranks gave up connecting: {E11.message}.", "The ranks gave up connecting: {E10.message}."),
    ("The ranks never gave up connecting: {E10.message}.", "The ranks gave up connecting: {E10.message}."),
]  # fmt: skip


test_what_the_rows_do_not_bear_out_is_refused, test_what_the_rows_bear_out_passes = pairs(SAID)
