"""F2: the scheduler sent the job back to the queue, or evicted it for another job.

Decided by requeue and preemption events, accounting rows of several attempts, or Slurm's words in the log. What counts is
what became of it: whether the rerun recovered. Not F2: a last attempt that failed of its own cause, and a node's failure
that no rerun has outlived yet (F1).
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.f1_node_down import fallen_before, fell_twice, lost_node
from agent_tools.families.faulted_gpus import event_said
from agent_tools.families.faults_around import fault_that_ended_attempt
from agent_tools.families.wording import by_log
from agent_tools.say import UNENDED, count, lacks, own_failure, quoted, say
from agent_tools.verdict import Claim, Missing
from store import lazy

CODE = "F2"
EXPLAINS = ("A1", "A2", "A3", "A4", "C2", "F4", "G1")

OPEN = {*UNENDED, "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED"}
_ITSELF = lazy.compile(r"\b[Rr]equeued (?:SLURM job: |exp |job \S+ \(\d+ remaining)")
"""The word of a framework whose handler of Slurm's warning has asked for the requeue: Lightning's, submitit's."""


def assess(facts: Facts) -> Assessment:
    """Judge the job's attempts."""
    h = facts.table("requeue_history").first
    if h is None:
        return _none(facts)
    preempted = count(h, "preempted_attempts") + count(h, "preempt_events") + count(h, "log_preemptions")
    requeued = count(h, "requeue_events") + count(h, "log_requeues") + count(h, "restarts")
    several = count(h, "attempts") > 1
    if not (preempted or requeued or several):
        return _none(facts)
    mode = "preemption" if preempted else "requeue"
    last = h.text("last_state").upper()
    end = facts.table("run_ending").first
    failure = own_failure(facts)
    if end is not None and count(end, "errors") == 1 and count(end, "error_line") == count(h, "log_line"):
        failure = ""  # the exception is the eviction's own word
    shows = _shows(h, mode)
    if mode == "requeue" and (script := left_itself(facts)) is not None and facts.overview is not None:
        return _after_its_end(facts, facts.overview, script, h, shows, failure)
    if facts.launch_failed is not None:
        text = f"It was sent back because Slurm could not launch it: {facts.launch_failed['reason']}."
        return Assessment(CODE, "suspected", mode, 0.2, "scheduler", text, say(*shows), counterfactual=text)
    if not last and end is not None and end.text("stop_system") == "platform" and _went_on(end):
        text = f"The run went on after that: its last progress stands in line {end['progress_line']}."
        return Assessment(CODE, "suspected", mode, 0.3, "scheduler", text, say(*shows), counterfactual=text)
    stopped_again = last in ("PREEMPTED", "REQUEUED") or last in OPEN
    recovered = last == "COMPLETED" and not h.number("last_exit")
    if last and not recovered and not stopped_again:
        return _failed_itself(h, mode, shows)
    if not last and failure:
        return _failed_itself(h, mode, shows)
    confidence = 0.95 if last else 0.9
    if not last and mode == "requeue" and not count(h, "log_requeues"):
        confidence = 0.5
    if several and not preempted and not requeued and not recovered:
        confidence = 0.6
    if last == "REQUEUED" and facts.attempt is not None and (now := _next(facts, facts.attempt)) is not None:
        h, last = now, now.text("last_state").upper()
    fate, actions = _fate(h, last, recovered)
    resumed, stretches = facts.table("resume_signs").first, facts.table("loss_stretches").rows
    loaded = resumed is not None and count(resumed, "loads") > 0
    anew = recovered and not loaded and len(stretches) > 1 and _anew(stretches[-2], stretches[-1])
    if anew:
        fate, actions = _done_again(h)
    lost = recovered and not preempted and count(h, "node_fail_attempts") > 0
    fallen = fallen_before(facts) if lost else []
    node = f"node {fallen[0]['node']}" if fallen else "a node"
    if lost:
        shows += [
            f"{h['node_fail_attempts']} of them ended because a node failed.",
            *lost_node(fallen),
            *fell_twice(facts, fallen),
        ]
        actions = [*actions, *say(f"Have {node} looked at before it takes jobs again.")]
    fault = fault_that_ended_attempt(facts) if several and not preempted and not lost else None
    if fault is not None:
        shows.append(f"Shortly before the attempt before it ended: {event_said(fault)}")
        actions = [*actions, *say(f"Have that GPU of {fault['node']} tested before it takes jobs again.")]
    itself = mode == "requeue" and _ITSELF.search(h.text("log_message")) is not None
    if itself and not last:
        actions = say(
            "Check with squeue or sacct whether the job ran again, and that it went on from its last checkpoint."
        )
    implies = [
        f"It waited {h['launch_failures']} times because a launch had failed on the cluster's side, no fault of the job's."
        if count(h, "launch_failures") and mode == "requeue"
        else "The cluster lost a node, and Slurm ran the job again by itself: no crash of the job."
        if lost
        else "A fault of its GPU is most likely why the earlier attempt was ended and sent back, and no crash of the job."
        if fault is not None
        else "The program asked for it itself, as its framework does when a signal warns it that it has to stop: no crash of the job."
        if itself
        else "This was a decision of the scheduler or an operator. The end of the earlier attempt was that eviction, no crash of the job.",
        fate,
    ]
    if resumed is not None and count(resumed, "loads") and resumed.has("load_message"):
        implies.append(f'The rerun went on from a checkpoint: "{resumed["load_message"]}".')
    if len(stretches) > 1:
        implies.append(
            f"Before it the log reaches step {stretches[-2]['last_step']}; after it the steps {'begin again at' if anew else 'go on from'} {stretches[-1]['first_step']}."
        )
    missing: list[Missing] = []
    if not last:
        missing.append(
            lacks("Whether the rerun recovered.", "sacct with duplicates (slurm_job), or the log of the next attempt")
        )
    if lost and not fallen:
        missing.append(lacks("Which node it was.", "slurm_node_state (sacctmgr show event)"))
    if last == "REQUEUED":
        missing.append(lacks("Whether it waits, is held, or runs again.", "squeue or scontrol show job (slurm_job)"))
    if mode == "requeue" and not lost and not itself and not h.has("event_actor"):
        missing.append(lacks("Who asked for the requeue.", "slurmctld's log or slurm_job_event.actor"))
    if mode == "preemption":
        missing.append(lacks("Which job took its place.", "slurmctld's log"))
    word = "preempted for another job" if mode == "preemption" else "sent back to the queue"
    if mode == "preemption" and end is not None and end.text("stop_system") == "platform":
        word = "evicted: its machine or pod was taken away"
    if lost:
        word = f"sent back to the queue because {node} failed under an earlier attempt"
    done = f", and {_now(h, last, recovered)}" if recovered or (last in OPEN and last != "REQUEUED") else ""
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        mode,
        confidence,
        "infrastructure" if lost else "scheduler",
        f"The job was {word}{done}; it did not fail by itself.",
        say(*shows),
        implies=say(*implies, status="supported"),
        missing=missing,
        actions=actions,
    )


