"""What slurmstepd, srun, sbatch and salloc print into a job's log.

SOURCE  Slurm 17 to 26: `slurmstepd: error: `, `slurmstepd-NODE: error: `, `[TIME] error: ` (newest), slurmd's `[TIME] [STEP] error: `, with LogTimeFormat=thread_id
        `TIME PID slurmstepd 0xTHREAD: error: `, srun's task reports; Tianhe's Slurm, which calls them yhrun.
ROWS    kind `slurm`, one per message. `node` names in `host`; job, step, task and printed time in `detail`.
CAVEAT  a task's number is srun's, not a training rank (one task may be a launcher of eight ranks). Times carry no zone.
        A message may be cut by a line end, or glued to the end of a progress bar.
EXAMPLE slurmstepd: error: *** JOB 42189 ON clr1247 CANCELLED AT 2022-04-14T16:17:16 DUE TO TIME LIMIT ***
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, signal_number, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "cancelled": "CANCELLED AT with no reason or one not listed here (detail.due_to): scancel, a failed step, an operator",
    "time_limit": "CANCELLED ... DUE TO TIME LIMIT",
    "preempted": "CANCELLED ... DUE TO PREEMPTION; submitit's handler that says so (detail.who)",
    "node_failure": "CANCELLED ... DUE TO NODE FAILURE; Node failure on NODE",
    "boot_failed": "nodes that were woken for the job did not come up",
    "requeued": "CANCELLED ... DUE TO JOB REQUEUE",
    "deadline": "CANCELLED ... DUE TO DEADLINE",
    "unkillable": "STEPD TERMINATED ... DUE TO JOB NOT ENDING WITH SIGNALS",
    "task_exit": "srun names a task's exit status or signal (host, exit_code, signal, detail.tasks)",
    "step_aborted": "Job step aborted: Waiting up to N seconds",
    "step_wait_timeout": "Timed out waiting for job step to complete",
    "first_task_exited": "First task exited Ns ago",
    "force_terminated": "srun: Force Terminated / Terminating StepId",
    "step_create_failed": "Unable to create step; srun asked for more nodes than the job has",
    "step_too_late": "a step was asked for when the job was already at its end",
    "step_waiting": "step creation temporarily disabled, retrying",
    "launch_failed": "a task or step could not be launched",
    "execve_failed": "slurmstepd could not execute the program",
    "chdir_failed": "the working directory was not there",
    "io_setup_failed": "an output or input file of the step could not be opened",
    "prolog_failed": "a prolog, epilog or SPANK plugin failed",
    "cpu_bind_failed": "the CPUs to bind to are none of the step's",
    "container_failed": "pyxis or enroot could not bring up the container",
    "submit_failed": "sbatch: Batch job submission failed; a request that srun, sbatch or salloc refuses itself",
    "allocation_failed": "Unable to allocate resources; configuration not available",
    "controller_unreachable": "the controller did not answer",
    "queued": "srun or salloc waits for resources",
    "allocated": "resources were allocated",
    "interrupted": "srun was interrupted from the keyboard or told to end by a signal",
    "job_limit": "a job was refused or ended because of an account, QOS or resource limit",
    "noise": "errors of Slurm that mean nothing for the job",
    "other": "any other error line of srun, slurmstepd, sbatch or salloc",
}

_CANCEL = lazy.compile(
    r"\*\*\* (?P<kind>HetJob|HET ?JOB|JOB|STEP) (?P<id>[\w.+\[\]<>-]+)(?: STEPD TERMINATED)?(?:\s+ON\s+(?P<node>[\w.-]+|<[\w -]{1,40}>))?"
    r"\s+(?:(?:(?P<verb>CANCELLED|FAILED|KILLED|SIGNALED|EXCEEDED)\s+)?AT\s+(?P<time>[\dT:-]{8,25}|[\dTYMDHhmSsXx:-]{8,25}|<[^<>]{1,30}>)|CANCELLED(?: (?:\.\.\.|…))?(?=\s+DUE [Tt][Oo]))"
    r"(?:\s+DUE [Tt][Oo]\s*(?P<why>[^*]*?))?\s*(?P<end>\*\*\*|$)"
)
"""Of what a poster has masked, a node between angle brackets, the letters of a time, or dots for it, the rest is Slurm's word all the same."""
_OPENING = lazy.compile(r"\*\*\* (?:HetJob|HET ?JOB|JOB|STEP) [\w.+\[\]<>-]+ ")
# What a program that looks for the line says of it in a comment; a report that stands in comments comes here without its marks.
_REMARK = lazy.compile(r"\s{0,40}(?:#|//)\s{1,8}\*\*\* ")
_REASONS = (
    ("TIME LIMIT", "time_limit"),
    ("PREEMPTION", "preempted"),
    ("NODE FAILURE", "node_failure"),
    ("REQUEUE", "requeued"),
    ("DEADLINE", "deadline"),
    ("TASK FAILURE", "step_aborted"),
    ("NOT ENDING WITH SIGNALS", "unkillable"),
)
# Slurm before 2.4 named the node last, and the one that failed within the reason.
_OLD_NODE = lazy.compile(r"(?:^|\s)(?:NODE (?P<failed>[\w.-]+) FAILURE|on (?P<on>[\w.-]+)$)")
_SPEAKER = lazy.compile(
    r"(?P<who>(?:s|yh)run|slurmstepd|(?:s|yh)batch|(?:s|yh)alloc|slurmd|sbcast)(?:-[\w.-]+|\[[\w.-]+\])?(?: +0x[0-9a-f]{4,16})?: (?:(?P<level>error|fatal|warning): )?(?P<text>.+)$"
)
_TASK = lazy.compile(r"(?:(?P<host>[\w.\[\],-]+): )?tasks? (?P<tasks>[\d,\s-]+): (?P<what>.+?)\s*$")
_ID = lazy.compile(r"(?:StepId=|step |job |JobId=|Job )(?P<id>\d+(?:_\d+)?(?:\+\d+)?(?:\.\w+)?)")

