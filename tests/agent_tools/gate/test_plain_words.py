"""Parts, spans and plain words of a story: what the rows beside them bear out passes, and its false twin is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import FOUND, Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim
from store.result import Cell
from tests.agent_tools.gate.gatekit import pairs, result

UNITS = {
    **dict.fromkeys(("elapsed_s", "wait_s", "time_limit_s"), "s"),
    **dict.fromkeys(("limit_share", "engine_mean"), "ratio"),
    **dict.fromkeys(("peak_gib", "total_gib", "last_gib"), "GiB"),
    "gpu_hours_held": "h",
    "sm_mean": "ratio",
    **dict.fromkeys(("sm_clock_free_mhz", "sm_clock_throttled_mhz"), "MHz"),
}
DOCS = {
    "elapsed_s": "time running",
    "sm_mean": "mean SM activity",
    "sm_clock_free_mhz": "mean SM clock in the other busy samples",
    "sm_clock_throttled_mhz": "mean SM clock in those samples",
    "completed_ts": "last sample in which it completed a collective",
    "last_ts": "last sample",
    "gpus": "allocated GPUs",
    "wait_s": "from submission to start",
    "time_limit_s": "wall-clock limit",
    "limit_share": "time running over the limit",
    "engine_mean": "mean engine activity",
    "peak_gib": "highest memory in use",
    "last_gib": "memory in use in the last sample",
    "total_gib": "memory of the card",
    "last_step": "last step reported",
    "total_steps": "planned steps",
    "behind": "how many collectives this rank is behind the furthest rank",
    "trailing_bad": "reports at the end whose loss is not finite",
    "restarts": "times requeued",
    "last_good_step": "last step whose loss is finite",
    "cancelled_by": "user who cancelled it",
    "gpu_hours_held": "GPU time held",
    "jobs": "different jobs",
    "end_ts": "end",
}
T = "2026-06-02T10:{}Z".format


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 a job of one attempt, E2 its steps, E3 an XID, E4 its card, E5 processes, E6 how far ranks are, E7 saves, E8 its loss, E9 its moments,
    E10 four GPUs (E16 the clocks of one, E17 a job that waits, E18 collectives), E11 no counter that rose, E12 a tally of users, E13 all jobs, E14 the cancelled ones, E15 states."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...], **params: Cell) -> None:
        made = result(name, {c: UNITS.get(c, "") for c in columns.split()}, list(rows), docs=DOCS)
        book.record(replace(made, params=params or {"job_id": "4812"}), name, {})
        book.show_all()

    attempt = (
        "attempt state elapsed_s wait_s time_limit_s limit_share node_list node_count gpus restarts start_ts end_ts"
    )
    ask("job_attempts", attempt, (1, "FAILED", 600.0, 2400.0, 36000.0, 0.017, "rk-1", 1, 4, 0, T("00:00"), T("10:00")))
    ask("train_summary", "last_step total_steps", (850, 1000))
    ask(
        "gpu_events",
        "node gpu xid events event_ts message",
        ("rk-1", 2, 79, 1, T("09:20"), "Xid 79, GPU has fallen off the bus."),
    )
    ask("gpu_summary", "node gpu peak_gib last_gib total_gib engine_mean", ("rk-1", 2, 46.0, 1.0, 80.0, 0.04))
    ask(
        "process_exits", "rank end_ts exit_code exit_signal signal_sender",
        (0, T("08:00"), None, 9, "kernel"), *((r, T("10:00"), None, 15, "slurmstepd") for r in (1, 2, 3)),
    )  # fmt: skip
    ask("rank_compare", "rank behind completed", *((r, 0, 500) for r in range(4)))
    ask("checkpoints", "name step line_no", *(("saved", 200 * n, 20 * n) for n in (1, 2, 3, 4)))
    ask("loss_shape", "last_good_step last_step best_step trailing_bad highest_step", (610, 850, 600, 24, 10))
    ask(
        "job_timeline", "ts what node times",
        (T("00:00"), "ALLOCATED", "rk-1", 1), (T("10:00"), "ended", None, 2), (T("10:02"), "IDLE", "rk-1", 1),
    )  # fmt: skip
    ask("gpu_summary", "node gpu engine_mean", *(("rk-1", n, 0.0) for n in range(4)))
    ask("gpu_counter_rises", "node")
    book.mark_shown("E11", [0], [FOUND])
    ask(
        "fleet_tally",
        "value jobs attempts failed gpu_hours_held",
        ("ada", 9, 9, 4, 0.3),
        ("bo", 5, 6, 5, 0.9),
        ("cy", 2, 2, 0, 0.1),
        by="user",
    )
    ask("fleet_tally", "value jobs failed", ("batch", 16, 8), by="partition")
    ask("find_jobs", "job_id state user cancelled_by", ("77", "CANCELLED", "ada", "ada"), state="CANCELLED")
    ask("find_jobs_summary", "state jobs", ("FAILED", 8), ("COMPLETED", 8), by="state")
    ask("gpu_summary", "node gpu sm_clock_free_mhz sm_clock_throttled_mhz sm_mean", ("rk-1", 3, 1400.0, 705.0, 0.6))
    ask(
        "job_attempts",
        "attempt state gpus elapsed_s start_ts node_list",
        (1, "PENDING", 4, 0.0, None, None),
        job_id="90",
    )
    ask("nccl_progress", "rank completed_ts last_ts", *((r, T("04:00"), T("10:00")) for r in range(4)))
    book.show_all()
    return book


SAID = [
    ("It had got through less than four fifths of its steps, {E2.last_step} of {E2.total_steps}.", "It had got through more than four fifths of its steps, {E2.last_step} of {E2.total_steps}."),
    ("It had got through more than four fifths of its epochs, {E2.last_step} of {E2.total_steps}.", "It had got through more than four fifths of its planned steps, {E2.last_step} of {E2.total_steps}."),
    ("It had done about two thirds of its steps, {E2.last_step} of {E2.total_steps}.", "It had done {E2.last_step} of {E2.total_steps} steps."),
    ("Every job of {E12.value} failed, {E12.failed} of {E12.jobs}.", "{E12:1.value} had {E12:1.failed} failed jobs."),
    ("More than a tenth of its engine activity was used: {E4.engine_mean}.", "Less than a tenth of its engine activity was used: {E4.engine_mean}."),
    ("It held up to {E4.peak_gib} of memory, well under half of the {E4.total_gib}.", "It held up to {E4.peak_gib} of memory, well over half of the {E4.total_gib}."),
    ("It held up to {E4.total_gib} of memory, well over half of the {E4.peak_gib}.", "The highest memory in use was {E4.peak_gib} of {E4.total_gib}."),
    ("A third of all jobs, {E15.jobs} of {E13.jobs}, ended as {E15.state}.", "Half of all jobs, {E15.jobs} of {E13.jobs}, ended as {E15.state}."),
    ("Half of all jobs, {E15.jobs} of {E12.jobs}, ended as {E15.state}.", "Job {E14.job_id} ended as {E14.state}."),
    ("The job failed at {E1.end_ts}, less than half a minute after the XID at {E3.event_ts}.", "The job failed at {E1.end_ts}, less than a minute after the XID at {E3.event_ts}."),
    ("The job failed at {E1.end_ts}, less than a minute before the XID at {E3.event_ts}.", "The XID came at {E3.event_ts}, less than a minute before the job failed at {E1.end_ts}."),
    ("The job ended at {E1.end_ts}, about an hour after it had started at {E1.start_ts}.", "The job ended at {E1.end_ts}, ten minutes after it had started at {E1.start_ts}."),
    ("Half of {E12.value}'s jobs, {E15.jobs} of {E13.jobs}, ended as {E15.state}.", "{E12.value} had {E12.jobs} jobs."),
    ("More than a third of the jobs of {E12:2.value} failed, {E12.failed} of {E12.jobs}.", "More than a third of the jobs of {E12.value} failed, {E12.failed} of {E12.jobs}."),
    ("The job ran for more than an hour, {E1.elapsed_s}.", "The job ran for ten minutes, {E1.elapsed_s}."),
    ("Two minutes after the XID at {E3.event_ts} the job ended at {E1.end_ts}.", "Less than a minute after the XID at {E3.event_ts} the job ended at {E1.end_ts}."),
    ("The only job that failed is {E14.job_id}.", "The only job that was cancelled is {E14.job_id}."),
    ("The clock of GPU {E16.gpu} was cut to a third, from {E16.sm_clock_free_mhz} to {E16.sm_clock_throttled_mhz}.", "The clock of GPU {E16.gpu} was cut to about half, from {E16.sm_clock_free_mhz} to {E16.sm_clock_throttled_mhz}."),
    ("The clock of GPU {E16.gpu} was cut to half, from {E16.sm_clock_throttled_mhz} to {E16.sm_clock_free_mhz}.", "GPU {E16.gpu} was at work: its mean SM activity was {E16.sm_mean}."),
    ("GPU {E10.gpu} was at work: its mean engine activity was {E10.engine_mean}.", "GPU {E16.gpu} was at work: its mean SM activity was {E16.sm_mean}."),
    ("No node has been allocated to any job yet: it is {E17.state}.", "No node has been allocated to it yet: it is {E17.state}."),
    ("No node has been allocated to it yet: it is {E1.state}.", "It asks for {E17.gpus} GPUs and has been given none so far."),
    ("No collective completed after {E18.last_ts}.", "No collective completed after {E18.completed_ts}."),
    ("No rank completed after {E18.completed_ts}.", "No collective has been completed since {E18.completed_ts}."),
    ("It waited far less ({E1.wait_s}) than it ran ({E1.elapsed_s}).", "It waited far longer ({E1.wait_s}) than it ran ({E1.elapsed_s})."),
    ("GPU {E3.gpu} fell out of the rack.", "GPU {E3.gpu} of {E3.node} fell off the bus."),
    ("GPU {E10.gpu} of {E10.node} fell off the bus.", "XID {E3.xid} was logged on GPU {E3.gpu} of {E3.node}."),
    ("XID {E3.xid} is not the only one that was logged.", "XID {E3.xid} is the only one that was logged."),
    ("The two other ranks were ended by signal {E5:1.exit_signal}.", "The three other ranks were ended by signal {E5:1.exit_signal}."),
    ("All the other ranks were ended by signal {E5.exit_signal}.", "All the other ranks were ended by signal {E5:1.exit_signal}."),
    ("Neither rank is behind the other ({E6.behind}).", "No rank is behind the others ({E6.behind})."),
    ("Rank {E5.rank} died first, at {E5:1.end_ts}.", "Rank {E5.rank} died first, at {E5.end_ts}."),
    ("The saves are {E7:1.step} steps apart.", "The saves are {E7.step} steps apart."),
    ("Not a single loss before step {E8.last_good_step} is finite.", "Not a single loss after step {E8.last_good_step} is finite."),
    ("Not a single loss after step {E8.best_step} is finite.", "Not a single loss after step {E8.last_good_step} is finite."),
    ("The best loss came at step {E8.best_step}, well after the last step, {E8.last_step}.", "The best loss came at step {E8.best_step}, well before the last step, {E8.last_step}."),
    ("The node was free again at {E9.ts}.", "The node was free again at {E9:2.ts}."),
    ("Both nodes were free again at {E9:2.ts}.", "The node was idle again at {E9:2.ts}."),
    ("None of the three GPUs did any work: {E10.engine_mean} mean engine activity.", "None of the four GPUs did any work: {E10.engine_mean} mean engine activity."),
    ("No XID was logged on any GPU of the job ({E11.row_count}), but the state is {E1.state}.", "No counter rose on any GPU of the job ({E11.row_count}), but XID {E3.xid} was logged on GPU {E3.gpu}."),
    ("No counter rose on any GPU of the cluster ({E11.row_count}), but the job ended as {E1.state}.", "No counter rose ({E11.row_count}), but the job ended as {E1.state}."),
    ("{E12.value} had fewer jobs than {E12:1.value}.", "{E12.value} had more jobs than {E12:1.value}."),
    ("{E12:1.value} had fewer jobs than {E12.value}, but held more GPU-hours: {E12.gpu_hours_held} against {E12:1.gpu_hours_held}.", "{E12:1.value} had fewer jobs than {E12.value}, but held more GPU-hours: {E12:1.gpu_hours_held} against {E12.gpu_hours_held}."),
    ("{E12:1.value} is the only user without a failed job.", "{E12:2.value} is the only user without a failed job."),
    ("The only failed job is {E14.job_id}.", "The only cancelled job is {E14.job_id}, and its own user {E14.cancelled_by} cancelled it."),
    ("All eight GPUs were the job's for {E1.elapsed_s}.", "All four GPUs were the job's for {E1.elapsed_s}."),
    ("The job was nowhere near its memory limit: it used {E1.limit_share} of it.", "The job was nowhere near its time limit: it used {E1.limit_share} of it."),
    ("It was allowed {E1.elapsed_s}, but only {E1.time_limit_s} were needed.", "It ran {E1.elapsed_s}, but {E1.time_limit_s} were allowed."),
    ("Slurm restarted everything ({E1.restarts}).", "Slurm restarted nothing ({E1.restarts})."),
    ("The ranks ended all the same, by signal {E5:1.exit_signal}, all of them.", "The job failed all the same, after {E1.elapsed_s}."),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "so"), [
    ("A1", "The job crashed before training began, after [[{}.elapsed_s]].", True),
    ("A1", "The job crashed before it was submitted, after [[{}.elapsed_s]].", False),
    ("A1", "The job hung before training began, after [[{}.elapsed_s]].", False),
    ("F4", "The job was cancelled by [[{}.cancelled_by]] as it had failed.", False),
    ("F4", "The job was cancelled by [[{}.cancelled_by]].", True),
])  # fmt: skip
@pytest.mark.parametrize("at", ["E1", "E2"])
def test_a_finding_on_the_overview_speaks_of_the_last_attempts_row_too(code: str, text: str, so: bool, at: str) -> None:
    """Its own words may be repeated, whichever of the two answers is cited; that a cancelled job failed is not among them."""
    book = Ledger()
    own: tuple[Cell, ...] = (1, "FAILED" if code == "A1" else "CANCELLED", 57.0, "root")
    for name in ("job_overview", "job_attempts"):
        made = result(name, {"attempt": "", "state": "", "elapsed_s": "s", "cancelled_by": ""}, [own], docs=DOCS)
        book.record(replace(made, params={"job_id": "4812"}), name, {})
    book.show_all()
    said = {
        "A1": "The job crashed before training began, after [[E1.elapsed_s]].",
        "F4": "The job was cancelled by [[E1.cancelled_by]].",
    }
    found = Assessment(
        code, "confirmed", confidence=0.9, attribution="job", headline="Found.", speaks_for=[Claim(text=said[code])]
    )
    assert check_answer(Answer(short=text.format(at)), book, [found]).ok is so


test_what_the_rows_do_not_bear_out_is_refused, test_what_the_rows_bear_out_passes = pairs(SAID)