def left_itself(facts: Facts) -> RowView | None:
    """The batch step, where the attempt was sent back after its script had ended by itself, with an error status; else None.

    A script that a requeue ends is killed (CANCELLED, signal 15), and the attempt keeps no exit status.
    """
    o = facts.overview
    if o is None or facts.state != "REQUEUED" or not o.number("exit_code") or o.number("exit_signal"):
        return None
    return next(
        (
            r
            for r in facts.table("job_steps").one_of("step_id", "batch")
            if r.text("state") == "FAILED" and r.get("exit_code") == o.get("exit_code") and _of_attempt(r, o)
        ),
        None,
    )


def _of_attempt(step: RowView, overview: RowView) -> bool:
    return not step.has("attempt") or not overview.has("attempt") or step.get("attempt") == overview.get("attempt")


def _after_its_end(
    facts: Facts, overview: RowView, script: RowView, h: RowView, shows: list[str], failure: str
) -> Assessment:
    """Slurm sends back a job that ended with certain statuses, and whoever may requeue it can do so after its end."""
    # SOURCE: slurm.conf(5), RequeueExit and RequeueExitHold.
    text = f"The attempt had ended by itself, with exit status {script['exit_code']}, before it was sent back to the queue."
    if failure or facts.causes:
        return Assessment(
            CODE,
            "suspected",
            "requeue",
            0.2,
            "job",
            "The job was sent back to the queue after it had failed.",
            say(*shows),
            counterfactual=text,
            warnings=say(text),
        )
    now = _next(facts, facts.attempt) if facts.attempt is not None else None
    fate, actions = _fate(now or h, (now or h).text("last_state").upper(), False)
    return Assessment(
        CODE,
        "confirmed",
        "requeue",
        0.75,
        "job",
        f"The job's script ended with exit status {overview['exit_code']}, and the job was then sent back to the queue.",
        say(*shows, f"By accounting its batch script ended as {script['state']} with that status."),
        implies=say(
            "Slurm sends a job back by itself where slurm.conf lists its exit status (RequeueExit, RequeueExitHold); else somebody asked for it.",
            fate,
            status="supported",
        ),
        missing=[
            lacks("Why the script ended with that status: nothing that it printed says so.", "the script's own words"),
            lacks("Whether the status is one that asks for it.", "scontrol show config (RequeueExit, RequeueExitHold)"),
        ],
        actions=actions,
    )


_HELD = lazy.compile(r"held|\bhold", re.IGNORECASE)


def _held(h: RowView, last: str) -> bool:
    """Whether the rerun waits to be let go by somebody, and not for resources."""
    return last == "REQUEUE_HOLD" or (last == "PENDING" and _HELD.search(h.text("last_reason")) is not None)


def _next(facts: Facts, attempt: int) -> RowView | None:
    """What is known of the run after the one that is asked about, while it waits: the queue may tell that it is held."""
    row = facts.table("requeue_history", attempt=attempt + 1).first
    return (
        row
        if row is not None and row.number("last_attempt") == attempt + 1 and row.text("last_state").upper() == "PENDING"
        else None
    )


