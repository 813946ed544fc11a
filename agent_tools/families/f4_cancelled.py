"""F4: somebody ended the run: its user, an operator, or Slurm because a dependency can never be met.

Decided by the one who cancelled, a keyboard interrupt or a closed session. Not F4: a cancel that Slurm sends after another
failure (a consequence), a time limit, a preemption, a node failure. Says whether the run was already failing.
"""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.earlier import after_interrupts
from agent_tools.facts.held_up import came_to_rest, spinning
from agent_tools.facts.progress import MOST
from agent_tools.facts.requested import (
    AT_ONCE_S,
    SOON_S,
    Request,
    ended_by_signal,
    in_batch,
    own_status,
    ran,
    requested,
)
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.dependency import never_met
from agent_tools.families.launch_reason import no_container
from agent_tools.families.no_cancel import nothing, otherwise
from agent_tools.families.step_cancels import (
    NODES,
    aborted_step,
    cancelled_step,
    canceller,
    or_by_slurm,
    rest_of_step,
    said_step,
    tasks_left,
)
from agent_tools.families.unknown_sender import sender_unknown
from agent_tools.say import count, lacks, own_failure, quoted, say
from agent_tools.verdict import Attribution, Missing
from store import lazy

CODE = "F4"
EXPLAINS = ("A2", "A3", "A4", "C2", "G1")

_OWNER = lazy.compile(r"\bkilled by owner|\bTERM_(?:FORCE_)?OWNER\b|via condor_rm|aborted by the user")
_ADMIN = lazy.compile(r"\bTERM_(?:FORCE_)?ADMIN\b|at request of root\b")
"""Words of LSF's, HTCondor's and PBS that say who killed the job."""

_LONG_IDLE_S = 900.0
"""A job whose GPUs have not worked by then is not merely starting."""
_CUT = lazy.compile(r"DUE\s+TO\W*$")


