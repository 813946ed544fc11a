"""Parts, multiples, distances and who is alone, in the words of what was done: what the rows bear out passes, its false twin does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.denials import plainer
from store.result import Cell
from tests.agent_tools.gate.gatekit import pairs, result

UNITS = {
    **dict.fromkeys(("elapsed_s", "wait_s", "time_limit_s"), "s"),
    **dict.fromkeys(
        ("limit_share", "used", "api_share", "sm_mean", "rest_sm_median", "severe_throttle_share"), "ratio"
    ),
    **dict.fromkeys(("needed_h", "limit_h", "gpu_hours_held", "gpu_hours_after_checkpoint", "gpu_hours_held"), "h"),
}
DOCS = {
    "elapsed_s": "time running",
    "wait_s": "from submission to start",
    "limit_share": "time running over the limit",
    "needed_h": "time that all planned steps would need",
    "limit_h": "wall-clock limit",
    "used": "peak over the limit",
    "severe_throttle_share": "share of samples with severe throttle bits",
    "sm_mean": "mean SM activity",
    "rest_sm_median": "median of the others",
    "api_share": "share of its time in API calls",
    "behind": "how many collectives this rank is behind",
    "bad_points": "reports whose loss is not finite",
    "last_step": "last step reported",
    "total_steps": "planned steps",
    "gpu_hours_after_checkpoint": "GPU time after the last checkpoint",
    "jobs": "different jobs",
    "completed": "collectives that it completed",
    "spinning": "GPUs that spin",
    "attempt": "number of the attempt, 1 for the first",
}
T = "2026-06-02T10:{}:00Z".format


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 a job, E2 its steps, E3 its log, E4 saves, E5 a node's memory, E6 how far ranks are, E7 its loss, E8 a GPU among others, E9 a tally,
    E10 time needed, E11 a job of two attempts, E12 how many spin, E13 a throttled share, E14 its cost, E15 a job that waits, E16 ranks."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...], **params: Cell) -> None:
        made = result(name, {c: UNITS.get(c, "") for c in columns.split()}, list(rows), docs=DOCS)
        book.record(replace(made, params=params or {"job_id": "4812"}), name, {})

    job = "attempt state elapsed_s wait_s limit_share submit_ts start_ts end_ts gpus node_count"
    ask("job_attempts", job, (1, "COMPLETED", 600.0, 1500.0, 0.016, T("00"), T("25"), T("35"), 4, 2))
    ask("train_summary", "last_step total_steps", (850, 1000))
    log = "kind name line_no ts times file"
    ask(
        "log_events", log,
        ("exception", "KeyError", 88, None, 1, "a.log"), ("exception", "ChildError", 94, None, 1, "a.log"),
        *(("checkpoint", "saved", 20 * n + 6, T(10 + 5 * n), 1, "a.log") for n in (1, 2, 3, 4)),
    )  # fmt: skip
    ask("checkpoints", "step name file", (840, "saved", "a.log"))
    book.mark_shown("E4", [0], ["step"])
    peaks = (("n1", 0.97, 1), ("n2", 0.33, 0))
    ask("cgroup_peaks", "node used oom_kills", *peaks)
    ask("rank_compare", "rank behind completed", *((r, int(not r), 500) for r in range(4)))
    loss = "first_loss last_loss start_loss end_loss best_loss best_step first_step last_step points bad_points"
    ask("loss_shape", loss, (8.0, 1.9, 8.0, 2.0, 1.9, 250, 10, 1000, 90, 0))
    ask("gpu_spread", "gpu sm_mean rest_sm_median", (2, 0.50, 0.20))
    tally = "value attempts jobs failed gpu_hours_held"
    ask("fleet_tally", tally, ("ada", 9, 9, 8, 0.3), ("bo", 5, 5, 2, 0.9), ("cy", 7, 7, 5, 0.5), by="user")
    ask("wall", "needed_h limit_h", (2.2, 1.1))
    ask("job_attempts", "attempt state", (1, "PREEMPTED"), (2, "COMPLETED"), job_id="77")
    ask("gpu_spin", "spinning used_gpus", (4, 4))
    ask("gpu_summary", "gpu severe_throttle_share", (0, 0.0), (1, 0.5))
    ask("job_cost", "gpu_hours_after_checkpoint gpu_hours_held", (0.5, 10.0))
    ask("find_jobs", "job_id state state_reason", ("90", "PENDING", "DependencyNeverSatisfied"), state="PENDING")
    ask("process_exits", "rank end_ts exit_signal", *((r, T("35"), 15) for r in range(4)))
    ask("rank_compare", "rank behind completed", *((r, 0, 500) for r in range(4)))
    for e in book.all():
        book.mark_shown(e.id, range(len(e.rows)), ["step"] if e.id == "E4" else [c.name for c in e.columns])
    return book


SAID = [
    ("It waited more than three times as long as it ran: {E1.wait_s} against {E1.elapsed_s}.", "It waited more than twice as long as it ran: {E1.wait_s} against {E1.elapsed_s}."),
    ("It ran more than twice as long as it waited: {E1.wait_s} against {E1.elapsed_s}.", "It would have needed twice the time that it was given: {E10.needed_h} against {E10.limit_h}."),
    ("It would have needed twice the time that it was given: {E10.limit_h} against {E10.needed_h}.", "It would have needed twice the time that it was given: {E10.needed_h} against {E10.limit_h}."),
    ("It needed only a tiny part of its limit, {E5:1.used}.", "It needed only a tiny part of its limit, {E1.limit_share}."),
    ("Nearly all of {E9:1.value}'s jobs failed, {E9:1.failed} of {E9:1.jobs}.", "Nearly all of {E9.value}'s jobs failed, {E9.failed} of {E9.jobs}."),
    ("Nearly all of {E9:1.value}'s jobs failed, {E9.failed} of {E9.jobs}.", "Nearly all of {E9.value}'s jobs failed, {E9.failed} of {E9.jobs}."),
    ("Its best loss, {E7.best_loss}, was reached at step {E7.best_step}, about half of the way to step {E7.last_step}.", "Its best loss, {E7.best_loss}, was reached at step {E7.best_step}, about a quarter of the way to step {E7.last_step}."),
    ("At first the loss was twice as high as at its best: {E7.first_loss} against {E7.best_loss}.", "At first the loss was more than four times as high as at its best: {E7.first_loss} against {E7.best_loss}."),
    ("The loss fell to about a half of its start: from {E7.start_loss} to {E7.end_loss}.", "The loss fell to about a quarter of its start: from {E7.start_loss} to {E7.end_loss}."),
    ("GPU {E8.gpu} works one and a half times as hard as the others: {E8.sm_mean} against {E8.rest_sm_median}.", "GPU {E8.gpu} works two and a half times as hard as the others: {E8.sm_mean} against {E8.rest_sm_median}."),
    ("It used only about two thirds of its limit on {E5:1.node} ({E5:1.used}).", "{E5.node} had used {E5.used} of its limit, {E5:1.node} just a third of it ({E5:1.used})."),
    ("More than four fifths of the epochs were done: {E2.last_step} of {E2.total_steps}.", "More than four fifths of the steps were done: {E2.last_step} of {E2.total_steps}."),
    ("The exception stands in line {E3.line_no}, three lines after the last checkpoint in line {E3:5.line_no}.", "The exception stands in line {E3.line_no}, two lines after the last checkpoint in line {E3:5.line_no}."),
    ("The exception stands in line {E3.line_no}, two lines before the last checkpoint in line {E3:5.line_no}.", "The exception stands in line {E3.line_no}, two lines after the last checkpoint in line {E3:5.line_no}."),
    ("The exception stands in line {E3:5.line_no}, and the checkpoint came two lines later, in line {E3.line_no}.", "The checkpoint stands in line {E3:5.line_no}, and the exception came two lines later, in line {E3.line_no}."),
    ("The last checkpoint stands in line {E3:4.line_no}.", "The last checkpoint stands in line {E3:5.line_no}."),
    ("The last event stands in line {E3:5.line_no}.", "The first exception stands in line {E3.line_no}."),
    ("The checkpoint of step {E4.step} was saved ten steps after step {E2.last_step}.", "The checkpoint of step {E4.step} was saved ten steps before step {E2.last_step}."),
    ("The checkpoint of step {E4.step} was saved after the crash.", "The checkpoint of step {E4.step} was saved."),
    ("Five checkpoints were saved, about five minutes apart: the first at {E3:2.ts}, the last at {E3:5.ts}.", "Four checkpoints were saved, about five minutes apart: the first at {E3:2.ts}, the last at {E3:5.ts}."),
    ("Four checkpoints were saved, about nine minutes apart: the first at {E3:2.ts}, the last at {E3:5.ts}.", "All four checkpoints had been saved by then, the first in line {E3:2.line_no} and the last in line {E3:5.line_no}."),
    ("All three checkpoints had been saved by then, the first in line {E3:2.line_no} and the last in line {E3:5.line_no}.", "All four checkpoints had been saved by then, the first in line {E3:2.line_no} and the last in line {E3:5.line_no}."),
    ("The last checkpoint was saved at {E3:5.ts}, three quarters of an hour before the job ended at {E1.end_ts}.", "Five minutes before the job ended at {E1.end_ts} the last checkpoint was saved at {E3:5.ts}."),
    ("The job ended at {E1.end_ts}, a few seconds after the last checkpoint at {E3:5.ts}.", "The job ended at {E1.end_ts}, a few minutes after the last checkpoint at {E3:5.ts}."),
    ("It waited more than forty minutes in the queue, {E1.wait_s}.", "It waited less than half an hour in the queue, {E1.wait_s}."),
    ("It waited ten minutes in the queue, {E1.elapsed_s}.", "Less than half an hour after its submission at {E1.submit_ts} it started, at {E1.start_ts}."),
    ("Rank {E6:1.rank} alone is behind, by {E6:1.behind} collectives.", "Rank {E6.rank} alone is behind, by {E6.behind} collectives."),
    ("No rank lags behind: all have completed {E6.behind} collectives.", "No rank lags behind: all have completed {E17.completed} collectives."),
    ("Every rank has the same {E6.behind} collectives.", "Every rank completed the same {E17.completed} collectives."),
    ("All four ranks ended one after the other, at {E16.end_ts}.", "All four ranks ended at the very same moment, {E16.end_ts}."),
    ("All three GPUs spin ({E12.spinning} of {E12.used_gpus}).", "All four GPUs spin ({E12.spinning} of {E12.used_gpus})."),
    ("The loss was still falling: the last one, {E7.first_loss}, is lower than the first, {E7.last_loss}.", "The loss was still falling: the last one, {E7.last_loss}, is lower than the first, {E7.first_loss}."),
    ("The loss ended higher than it had started, at {E7.end_loss} instead of {E7.start_loss}.", "The loss ended lower than it had started, at {E7.end_loss} instead of {E7.start_loss}."),
    ("The job failed, although its loss fell from {E7.start_loss} to {E7.end_loss}.", "The job completed, and its loss fell from {E7.start_loss} to {E7.end_loss}."),
    ("{E9.value} had the fewest jobs but held the fewest GPU-hours ({E9.gpu_hours_held}).", "{E9.value} had the most jobs but held the fewest GPU-hours ({E9.gpu_hours_held})."),
    ("{E9:1.value} had the fewest jobs and the fewest GPU-hours, {E9:1.jobs} and {E9:1.gpu_hours_held}.", "{E9:1.value} had the fewest jobs but held the most GPU-hours ({E9:1.gpu_hours_held})."),
    ("{E9:1.value} had only one job that did not fail: {E9:1.failed} of {E9:1.jobs} did.", "{E9.value} had only one job that did not fail: {E9.failed} of {E9.jobs} did."),
    ("Job {E15.job_id} is the only job that failed.", "Job {E15.job_id} is the only job that is still pending."),
    ("The dependency of job {E15.job_id} can be satisfied ({E15.state_reason}).", "The dependency of job {E15.job_id} can never be satisfied ({E15.state_reason})."),
    ("GPU {E13:1.gpu} was not throttled at all ({E13:1.severe_throttle_share}).", "GPU {E13.gpu} was not throttled at all ({E13.severe_throttle_share})."),
    ("Not one loss was finite ({E7.bad_points} of {E7.points}).", "Not one loss was infinite or NaN ({E7.bad_points} of {E7.points})."),
    ("Since the last checkpoint no more than {E14.gpu_hours_held} of GPU time were lost.", "Since the last checkpoint only {E14.gpu_hours_after_checkpoint} of GPU time were lost."),
]  # fmt: skip

test_what_the_rows_do_not_bear_out_is_refused, test_what_the_rows_bear_out_passes = pairs(SAID)


def test_what_denies_is_said_plainly_only_where_it_denies() -> None:
    assert plainer("It was not throttled at all.") == "It was not throttled."
    assert plainer("It was at all times throttled, not at once.") == "It was at all times throttled, not at once."
    assert plainer("Not a single loss was NaN; not one after step two.") == "No loss was NaN; not one after step two."