def _now(h: RowView, last: str, recovered: bool) -> str:
    """What became of the job, in words for the headline."""
    if recovered:
        return "the rerun completed"
    if _held(h, last):
        return "it is held there: nothing runs it again until somebody releases it"
    if last == "PENDING":
        return "it waits to run again"
    return "it runs again" if last in ("RUNNING", "SUSPENDED", "COMPLETING") else "it is to run again"


def _went_on(end: RowView) -> bool:
    """Progress, or words of completion, after a machine was said to be taken away: the run has been brought back."""
    return max(count(end, "progress_line"), count(end, "end_line")) > count(end, "stop_line")


def _shows(h: RowView, mode: str) -> list[str]:
    shows: list[str] = []
    if count(h, "attempts") > 1:
        shows.append(f"Accounting holds {h['attempts']} attempts under the same job id; the last is {h['last_state']}.")
    if count(h, "preempted_attempts"):
        of = "of them" if count(h, "attempts") > 1 else "attempt of the job"
        shows.append(f"{h['preempted_attempts']} {of} ended as preempted.")
    if count(h, "restarts"):
        shows.append(f"Slurm counts {h['restarts']} restarts.")
    if count(h, "preempt_events") or count(h, "requeue_events"):
        column = "preempt_events" if mode == "preemption" and count(h, "preempt_events") else "requeue_events"
        kind = "preemption" if column == "preempt_events" else "requeue"
        if count(h, column):
            at = f", the first at {h['event_ts']}" if h.has("event_ts") else ""
            shows.append(f"The scheduler's record holds {h[column]} {kind} events{at}.")
    if h.has("log_message"):
        shows.append(f"The log says: {quoted(h, 'log_message', 'log_line')}.")
    if count(h, "warned"):
        shows.append(f"A handler in the job reported {h['warned']} warning signals.")
    if h.has("waited_min"):
        shows.append(f"The last attempt started {h['waited_min']} after the one before had ended.")
    return shows


def _anew(before: RowView, now: RowView) -> bool:
    """Whether the steps after the requeue begin far back, and no load of a checkpoint was printed."""
    return not count(now, "loads") and 2 * count(now, "first_step") <= count(before, "last_step")


def _done_again(h: RowView) -> tuple[str, list[Claim]]:
    """What became of it where the rerun completed and did not go on from where it had been."""
    lost = f" The attempts before it held {h['earlier_gpu_hours']} of GPU time." if h.has("earlier_gpu_hours") else ""
    return f"The rerun completed, but it began anew: what was trained before it was thrown away.{lost}", say(
        "Find out why the rerun did not go on from a checkpoint: whether one had been saved, and where the script looks for it.",
        "Save checkpoints often and resume from them, so that an eviction costs little.",
    )


def _fate(h: RowView, last: str, recovered: bool) -> tuple[str, list[Claim]]:
    lost = f" The attempts before it held {h['earlier_gpu_hours']} of GPU time." if h.has("earlier_gpu_hours") else ""
    if recovered:
        return f"The rerun completed, so nothing is lost but time.{lost}", say(
            "Nothing has to be done about this job.",
            "Save checkpoints often and resume from them, so that an eviction costs little.",
        )
    if last in OPEN:
        reason = f" ({h['last_reason']})" if h.has("last_reason") else ""
        if _held(h, last):
            return f"The job is {h['last_state']}{reason}, and stays so until it is released.{lost}", say(
                "Let it go with scontrol release and the job's id, or cancel it: a held job never starts by itself.",
                "Make sure that the script resumes from its last checkpoint.",
            )
        return f"The job is {h['last_state']}{reason}: its outcome is open.{lost}", say(
            "Wait for the rerun; if it does not start, look at its pending reason.",
            "Make sure that the script resumes from its last checkpoint.",
        )
    return f"Whether a rerun followed and recovered is not in the evidence.{lost}", say(
        "Check with squeue or sacct whether the job ran again; if not, submit it again from its last checkpoint.",
        "Let the script catch the warning signal, save a checkpoint and requeue itself.",
    )


def _failed_itself(h: RowView, mode: str, shows: list[str]) -> Assessment:
    text = f"The job had been {'preempted' if mode == 'preemption' else 'requeued'} before, but its last attempt ended by itself"
    text += f" as {h['last_state']}." if h.has("last_state") else "."
    return Assessment(
        CODE,
        "suspected",
        mode,
        0.2,
        "scheduler",
        "The job was requeued before its last attempt.",
        say(*shows),
        counterfactual=text,
        warnings=say(text),
    )


def _none(facts: Facts) -> Assessment:
    if facts.overview is not None:
        of = "is" if facts.overview.text("state") in UNENDED else "ended as"
        text = f"Accounting shows a single attempt that {of} {facts.overview['state']}, and nothing speaks of a requeue or a preemption."
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=text)
    return Assessment(
        CODE,
        "ruled_out" if facts.has_log else "undecidable",
        confidence=0.01,
        counterfactual=by_log(facts, "No line of the log speaks of a preemption or a requeue."),
        missing=[lacks("Whether the job ran more than this attempt.", "sacct with duplicates (slurm_job)")],
    )
