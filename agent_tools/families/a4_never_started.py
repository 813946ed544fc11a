"""A4: the program never ran: the job is pending for a reason that Slurm gives, or its launch failed.

Launch: submission refused, step not created, prolog or container failed, ssh to a node refused, path not there, exit
status 126 or 127.
Not A4: a program that ran and raised an exception (A1), a job that ran and waits again after a requeue (F2).
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.pending import reason
from agent_tools.facts.shell_words import DENIED, LINE, NO_FILE, UNKNOWN_COMMAND
from agent_tools.facts.status import WHOLE, status_doubt
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.deadline import never_ran, too_late
from agent_tools.families.launch_reason import (
    by_reason,
    by_status_alone,
    launch_said_failed,
    lone_path,
    no_output,
    nodes_fault,
    not_authenticated,
    out_of_service,
    prolog_by_code,
    remote_start,
    speaker,
    where_before,
)
from agent_tools.families.shell_failed import NO_SLOTS, only_read_in, shell_failed
from agent_tools.families.step_cancels import NODES, or_by_slurm
from agent_tools.families.unread_script import FURTHER, SHORT, UNREADABLE, program_spoke, unread, unset
from agent_tools.say import count, lacks, own_failure, quoted, say
from agent_tools.verdict import Attribution
from store import lazy

CODE = "A4"
EXPLAINS = ("A1", "A2", "C1", "C3")

_EITHER, _UNSAID = 0.55, 0.4
"""Highest confidence of a status that may be one of the program's own; the same where the log holds no word of the shell's."""
PENDING = {"PENDING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}

LAUNCH: dict[str, tuple[str, float, Attribution, str]] = {
    "submit_failed": ("the scheduler refused the submission", 0.93, "job", "Correct the request as the message says and submit again."),
    "allocation_failed": ("Slurm could not allocate what was asked for", 0.92, "job", "Correct the partition, GPUs, CPUs and memory that the job asks for: compare them with sinfo."),
    "job_limit": ("a limit of the account or quality of service refused the job", 0.85, "user", "Ask for less, use another account or QOS, or ask the operators about the limit."),
    "step_create_failed": ("Slurm could not create the job step", 0.85, "job", "Check that srun asks for no more than the job holds (tasks, GPUs, memory)."),
    "boot_failed": ("the nodes that were woken for it did not come up", 0.88, "infrastructure", "Submit again; tell the operators: ResumeTimeout, the resume program's log and the cloud's or the power management's record of those nodes say why."),
    "cpu_bind_failed": ("the tasks were to be bound to CPUs that the step does not have", 0.85, "job", "Leave out --cpu-bind, or ask for the CPUs that it names; look for SLURM_CPU_BIND and SLURM_CPU_BIND_LIST of an outer allocation."),
    "launch_failed": ("Slurm could not launch the tasks", 0.85, "infrastructure", "Submit again; if it fails on the same node, tell the operators and exclude the node."),
    "remote_start_failed": ("the launcher could not start its processes on another node", 0.85, "undetermined", "Try ssh to that node from the job's first node."),
    "execve_failed": ("the program could not be executed", 0.93, "job", "Check the program's path on the compute node, its execute permission, and that the environment is activated in the job."),
    "io_setup_failed": ("an output or input file could not be opened", 0.9, "job", "Check that the folder of --output and --error exists on the compute node and may be written to."),
    "prolog_failed": ("a prolog or plugin of the cluster failed", 0.85, "infrastructure", "Submit again on other nodes and tell the operators which node it was."),
    "container_failed": ("the container could not be brought up, or does not hold the program", 0.85, "job", "Check that the image holds the program and finds it on its PATH, the image's name, its access rights and the mounts; try it with a short interactive job."),
    "bcast_failed": ("sbcast could not copy a file to the nodes", 0.8, "job", "Check that the file is there, and that the folder that sbcast copies it to exists on every node and has room."),
    "unschedulable": ("no node of the cluster has free what it asks for", 0.85, "scheduler", "Wait until GPUs come free, or ask for fewer; where no node has such GPUs at all, correct the request or have the device plugin looked at."),
    "held_by_limit": ("a limit or a hold of the scheduler keeps it in the queue", 0.85, "user", "Look at what checkjob names: cancel other jobs of the same user, ask for less, or ask the operators about the limit or the hold."),
    "start_failed": ("the batch system could not start it on the node that it had chosen", 0.85, "infrastructure", "Submit again; if it fails on the same node, tell the operators and leave the node out."),
    "not_authenticated": ("Slurm's daemons did not accept each other's credentials", 0.85, "infrastructure", "Tell the operators: munge and the clock of the node that is named, compared with the controller's (munge -n, chronyc tracking)."),
    "controller_unreachable": ("the Slurm controller did not answer", 0.7, "infrastructure", "Wait and submit again; tell the operators if it goes on."),
}  # fmt: skip
_WAITS = ("unschedulable", "held_by_limit")
"""What keeps a job in the queue, and has not failed at its start."""
_NO_PROGRAM = lazy.compile(
    rf"{UNKNOWN_COMMAND}|{NO_FILE}|{DENIED}|not found|cannot execute|Exec format error|bad interpreter|"
    r"syntax error|unexpected EOF|line \d+: `.{1,200}'$",
    re.IGNORECASE,
)
_LINE = lazy.compile(
    rf"({LINE}|\.(?:sh|sbatch|slurm|job|cmd): \d+: |^(ba|z|da|)sh: |env: |exec: |slurm_script: ).*({UNKNOWN_COMMAND}|{NO_FILE}|{DENIED}|"
    r"cannot execute|Exec format error|bad interpreter|: not found|syntax error near|syntax error: |unexpected EOF while)|"
    rf"[:：] ?(?:{UNKNOWN_COMMAND})\.?\s*$",
    re.IGNORECASE,
)
# What starts a training: without it nothing of the program ran, whatever the script printed around it.
_STARTER = lazy.compile(
    r"(?:^|[\s:/‘'`])(?:python[\d.]*|torchrun|accelerate|deepspeed|horovodrun|colossalai|mpirun|mpiexec|srun|singularity|apptainer|julia|Rscript)"
    rf"[’'`]? ?[:：] ?(?:{UNKNOWN_COMMAND}|not found|{NO_FILE})\.?\s*$"
    r"|: command not found: (?:python[\d.]*|torchrun|accelerate|deepspeed)\s*$"
)
_MPI = lazy.compile(
    NO_SLOTS
    + r"|unable to find the specified executable|unable to launch the specified application as it (?:could not|encountered an error)"
)
_CLOSES = lazy.compile(
    r"^\W*(?:done|finish\w*|end\w*|completed?|exit\w*|job\b|real\b|user\b|sys\b|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d)"
    r"|exit(?:ed)?(?: with)?(?: an?)? (?:exit )?(?:code|status)|^srun: |^slurmstepd",
    re.IGNORECASE,
)

# The kernel's answer is the same where slurmd's folder lacks the copy and where the interpreter is lacking that it names.
_OWN_COPY = lazy.compile(r"execve\(\).*/slurm_script: No such file")
_COPY_ADVICE = (
    "Check that the interpreter in the job script's first line is on the node, with no carriage return after it; "
    "where it is, tell the operators that slurmd lost its copy of the script (SlurmdSpoolDir)."
)


def assess(facts: Facts) -> Assessment:
    """Judge whether the program ever ran."""
    overview, state = facts.overview, facts.state
    end = facts.table("run_ending").first
    if facts.progress.begun or count(end, "reports"):
        text = f"The program ran: {facts.progress.phrase or 'it printed progress'}."
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=text)
    if overview is not None and too_late(facts):
        return never_ran(overview)
    if overview is not None and state in PENDING:
        return _pending(facts, overview)
    if overview is not None and facts.launch_failed is not None:
        return _not_launched(facts, overview)
    if (
        overview is not None
        and state == "CANCELLED"
        and not overview.has("start_ts")
        and not count(overview, "elapsed_s")
    ):
        text = "The job was cancelled before it ever started."
        return Assessment(
            CODE, "suspected", "pending", 0.35, "user", text, say(text), counterfactual=text, warnings=say(text)
        )
    own = own_failure(facts) if not facts.wrapped_only else ""
    message = _message(facts)
    if message is not None and message.text("name") == "submit_failed" and _before_error(message, end):
        return _launch(facts, message)
    if message is not None and message.text("name") == "remote_start_failed" and remote_start(facts, message):
        return _launch(facts, message)
    if own or facts.causes:
        text = f"The program ran: {own}." if own else "The program ran and raised an exception."
        return Assessment(CODE, "ruled_out", confidence=0.03, counterfactual=text)
    if message is not None:
        return _launch(facts, message)
    code = _exit_status(facts, overview)
    if code is not None:
        return code
    if overview is not None and overview.number("exit_signal") == 53:
        return no_output(facts, overview)
    if overview is not None and (state == "BOOT_FAIL" or launch_said_failed(overview) or prolog_by_code(overview)):
        return by_reason(facts, overview)
    return _not_it(facts)


def _pending(facts: Facts, overview: RowView) -> Assessment:
    ran_before = count(overview, "restarts") > 0 or count(overview, "attempts") > 1
    word = overview.text("state_reason")
    launch = "launch failed" in word.replace("_", " ").lower()
    known = reason(word)
    failed = where_before(facts, overview) if launch else []
    shows = [f"Slurm shows the job as {overview['state']}."]
    if word:
        shows[0] = f"Slurm shows the job as {overview['state']} with the reason {overview['state_reason']}."
    if overview.has("submit_ts"):
        shows.append(f"It was submitted at {overview['submit_ts']}.")
    if overview.has("dependency") and "ependency" in word:
        shows.append(f"It depends on {overview['dependency']}.")
    if ran_before and not launch:
        text = "The job has run before and waits for its next attempt."
        return Assessment(CODE, "suspected", "pending", 0.3, "scheduler", text, say(*shows), counterfactual=text)
    if known is None:
        return Assessment(
            CODE,
            "confirmed" if word else "suspected",
            "pending",
            0.8 if word else 0.55,
            "scheduler",
            f"The job never started: Slurm shows it as {overview['state']}.",
            say(*shows),
            missing=[lacks("Why it waits.", "the Reason of squeue or scontrol show job at this time")],
            actions=say(
                "Ask Slurm for the reason with scontrol show job, and for the expected start with squeue --start."
            ),
        )
    shows += [out_of_service(r) for r in failed[:3]]
    on = f" on {failed[0]['node']}" if failed else ""
    return Assessment(
        CODE,
        "confirmed",
        "launch" if launch else "pending",
        0.96,
        known.whose,
        f"The job has not started, because {known.why}{', last' + on if on else ''}.",
        say(*shows),
        implies=say(f"Slurm's reason means: {known.why}.", status="supported"),
        missing=[lacks("When it will start.", "squeue --start")],
        actions=say(known.release),
    )


def _not_launched(facts: Facts, overview: RowView) -> Assessment:
    """Slurm sent the attempt back or cancelled it because a prolog or a node's set-up failed."""
    rows = facts.table("launch_failures")
    waits, nodes, lines = (rows.where(lambda r, by=by: r.text("told_by") == by) for by in ("queue", "node", "log"))
    shows = [f"Slurm recorded the end of the attempt as {overview['state']}."]
    shows += [f"Since then the job waits with the reason {r['reason']}." for r in waits]
    shows += [out_of_service(r) for r in nodes[:3]]
    shows += [f'The only line of its output is slurmd\'s: "{r["reason"]}".' for r in lines]
    held = any(bool(r.get("held")) for r in waits)
    where = f" on {nodes[0]['node']}" if nodes else ""
    return Assessment(
        CODE,
        "confirmed",
        "launch",
        0.97 if len(rows) > 1 else (0.95 if waits else 0.9),
        "infrastructure",
        f"The program never started: Slurm could not launch the job{where} and ended the attempt itself.",
        say(*shows),
        implies=say(
            "Nothing of the job's own ran, so it is not at fault, and nobody cancelled it.", status="supported"
        ),
        missing=[lacks("What failed on the node.", "slurmd's log and the prolog on the node")],
        actions=say(
            f"Tell the operators that a prolog or the set-up{where} fails.",
            "Slurm holds the job until it is let go: scontrol release and the job's id."
            if held
            else "Where Slurm does not run it again by itself, submit it again on other nodes.",
        ),
    )


