"""Who ended a job or a step: somebody whom accounting names, Slurm itself, or srun, which waits for the last tasks only so long."""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.progress import MOST
from agent_tools.facts.views import RowView
from agent_tools.say import count
from agent_tools.verdict import Attribution
from store import lazy

OPERATORS = lazy.compile(r"^(0|root|slurm|slurmctld|admin\w*)$", re.IGNORECASE)
_PROLOG_S = 60.0
"""So long after its start a job may still be in its prolog."""
NODES = "sacctmgr show event (slurm/), slurmctld's log"
_STEP = lazy.compile(r"\*\*\* STEP \S+?\.(\d+) ")


def canceller(row: RowView, overview: RowView) -> tuple[str, Attribution, str, float]:
    """Mode ("" where nobody is named), attribution, who in words, and how sure that is, for a row with `cancelled_by`."""
    who, user, uid = row.text("cancelled_by"), overview.text("user"), overview.text("uid")
    if OPERATORS.match(who):
        kind = "user id" if who.isdigit() else "user"
        return "operator", "infrastructure", f" by an administrator of the cluster ({kind} {row['cancelled_by']})", 0.95
    if who and user and who != user and (not who.isdigit() or (uid and who != uid)):
        return "operator", "infrastructure", f" by {row['cancelled_by']}, who is not its user", 0.92
    if who in (user, uid) and who:
        return "user", "user", " by its user", 0.95
    if who:
        return "user", "user", f" by the user with the id {row['cancelled_by']}", 0.9
    return "", "undetermined", "", 0.8  # it was cancelled: that alone is sure


def or_by_slurm(facts: Facts, overview: RowView) -> bool:
    """Whether Slurm itself may have ended it: a job whose prolog failed is cancelled by root in accounting, too.

    What a node is put out of service for tells the two apart; so does output, which no such job has.
    """
    begun = overview.has("start_ts") and count(overview, "elapsed_s") <= _PROLOG_S
    return begun and not facts.has_log and not facts.has("slurm_node_state")


def cancelled_step(facts: Facts, overview: RowView, end: RowView | None) -> RowView | None:
    """The step that somebody cancelled where it was most of a job whose script then ended well, with work left to do."""
    if facts.has_log and (not count(end, "cancels") or count(end, "ends") or count(end, "done") >= MOST):
        return None
    half = count(overview, "elapsed_s") / 2
    longest = max(_cancelled(facts), key=lambda r: count(r, "elapsed_s"), default=None)
    return longest if longest is not None and count(longest, "elapsed_s") > half else None


def said_step(facts: Facts, end: RowView | None) -> RowView | None:
    """The step whose cancel the log tells last, where accounting names who cancelled it.

    srun ends what is left of a step after a failed task, too, and accounting then names nobody.
    """
    named = _STEP.search(end.text("stop_message")) if end is not None else None
    if named is None:
        return None
    return next((r for r in _cancelled(facts) if r.text("step_id") == named[1]), None)


def tasks_left(facts: Facts) -> RowView | None:
    """srun's word that one task had ended long enough before the others for it to end those."""
    told = facts.table("slurm_messages")
    waited = told.one_of("name", "first_task_exited")
    return next(iter(waited), None) if told.one_of("name", "force_terminated") else None


def rest_of_step(facts: Facts, end: RowView) -> RowView | None:
    """srun's word that it ends a step itself, before the line of the cancel and after a task that had failed: nobody cancelled it."""
    if not count(end, "task_first") or not _STEP.search(end.text("stop_message")):
        return None
    return next(
        (
            r
            for r in facts.table("slurm_messages").one_of("name", "force_terminated")
            if "erminating" in r.text("message")
            and r.text("file") == end.text("stop_file")
            and count(r, "line_no") < count(end, "stop_line")
        ),
        None,
    )


def aborted_step(facts: Facts, end: RowView) -> RowView | None:
    """MPI's word that the program is to end, before the line of a step's cancel: srun ends what is left of it, and nobody cancelled it."""
    if not _STEP.search(end.text("stop_message")):
        return None
    return next(
        (
            r
            for r in facts.table("launcher_failures").one_of("name", "abort_called")
            if r.text("file") == end.text("stop_file") and count(r, "line_no") < count(end, "stop_line")
        ),
        None,
    )


def _cancelled(facts: Facts) -> list[RowView]:
    return list(
        facts.table("job_steps").where(
            lambda r: r.text("step_id").isdigit() and r.text("state") == "CANCELLED" and r.has("cancelled_by")
        )
    )