_TABLE: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (lazy.compile(pattern), name, severity)
    for pattern, name, severity in (
        (r"(?:Task launch for|Application launch failed).{0,200}(?:Zero Bytes were transmitted|Invalid Protocol Version|header lengths)", "launch_failed", "fatal"),
        (r"container_p_join|PredictCost|Zero Bytes were transmitted|slurm_(?:receive|unpack)_msg|_accept_msg_connection|eio_"
         r"(?:message|handle)|cpu[_-]freq|Invalid Protocol Version|header lengths are longer|plugin_context|Unable to TCPSocket"
         r"|acct_gather|Sent SIGCONT|x11_|ignoring|_rpc_abort|mpi/pmix.{0,60}(?:abort|disconnect)|get_exit_code task \d+ died", "noise", "warning"),
        (r"container_g_(?:create|join) failed", "launch_failed", "fatal"),
        (r"Job step aborted", "step_aborted", "error"),
        (r"Timed out waiting for job step to complete", "step_wait_timeout", "warning"),
        (r"First task exited", "first_task_exited", "error"),
        (r"Force Terminated|\bTerminating (?:StepId|job step|JobId)", "force_terminated", "warning"),
        (r"Nodes? \S+ (?:is|are) still not ready|[Ww]rong with the boot of the nodes", "boot_failed", "fatal"),
        (r"Node failure on|Node \S+ (?:is down|not responding)|aborting due to node failure", "node_failure", "fatal"),
        (r"Unable to create step .{0,60}already completing", "step_too_late", "error"),
        (r"Unable to create step|Unable to confirm allocation|Only allocated \d+ nodes? asked for", "step_create_failed", "fatal"),
        (r"step creation (?:temporarily disabled|still disabled)|Step created|Requested nodes are busy", "step_waiting", "info"),
        (r"pyxis|enroot|container (?:start|import)|spank_pyxis", "container_failed", "error"),
        (r"[Pp]rolog|[Ee]pilog|spank[:_]|SPANK", "prolog_failed", "error"),
        (r"REQUEST_FILE_BCAST|Can't open `", "bcast_failed", "error"),
        (r"execve\(\)|_?exec(?:ve)?: .*No such file|Unable to (?:find|open) executable", "execve_failed", "fatal"),
        (r"chdir", "chdir_failed", "warning"),
        (r"[Cc]ould not open std(?:out|err|in)|Could not open stdout|IO setup failed|Unable to open (?:std|file)", "io_setup_failed", "fatal"),
        (r"satisfy cpu bind request|CPU binding outside of job step allocation", "cpu_bind_failed", "fatal"),
        (r"launch failed|Task launch|aborted before step completely launched|Application launch|task_launch|tasks? not started|Failed to launch", "launch_failed", "fatal"),
        (r"Batch job submission failed", "submit_failed", "fatal"),
        # A request that the client itself refuses: the words of slurm_strerror for a part of it, and those of getopt for an option.
        (r"^(?:Invalid|Unknown) (?!job id).{1,70}specifi(?:cation|ed)\b|^[\w ]{3,30} specification (?:invalid|can ?not be satisfied)|^invalid number of |^Batch script (?:contains DOS|is empty)|^This does not look like a batch script",
         "submit_failed", "fatal"),
        (r"^(?:unrecognized option|invalid option -- |option '[^']{1,60}' (?:requires an argument|is ambiguous|doesn't allow))", "bad_option", "fatal"),
        (r"(?:[Jj]ob|[Ss]tep) (?:\S+ )?(?:has )?exceeded (?:its|the) time ?limit", "time_limit", "fatal"),
        (r"(?:QOS|Assoc|account|limit).*(?:limit|exceed|Invalid)|AssocGrp|QOSMax|Job violates", "job_limit", "fatal"),
        (r"[Uu]nable to allocate resources|Requested node configuration|allocation failure", "allocation_failed", "fatal"),
        (r"[Uu]nable to contact slurm controller|Socket timed out on send/recv|Unable to connect to slurm|slurm_load_", "controller_unreachable", "error"),
        (r"queued and waiting for resources|Pending job allocation", "queued", "info"),
        (r"has been allocated resources|Granted job allocation|Nodes? .* (?:is|are) ready for job", "allocated", "info"),
        (r"interrupt \(one more|forcing (?:job )?termination|sending Ctrl-C|got SIG|Cancelled pending job step|Received signal", "interrupted", "error"),
    )
)  # fmt: skip
# submitit's handler knows the scheduler's signal and compares the clock with the limit that it asked for.
_SUBMITIT = lazy.compile(
    r"Caught signal SIG(?P<signal>\w+) on (?P<node>[\w.-]+): this job is (?P<case>preempted|timed-out)"
)
# A framework has asked Slurm for it, and Slurm agreed: Lightning in its handler, submitit after a signal.
_ASKED = lazy.compile(
    r"(?:^|[\s:-])[Rr]equeued (?:(?P<lightning>SLURM job: |exp )|job (?=\S+ \(\d+ remaining timeouts?\)))(?P<id>\d+(?:_\d+)?)\b"
)
# Since 23.11 slurmstepd writes its errors to the job's output with a time and without its name. slurmd's own log has the same
# form and names the step after the time: there every error is that of the step.
_STEPD = lazy.compile(
    r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?\](?P<who>) (?:\[(?P<step>\d+(?:[_+]\d+)?\.\w+)\] )?(?P<level>error): (?P<text>(?(step)|(?:execve\(\): |[Cc]ouldn't chdir to |[Cc]ould not open std(?:out|err|in) file|IO setup failed: |pyxis: |spank: )).+)$"
)
# seff's summary, which a job script may print or a mail carries, and those of jobinfo and jobstats, which sites print at the end of a job.
_SEFF = lazy.compile(
    r"^\s*State(?P<jobinfo> {2,40})?: (?P<state>TIMEOUT|PREEMPTED|NODE_FAIL|DEADLINE|BOOT_FAIL|CANCELLED(?(jobinfo)(?= by \d)|(?= by \d|.*\(exit code)))"
    r"(?: \(exit code \d+\)|(?<=CANCELLED) by \d{1,10})?\s*$"
)
_SEFF_NAMES = {
    "TIMEOUT": "time_limit",
    "PREEMPTED": "preempted",
    "NODE_FAIL": "node_failure",
    "DEADLINE": "deadline",
    "BOOT_FAIL": "boot_failed",
    "CANCELLED": "cancelled",
}
# The subject of the mail that Slurm sends of a job's end.
_MAIL = lazy.compile(
    r"(?:Slurm|SLURM) (?:Array (?:Summary|Task) )?Job_id=\S+ .{0,200}(?:Ended|Failed), Run time \S+, (?P<state>TIMEOUT|PREEMPTED|NODE_FAIL|DEADLINE|BOOT_FAIL|CANCELLED)\b"
)
# slurmd's only line in the output of a batch job that it did not start, and slurmstepd's of a task, copied without its name.
_PROLOG = lazy.compile(r"\s*(?:Error running slurm (?:task_?)?prolog: |TaskProlog failed status=)\d+\s*$")
# Names whose messages come without "error:"; everything else without it is chatter (srun -v, pyxis's progress).
_UNLABELLED = {
    "step_aborted",
    "first_task_exited",
    "force_terminated",
    "step_waiting",
    "queued",
    "allocated",
    "interrupted",
    "time_limit",
}
_FAILURE = lazy.compile(r"Prolog failure on node \S")  # salloc's, which it does not call an error


class Slurm:
    """State: a cancellation whose line ended before its closing stars."""

    name: ClassVar[str] = "slurm"
    anchors: ClassVar[tuple[str, ...]] = (
        "*** JOB ",
        "*** STEP ",
        "*** HetJob",
        "*** HET",
        "slurmstepd",
        "srun: ",
        "yhrun: ",
        "yhbatch: ",
        "yhalloc: ",
        "sbatch: ",
        "salloc: ",
        "sbcast: ",
        "Error running slurm ",
        "slurmd[",
        "pyxis: ",
        ": this job is ",
        "equeued ",
        "State: ",
        "State  ",
        "TaskProlog failed",
        "Job_id=",
        "] error: ",
    )

    def __init__(self) -> None:
        self._held: Line | None = None
        self._more = 0

    @property
    def wants_more(self) -> bool:
        """True while a cancellation is cut by a line end."""
        return self._held is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        rows: list[ParsedRow] = []
        if self._held is not None:
            held, self._held = self._held, None
            whole_line = replace(held, text=held.text.rstrip() + " " + line.text.strip())
            found = _CANCEL.search(whole_line.text)
            if found and found["end"] == "***":
                return [self._cancel(whole_line, found, line.line_no)]
            self._more -= 1
            if self._more > 0 and len(line.text) < 200 and not _OPENING.search(line.text):
                self._held = whole_line
                return []
            rows.extend(self._cancels(held))
        return [*rows, *self._line(line)]

    def close(self) -> Iterable[ParsedRow]:
        """Give a cancellation that was cut by the end of the file."""
        held, self._held = self._held, None
        return self._cancels(held) if held else []

    def _line(self, line: Line) -> list[ParsedRow]:
        if _OPENING.search(line.text) and not _REMARK.match(line.text):
            rows = self._cancels(line, only_whole=True)
            if rows:
                return rows
            tail = line.text[line.text.rfind("*** ") :]
            if len(tail) < 200 and "AT" not in tail.split()[-1:] and not tail.rstrip().endswith("***"):
                self._held, self._more = line, 3
                return []
            if "CANCELLED AT" in tail or "DUE " in tail:
                self._held, self._more = line, 3
                return []
        if found := _SUBMITIT.search(line.text):
            return [
                line.event(
                    "slurm",
                    "preempted" if found["case"] == "preempted" else "time_limit",
                    severity="error",
                    parser=self.name,
                    framework="submitit",
                    host=found["node"],
                    signal=signal_number("SIG" + found["signal"]),
                    detail=detail(who="submitit", due_to=found["case"]),
                )
            ]
        if found := _ASKED.search(line.text):
            who = "lightning" if found["lightning"] else "submitit"
            extra = detail(job=found["id"], who=who)
            return [line.event("slurm", "requeued", severity="error", parser=self.name, framework=who, detail=extra)]
        if found := _SEFF.match(strip_label(line.text)) or _MAIL.search(line.text):
            name = _SEFF_NAMES[found["state"]]
            who = "slurm" if "Job_id=" in found[0] else "seff"
            return [line.event("slurm", name, severity="fatal", parser=self.name, framework=who)]
        if _PROLOG.match(line.text):
            return [line.event("slurm", "prolog_failed", severity="fatal", parser=self.name, framework="slurm")]
        if found := _STEPD.match(line.text):
            return self._speaks(line, found)
        found = _SPEAKER.search(line.text)
        return self._speaks(line, found) if found else []

    def _cancels(self, line: Line, *, only_whole: bool = False) -> list[ParsedRow]:
        found = [f for f in _CANCEL.finditer(line.text) if f["end"] == "***" or not only_whole]
        return [self._cancel(line, f, line.line_no) for f in found]

    def _cancel(self, line: Line, found: re.Match[str], line_end: int) -> ParsedRow:
        why = " ".join((found["why"] or "").split())
        job, _, step = found["id"].partition(".")
        cut = found["end"] != "***"
        old = _OLD_NODE.search(why)
        name = next((n for words, n in _REASONS if words in why.upper()), "cancelled")
        node = found["node"] if "<" not in (found["node"] or "") else None
        if old and old["failed"]:
            name = "node_failure"
        if cut and name == "cancelled" and why:
            begun = {n for words, n in _REASONS if words.startswith(why.upper())}
            name = begun.pop() if len(begun) == 1 else name
        return line.event(
            "slurm",
            name,
            found[0].strip(),
            line_end=line_end,
            severity="fatal",
            parser=self.name,
            framework="slurm",
            host=(old and (old["failed"] or (old["on"] if not node else None))) or node,
            signal=signal_number(why.upper().removeprefix("SIGNAL ").title()) if "SIGNAL " in why.upper() else None,
            detail=detail(
                job=job,
                step=step or None,
                scope=found["kind"].lower(),
                time=found["time"],
                due_to=why or None,
                truncated=cut or None,
            ),
        )

    def _speaks(self, line: Line, found: re.Match[str]) -> list[ParsedRow]:
        text, level = found["text"], found["level"]
        if task := _TASK.match(text):
            return [self._task(line, task)]
        known = next(((n, s) for p, n, s in _TABLE if p.search(text)), None)
        if known is None:
            if level not in ("error", "fatal"):
                return []
            # A command of the user that dies of its own error has submitted or started nothing.
            refused = level == "fatal" and found["who"].replace("yh", "s") in ("srun", "sbatch", "salloc")
            known = ("submit_failed", "fatal") if refused else ("other", "warning" if level == "error" else "error")
        name, severity = known
        if name == "bad_option":  # getopt speaks for the command, and has no word of its own for an error
            name, level = "submit_failed", "error"
        if (level is None and name not in _UNLABELLED and not _FAILURE.match(text)) or (
            text.startswith(("debug", "launch/")) and name != "force_terminated"
        ):
            return []
        if name == "container_failed" and (level is None or "importing" in text or "imported" in text):
            return []
        if level == "warning" and severity != "info":
            severity = "warning"
        named = _ID.search(text)
        own = found.groupdict().get("step")
        job, _, step = (named["id"] if named else own or "").partition(".")
        node = re.search(r"(?:Node failure on|on node|NodeName=) ?([\w.-]+)", text)
        return [
            line.event(
                "slurm",
                name,
                found[0].strip(),
                severity=severity,
                parser=self.name,
                framework="slurm",
                host=node[1] if node else None,
                detail=detail(who=found["who"] or "slurmstepd", job=job or None, step=step or None),
            )
        ]

    def _task(self, line: Line, task: re.Match[str]) -> ParsedRow:
        what = task["what"]
        code = re.match(r"Exited with exit code (\d+)", what)
        word = re.sub(r" ?\(core dumped\)", "", what)
        tasks = task["tasks"].replace(" ", "")
        return line.event(
            "slurm",
            "task_exit",
            f"{task['host']}: task {tasks}: {what}" if task["host"] else f"task {tasks}: {what}",
            severity="error",
            parser=self.name,
            framework="slurm",
            host=task["host"],
            exit_code=whole(code[1]) if code else None,
            signal=signal_number(word),
            detail=detail(
                tasks=tasks,
                reason=None if code else what,
                out_of_memory=True if "out of memory" in what.lower() else None,
                core_dumped=True if "core dumped" in what else None,
            ),
        )