def _message(facts: Facts) -> RowView | None:
    order = list(LAUNCH)
    rows = [r for r in facts.table("slurm_messages") if r.text("name") in LAUNCH and r.text("severity") != "warning"]
    # A container runtime copies the log of what failed below it, in which one line says why.
    return min(rows, key=lambda r: (order.index(r.text("name")), "[ERROR]" not in r.text("message"))) if rows else None


def _before_error(row: RowView, end: RowView | None) -> bool:
    """Whether a submission was refused before anything was raised: a program that submits jobs then fails of that."""
    return end is not None and count(end, "errors") == 1 and 0 < count(row, "line_no") < count(end, "error_line")


def _launch(facts: Facts, row: RowView) -> Assessment:
    prolog = row.text("name") == "step_create_failed" and "Prolog" in row.text("message")
    named = "prolog_failed" if prolog else "not_authenticated" if not_authenticated(row) else row.text("name")
    why, confidence, whose, advice = LAUNCH[named]
    contained = row.text("name") == "container_failed"
    remote = remote_start(facts, row) if row.text("name") == "remote_start_failed" else None
    fault = remote or (nodes_fault(facts.table("slurm_messages")) if contained else lone_path(facts, row))
    if fault is not None:
        row, why, whose, advice, _ = fault
    if _OWN_COPY.search(row.text("message")):
        why, whose, advice = "slurmd could not execute its copy of the job script", "undetermined", _COPY_ADVICE
    elif named == "execve_failed" and fault is None:
        why = f"{why}: {row['message']}"
    shows = [
        f"{speaker(row)} says: {quoted(row, 'message', 'line_no')}.",
        "The program that submitted it failed because of that, and no progress was printed."
        if facts.causes and remote is None
        else "No progress was printed."
        if remote is not None
        else "No line of the log comes from the program itself, and no progress was printed.",
        *(fault.shows if fault is not None else ()),
    ]
    return Assessment(
        CODE,
        "confirmed",
        "pending" if row.text("name") in _WAITS else "launch",
        confidence,
        whose,
        f"The program never started: {why}.",
        say(*shows),
        implies=say(
            "Ranks that did start could only wait for those that were missing; the training code is not at fault."
            if remote is not None
            else "Nothing of the training code ran, so it is not at fault.",
            status="supported",
        ),
        missing=[] if facts.overview else [lacks("What Slurm recorded for the job.", "sacct (slurm_job)")],
        actions=say(advice),
    )


