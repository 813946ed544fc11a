"""How a job ended: Slurm's accounting, its events, and what slurmstepd and srun wrote into the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent_tools.facts.views import RowView, View

FAILED_STATES = {"FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT", "DEADLINE", "BOOT_FAIL", "PREEMPTED", "CANCELLED"}
OUTSIDE = ("time_limit", "deadline", "preempted", "requeued", "node_failure", "cancelled")
"""Marks of an end that came from outside the program."""
_ROUNDED_S = 1.0
"""What accounting may leave out of a step's time, which it gives in whole seconds."""
_IN_LOG = {"time_limit", "preempted", "requeued", "node_failure", "cancelled", "deadline", "task_exit"}
_IN_STATE = {
    "TIMEOUT": "time_limit",
    "DEADLINE": "deadline",
    "PREEMPTED": "preempted",
    "REQUEUED": "requeued",
    "NODE_FAIL": "node_failure",
    "CANCELLED": "cancelled",
    "OUT_OF_MEMORY": "host_oom",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """`marks` maps what was said of the end to the row that says it, the log's row before accounting's.

    Marks: time_limit, deadline, preempted, requeued, node_failure, cancelled, host_oom, task_exit.
    `hidden` is the step whose failure the batch script's exit status of zero hides; `by_log` says that only the log tells of it.
    """

    state: str
    marks: dict[str, RowView] = field(default_factory=dict[str, RowView])
    succeeded: bool = False
    failed: bool = False
    hidden: RowView | None = None
    by_log: bool = False

    def says(self, *marks: str) -> bool:
        """Whether any of these was said."""
        return any(m in self.marks for m in marks)

    @property
    def torn_down(self) -> bool:
        """The scheduler ended the job from outside: signals that follow are its teardown."""
        return self.says("time_limit", "deadline", "preempted", "requeued", "node_failure")


def read_ending(
    overview: RowView | None, messages: View, events: View, steps: Callable[[], View], reports: Callable[[], View]
) -> Ending:
    """Judge accounting's row and steps, the log's Slurm lines, the scheduler's events and the summary of the reports."""
    state = overview.text("state").upper() if overview else ""
    marks: dict[str, RowView] = {}
    for row in messages:
        if row.text("name") in _IN_LOG:
            marks.setdefault(row.text("name"), row)
    for row in events:
        word = f"{row.text('event')} {row.text('state')}".lower()
        for part, mark in (("preempt", "preempted"), ("requeue", "requeued"), ("node_fail", "node_failure")):
            if part in word:
                marks.setdefault(mark, row)
    if overview is not None and state in _IN_STATE:
        marks.setdefault(_IN_STATE[state], overview)
    code = overview.number("exit_code") if overview else None
    signal = overview.number("exit_signal") if overview else None
    succeeded = state == "COMPLETED" and not code and not signal
    exited = any(row.number("exit_code") for row in messages.one_of("name", "task_exit"))
    exited = exited and not (succeeded and overview is not None and worked_after(overview, steps(), reports))
    return Ending(state, marks, succeeded, state in FAILED_STATES or bool(code) or bool(signal) or exited)


def uncovered(ending: Ending, overview: RowView | None, steps: View) -> Ending:
    """The ending of a job whose program failed, where Slurm calls it completed: a script without `set -e` goes on to its end.

    What failed has to be most of the job: beside work of another step, or of the script itself, it is a remark on a good end.
    """
    failed = [r for r in steps if r.text("step_id").isdigit() and r.text("state") == "FAILED" and r.number("exit_code")]
    spent = sum(r.number("elapsed_s") or 0.0 for r in failed)
    whole = (overview.number("elapsed_s") or 0.0) if overview is not None else 0.0
    if not ending.succeeded or not failed or spent + len(failed) * _ROUNDED_S <= whole / 2:
        return ending
    longest = max(failed, key=lambda r: r.number("elapsed_s") or 0.0)
    return replace(ending, succeeded=False, failed=True, hidden=longest)


def worked_after(overview: RowView, steps: View, reports: Callable[[], View]) -> bool:
    """Whether a step that ended well took most of the job, and began when all that failed had ended: a check before the work.

    Where the script trains by itself, without srun, its reports stand in for that step, if they carry times.
    What failed after most of the work, or in place of it, is another matter: a script may go on with what is left.
    """
    numbered = [r for r in steps if r.text("step_id").isdigit()]
    failed = [r for r in numbered if r.number("exit_code") or r.number("exit_signal")]
    good = [r for r in numbered if r.text("state") == "COMPLETED" and r not in failed]
    work = max(good, key=lambda r: r.number("elapsed_s") or 0.0, default=None)
    if work is None and failed:
        told = reports().first
        if told is None or not told.has("first_ts") or (told.number("done") or 0.0) < 1.0:
            return False
        span = datetime.fromisoformat(told.text("last_ts")) - datetime.fromisoformat(told.text("first_ts"))
        return span.total_seconds() > (overview.number("elapsed_s") or 0.0) / 2 and all(
            r.has("end_ts") and r.text("end_ts") <= told.text("first_ts") for r in failed
        )
    if work is None or not failed or not work.has("start_ts"):
        return False
    if (work.number("elapsed_s") or 0.0) <= (overview.number("elapsed_s") or 0.0) / 2:
        return False
    return all(r.has("end_ts") and r.text("end_ts") <= work.text("start_ts") for r in failed)