def assess(facts: Facts) -> Assessment:
    """Judge who ended the run."""
    end = facts.table("run_ending").first
    overview = facts.overview
    state = facts.state
    if overview is not None and (found := never_met(overview, state)) is not None:
        return found
    if state == "COMPLETED" and overview is not None and (asked := _stopped_early(facts, end)) is not None:
        return _by_request(facts, overview, end, asked, by_signal=True)
    if state == "COMPLETED" and overview is not None and (step := cancelled_step(facts, overview, end)) is not None:
        return _by_step(facts, overview, end, step)
    if state in ("TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "COMPLETED", "DEADLINE", "REQUEUED"):
        return otherwise(f"Slurm recorded the end as {overview['state']}." if overview else "")
    if end is not None and end.text("stop_name") in ("time_limit", "preempted", "requeued", "node_failure", "deadline"):
        return otherwise(f"The log gives another reason: {quoted(end, 'stop_message', 'stop_line')}.")
    if facts.launch_failed is not None:
        return otherwise(f"Slurm ended it itself, as it could not launch it: {facts.launch_failed['reason']}.")
    if overview is not None and (state == "CANCELLED" or overview.has("cancelled_by")):
        return _by_record(facts, overview, end)
    request = requested(facts) if state == "FAILED" else None
    if overview is not None and request is not None:
        by_signal = ended_by_signal(facts)
        if by_signal or (request.before_s <= AT_ONCE_S and ran(facts)):
            return _by_request(facts, overview, end, request, by_signal=by_signal)
    found = _by_words(facts, end)
    if found.status == "confirmed" and overview is not None:
        if (step := said_step(facts, end)) is not None:
            return _by_step(facts, overview, end, step)
        if (left := tasks_left(facts)) is not None:
            return _by_srun(found, left)
    # Accounting would name whoever cancelled it: this was a signal, and a batch script has no keyboard.
    if state == "FAILED" and found.status != "ruled_out" and in_batch(facts):
        return sender_unknown(found, overview, own=own_status(facts))
    return found


def _stopped_early(facts: Facts, end: RowView | None) -> Request | None:
    """The request after which a run ended well long before its plan was done: it caught the signal, saved and left."""
    if end is None or count(end, "ends") or not 0 < count(end, "done") < MOST or not ran(facts):
        return None
    request = requested(facts)
    said = any(count(end, column) for column in ("warned", "terms", "cancels"))
    return request if request is not None and request.before_s <= (SOON_S if said else AT_ONCE_S) else None


def _by_words(facts: Facts, end: RowView | None) -> Assessment:
    """What the log alone says of a cancel."""
    if end is None:
        return nothing(facts)
    if count(end, "keyboard") or count(end, "hangups"):
        return _by_session(facts, end)
    if count(end, "cancels"):
        if (rest := rest_of_step(facts, end)) is not None:
            return otherwise(f"srun ended the step itself, as one of its tasks had failed: {rest['message']}.")
        if (aborted := aborted_step(facts, end)) is not None:
            return otherwise(f"The program had MPI end the step: {quoted(aborted, 'message', 'line_no')}.")
        return _by_message(facts, end)
    if count(end, "terms"):
        return _by_term(facts, end)
    return nothing(facts)


def _failing(facts: Facts, end: RowView | None) -> tuple[str, str]:
    """What was already wrong before the cancel (empty where nothing was), and what the run was doing."""
    doing = facts.progress.phrase
    return own_failure(facts) or ("" if doing else no_container(facts)), doing


def _by_step(facts: Facts, overview: RowView, end: RowView | None, step: RowView) -> Assessment:
    """Accounting calls the job completed or failed, which is the script's end; its work was cancelled."""
    own, doing = _failing(facts, end)
    mode, attribution, by, _ = canceller(step, overview)
    name = f" ({step['name']})" if step.has("name") else ""
    head = f"Step {step['step_id']}{name}, most of the job, was cancelled{by}; its script then ended well."
    if facts.state != "COMPLETED":
        head = f"Step {step['step_id']}{name} was cancelled{by}, and its script ended with an error status over it."
    shows = [
        f"By accounting, step {step['step_id']}{name} ended as {step['state']} at {step['end_ts']}, cancelled by {step['cancelled_by']}."
        if step.has("end_ts")
        else "",
        f"Slurm recorded the end of the job as {overview['state']}.",
    ]
    return _assessment(facts, end, mode, attribution, head, shows, own, doing, 0.85, who_known=True)


def _by_record(facts: Facts, overview: RowView, end: RowView | None) -> Assessment:
    own, doing = _failing(facts, end)
    who, user = overview.text("cancelled_by"), overview.text("user")
    mode, attribution, by, sure = canceller(overview, overview)
    head = f"The job was cancelled{by}."
    wall = facts.table("wall").first
    record = wall["record"] if wall is not None and wall.has("record") else overview["state"]
    shows = [f"Slurm recorded the end as {record}."]
    if who and user:
        shows.append(f"The job belongs to {overview['user']}.")
    if overview.has("elapsed_min"):
        ran = overview.has("start_ts") or overview.number("elapsed_s")  # not every report has the column of its start
        shows.append(f"It had run {overview['elapsed_min']}." if ran else "It had never started.")
    if mode != "operator" or not or_by_slurm(facts, overview):
        return _assessment(facts, end, mode, attribution, head, shows, own, doing, sure, who_known=bool(who))
    head = "The job was cancelled just after its start, by an administrator of the cluster or by Slurm itself."
    result = _assessment(facts, end, mode, attribution, head, shows, own, doing, 0.45, who_known=True)
    result.missing.append(lacks("Whether Slurm ended it itself, as it does where a prolog fails.", NODES))
    return result


def _by_request(
    facts: Facts, overview: RowView, end: RowView | None, request: Request, *, by_signal: bool
) -> Assessment:
    """A signal that somebody had Slurm send (scancel --signal), by the controller's own log."""
    own, doing = _failing(facts, end)
    if own and end is not None and end.get("interrupt_first") is True:
        own = ""
    row = request.row
    well = facts.state == "COMPLETED"
    sure = 0.7 if not by_signal or well else 0.92 if request.before_s <= SOON_S else 0.75
    if request.mode is None:
        sure = min(sure, 0.85)
    shows = [
        f"At {row['asked_ts']}, {row['before_end_s']} before the end, {request.who} had Slurm signal the job: {row['message']}.",
        f"Slurm recorded the end as {overview['state']}, exit status {overview['exit_code']}, signal {overview['exit_signal']}."
        if overview.has("exit_code") and overview.has("exit_signal")
        else "",
    ]
    head = f"The run ended on a signal that {request.who} had Slurm send (scancel --signal)."
    if well and end is not None:
        head = f"The run stopped at {end['last_step']} of {end['total_steps']} steps on a signal that {request.who} had Slurm send, and ended well."
        shows[1] = (
            f"Slurm recorded the end as {overview['state']}, exit status {overview['exit_code']}: the program, or its script, dealt with the signal."
        )
    if not by_signal:
        head = f"The run failed just after a signal that {request.who} had Slurm send (scancel --signal)."
    result = _assessment(
        facts, end, request.mode or "", request.attribution, head, shows, own, doing, sure, who_known=True
    )
    result.missing.append(lacks("Which signal it was.", "the program's own words, or srun's and slurmstepd's"))
    return result


def _by_srun(found: Assessment, left: RowView) -> Assessment:
    """No person cancelled it: srun was to wait for the other tasks only so long after the first had ended."""
    found.mode, found.attribution = None, "job"
    found.headline = "srun ended the tasks that were left: one had ended long before them (srun --wait)."
    found.speaks_for = [*say(f"srun says: {quoted(left, 'message', 'line_no')}."), *found.speaks_for]
    found.actions = say(
        "Look at what the task that ended first did not do: the others may wait for it in a collective or a barrier.",
        "Where tasks may end at different times, raise srun's --wait (SLURM_WAIT).",
    )
    found.missing = [
        lacks("What the tasks that were left were doing.", "their stacks (py-spy), a flight-recorder dump"),
        *(m for m in found.missing if not m.text.startswith("Who ")),
    ]
    return found


def _by_session(facts: Facts, end: RowView) -> Assessment:
    later = next((c for c in facts.causes if after_interrupts(c, facts.raised)), None)
    if later is not None:
        return otherwise(f"The interrupt ended an earlier start: a later one could not be loaded ({later.name_ref}).")
    own, doing = _failing(facts, end)
    hangup = count(end, "hangups") > 0
    head = (
        "The run was ended because its terminal or session closed (SIGHUP)."
        if hangup
        else "The run was interrupted from the keyboard or by an interrupt signal (SIGINT)."
    )
    shows = [f"The log shows it: {quoted(end, 'interrupt_message', 'interrupt_line')}."]
    if own and end.get("interrupt_first") is True:
        own = ""
    finished = count(end, "ends") > 0
    sure = 0.9 if not finished else 0.35
    return _assessment(facts, end, "user", "user", head, shows, own, doing, sure, who_known=True)


def _by_message(facts: Facts, end: RowView) -> Assessment:
    own, doing = _failing(facts, end)
    said = end.text("stop_message")
    owner, admin = _OWNER.search(said), _ADMIN.search(said)
    other = "" if owner or admin else ", without a reason such as a time limit or a preemption"
    shows = [f"The log says: {quoted(end, 'stop_message', 'stop_line')}{other}."]
    if own and end.get("error_first") is False:
        own = ""
    failed_task = count(end, "failed_tasks") > 0 and not own
    sure = 0.9 if owner or admin else (0.82 if doing else 0.78)
    if _CUT.search(end.text("stop_message")):
        # A reason followed, and it is lost: a time limit, a preemption, anything.
        sure = 0.25
        shows = [f"The log says: {quoted(end, 'stop_message', 'stop_line')}, and the reason after it is cut off."]
    elif "***" in end.text("stop_message") and not end.text("stop_message").rstrip().endswith("***"):
        # The line is cut before the place where a reason would stand.
        sure = min(sure, 0.45)
        shows.append("The line is cut off before its end, where a reason such as a time limit would stand.")
    if failed_task:
        shows.append(f"{end['failed_tasks']} tasks were reported with an exit status of their own.")
        sure -= 0.2
    if count(end, "task_first") and "STEP " in end.text("stop_message"):
        # srun ends the rest of a step by itself once one of its tasks has failed.
        sure = min(sure, 0.2)
    if count(end, "ends"):
        sure = min(sure, 0.4)
    return _assessment(
        facts,
        end,
        "operator" if admin else "user" if owner else "",
        "infrastructure" if admin else "user" if owner else "undetermined",
        "The run was killed by an administrator of the cluster."
        if admin
        else "The run was cancelled while it was running.",
        shows,
        own,
        doing,
        sure,
        who_known=bool(owner or admin),
    )


def _by_term(facts: Facts, end: RowView) -> Assessment:
    own, doing = _failing(facts, end)
    shows = [f"A program in the job was told to end by SIGTERM: {quoted(end, 'interrupt_message', 'interrupt_line')}."]
    sure = 0.4 if not own and not count(end, "ends") else 0.1
    if count(end, "reports") and (end.number("progress_line") or 0) > (end.number("interrupt_line") or 0):
        sure = 0.05
    return _assessment(
        facts,
        end,
        "user",
        "undetermined",
        "The run was told to end from outside (SIGTERM).",
        shows,
        own,
        doing,
        sure,
        who_known=False,
    )


def _assessment(
    facts: Facts,
    end: RowView | None,
    mode: str,
    attribution: Attribution,
    head: str,
    shows: list[str],
    own: str,
    doing: str,
    sure: float,
    *,
    who_known: bool,
) -> Assessment:
    missing: list[Missing] = []
    overview = facts.overview
    if not who_known:
        missing.append(lacks("Who cancelled it.", "sacct's State column (CANCELLED by UID), slurm_job.cancelled_by"))
    if own:
        # srun and torchrun end what is left of a step once a part of it has failed: nobody cancelled the job then.
        nobody = facts.overview is not None and facts.ending.failed and facts.overview.text("state") != "CANCELLED"
        text = (
            f"Accounting records no cancel of the job, and the log tells of a failure: {own}."
            if nobody
            else f"The cancel came after the run had already failed: {own}."
        )
        return Assessment(
            CODE,
            "suspected",
            mode or None,
            min(sure, 0.3),
            attribution,
            head,
            say(*shows),
            missing=missing,
            counterfactual=text,
            warnings=say("" if nobody else text),
        )
    if doing:
        shows = [*shows, f"Before that {doing}."]
    wall = facts.table("wall").first
    quiet = (
        wall is not None and wall.has("pace_s") and count(wall, "quiet_min") >= 20 and count(wall, "quiet_paces") >= 12
    )
    implies: list[str] = []
    if quiet and wall is not None:
        implies.append(
            f"It had made no progress for {wall['quiet_min']} by then: it may have been cancelled because it was stuck."
        )
        sure = min(sure, 0.6)
    elif facts.progress.begun and (spread := came_to_rest(facts)) is not None:
        implies.append(f"{spinning(spread)} It may have been cancelled because it was stuck.")
        sure = min(sure, 0.6)
    elif doing:
        implies.append("Nothing shows that it was failing when it was ended.")
    elif facts.cold and count(overview, "elapsed_s") > _LONG_IDLE_S:
        shows = [*shows, "No GPU of the job worked at any time, on any of its nodes."]
        implies.append("It may have been cancelled because it never got under way.")
        missing.append(lacks("What held it up.", "the job's output (logs/), a stack of its processes"))
        sure = min(sure, 0.6)
    else:
        watched = "progress lines" if facts.has("gpu_sample") else "progress lines, GPU metrics"
        missing.append(lacks("Whether it was already failing.", watched))
    return Assessment(
        CODE,
        "confirmed" if sure >= 0.6 else "suspected",
        mode or None,
        sure,
        attribution,
        head,
        say(*shows),
        implies=say(*implies, status="supported"),
        missing=missing,
        actions=say(
            "If it was not meant, submit it again."
            if mode == "user"
            else "Ask sacct who cancelled it (-X -P -o State names the user id): if nobody meant it, submit it again."
            if not mode and not who_known
            else "Ask the operators why they cancelled it before submitting again.",
            "Run long jobs with sbatch, or under nohup or tmux, so that a closed session does not end them."
            if end is not None and count(end, "hangups")
            else "",
        ),
        counterfactual="" if sure >= 0.6 else f"{shows[0]} Who sent it, and why, is not in the evidence.",
    )