def _exit_status(facts: Facts, overview: RowView | None) -> Assessment | None:
    """Exit status 126 or 127: the shell found no program, or one that it may not execute."""
    cell = None
    if overview is not None and overview.number("exit_code") in (126, 127):
        cell = overview["exit_code"]
    for row in facts.table("slurm_messages"):
        if cell is None and row.text("name") == "task_exit" and row.number("exit_code") in (126, 127):
            cell = row["exit_code"]
    stopped = unset(facts) if cell is None else None
    if stopped is not None:
        return stopped
    line = next((r for r in facts.table("log_tail") if _LINE.search(r.text("text"))), None)
    missing_starter = _starter(facts)
    broken = unread(facts) if missing_starter is None else None
    line = missing_starter or broken or line
    if cell is None and missing_starter is None and broken is None and (line is None or not _shell_only(facts)):
        return None
    if cell is not None and facts.raised:
        return None
    shows: list[str] = []
    if cell is not None:
        shows.append(f"The exit status was {cell}: the shell found no such program, or may not execute it.")
    if line is not None:
        shows.append(f"The log says: {quoted(line, 'text', 'line_no')}.")
    confidence = 0.93 if cell is not None and line is not None else (0.85 if cell is not None else 0.72)
    if cell is None and broken is not None and not _shell_only(facts):
        confidence = FURTHER
    if line is not None and UNREADABLE.search(line.text("text")):
        return Assessment(
            CODE,
            "confirmed",
            "launch",
            confidence,
            "job",
            "The program never started: the shell could not read the job script.",
            say(*shows),
            implies=say("The job script breaks the shell's grammar there; nothing below was run.", status="supported"),
            actions=say("Correct the script at that line: bash -n and its name checks it without running anything."),
        )
    doubt = status_doubt(facts) if line is None else None
    unsaid = cell is not None and line is None and any(r.text("text").strip() for r in facts.table("log_tail"))
    if unsaid and doubt is None:
        return by_status_alone(f"{cell}", shows)
    headline, implied, advice = shell_failed(line)
    if doubt is not None:
        shows.append(
            f"It may have been {doubt['full_code']} as well, a status of the program's own: sacct's text leaves the high bit of a status out."
        )
    return Assessment(
        CODE,
        "confirmed" if doubt is None else "suspected",
        "launch",
        confidence if doubt is None else _UNSAID if unsaid else _EITHER,
        "job",
        headline,
        say(*shows),
        implies=say(implied, status="supported"),
        missing=[
            *([] if line is not None else [lacks("Which program was missing.", "the job's standard error (log_line)")]),
            *([] if doubt is None else [lacks("Which exit status it was.", WHOLE)]),
        ],
        actions=say(*advice),
    )


def _starter(facts: Facts) -> RowView | None:
    """The line about an interpreter or a launcher that is not there, where only the script's own closing words follow."""
    if facts.fatal or facts.ending.succeeded:
        return None
    tail = [r for r in facts.table("log_tail") if r.text("text").strip()]
    for n, row in enumerate(tail):
        if _MPI.search(row.text("text")):
            return row
        rest = tail[n + 1 :]
        if _STARTER.search(row.text("text")) and all(
            _CLOSES.search(r.text("text")) or _STARTER.search(r.text("text")) for r in rest
        ):
            return row
    return None


def _shell_only(facts: Facts) -> bool:
    """Whether the log is so short that the shell's complaint is its content, and ends with it."""
    tail = [r for r in facts.table("log_tail") if r.text("text").strip()]
    said = [r for r in tail if _NO_PROGRAM.search(r.text("text"))]
    breach = any(UNREADABLE.search(r.text("text")) for r in said) and program_spoke(tail)
    alone = 0 < len(tail) <= SHORT and said[-1:] == tail[-1:] and not breach
    return alone and not facts.raised and not only_read_in(said)


def _not_it(facts: Facts) -> Assessment:
    if facts.overview is not None and facts.overview.has("start_ts"):
        text = f"The job started at {facts.overview['start_ts']}."
        if facts.state == "CANCELLED" and or_by_slurm(facts, facts.overview):
            missing = [lacks("Whether a prolog failed before the program.", NODES)]
            return Assessment(CODE, "undecidable", confidence=0.3, counterfactual=text, missing=missing)
        return Assessment(CODE, "ruled_out", confidence=0.03, counterfactual=text)
    if facts.has_log:
        return Assessment(
            CODE, "ruled_out", confidence=0.03, counterfactual="The log holds output, so the job was started."
        )
    return Assessment(
        CODE,
        "undecidable",
        confidence=0.05,
        counterfactual="Neither a log nor accounting tells whether the program ran.",
        missing=[lacks("Whether the job started.", "sacct or squeue (slurm_job)")],
    )
