"""Batch systems other than Slurm say in a job's own output how it ended: LSF, PBS, Grid Engine, HTCondor's event log, Flux.

SOURCE  LSF's job report (`TERM_REASON: job killed ...`), bjobs and bhist; PBS Pro and TORQUE (`=>> PBS: job killed: `, mails, tracejob),
        Moab and Maui (`checkjob`);
        Grid Engine's execution daemon and mails; HTCondor's event log (`005 (12.000.000) ... Job terminated.`); Flux's exceptions.
ROWS    kind `slurm`, as what Slurm says of the same: time_limit, cancelled, preempted, requeued, deadline, submit_failed;
        `launcher_event` child_finished where the script ended with status 0. `framework` names the system.
CAVEAT  memory limits are host_memory's. An exit status that LSF gives beside its own reason is that reason's. HTCondor tells
        of each attempt in one file: only what became of the job last counts.
EXAMPLE TERM_RUNLIMIT: job killed after reaching LSF run time limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "time_limit": "slurm: the batch system's limit of wall-clock or processor time was reached",
    "deadline": "slurm: the queue's window closed, or a deadline passed",
    "node_failure": "slurm: the batch system lost a node under the job",
    "preempted": "slurm: the job was evicted for another one, or because of the host's load",
    "requeued": "slurm: the job was killed to be queued again",
    "cancelled": "slurm: its owner or an administrator killed or removed it (detail.due_to)",
    "submit_failed": "slurm: the submission was refused",
    "unschedulable": "slurm: checkjob says that the job cannot run, for what it asks for is not free or not there",
    "held_by_limit": "slurm: checkjob says that a limit or a hold keeps the job in the queue",
    "start_failed": "slurm: the job could not be started on the node that was chosen",
    "task_exit": "slurm: the job's script ended with this status (exit_code)",
    "child_finished": "launcher_event: the job's script ended with status 0",
    "told": "signal: HTCondor names the signal that ended the job",
    "exceeded_limit": "host_oom: HTCondor evicted or held the job because of its memory",
}

_LSF = {
    "RUNLIMIT": "time_limit",
    "CPULIMIT": "time_limit",
    "WINDOW": "deadline",
    "DEADLINE": "deadline",
    "PREEMPT": "preempted",
    "LOAD": "preempted",
    "OWNER": "cancelled",
    "FORCE_OWNER": "cancelled",
    "ADMIN": "cancelled",
    "FORCE_ADMIN": "cancelled",
    "BUCKET_KILL": "cancelled",
    "ORPHAN_SYSTEM": "cancelled",
    "REQUEUE_OWNER": "requeued",
    "REQUEUE_ADMIN": "requeued",
    "REQUEUE_RC": "requeued",
}
# A table of the reasons in a program or a manual names them in quotes, in capitals or after a number.
_TERM = lazy.compile(
    r"^\s*(?:[\w :/.-]{0,60}Completed <exit>; )?TERM_(?P<why>[A-Z_]+): job (?:killed|exited|terminated|removed|has)\b.{0,200}"
)
_LSF_STATUS = lazy.compile(r"^(?:Exited with exit code (?P<code>\d{1,3})\.|(?P<done>Successfully completed)\.)\s*$")
_LSF_REFUSED = lazy.compile(r"^(?:.{1,200}\. )?(?:Job not submitted|Request aborted by esub\. Job not submitted)\.\s*$")
_TRACED = r"\d\d/\d\d/\d{4} [\d:]{8}(?:\.\d{1,6})?\s{1,8}S\s{1,8}"
"""What tracejob puts before a line that it found in the server's log."""
_SERVER = lazy.compile(
    r"\d\d/\d\d/\d{4} [\d:.]{8,15};[0-9a-f]{4};PBS_Server[\w.]{0,20};Job;(?P<job>[^;\s]{1,100});(?P<said>.{1,300})"
)
"""A line of the server's own log, which tells of everybody's jobs."""
_RULES: tuple[tuple[str, str, str, re.Pattern[str]], ...] = (
    ("pbs", "time_limit", "fatal", lazy.compile(r"PBS: job killed: (?:walltime|cput|pcput) \d+ exceeded limit \d+")),
    ("pbs", "time_limit", "fatal", lazy.compile(r"^\s*Job exceeded its (?:walltime|cput|pcput) limit\. Job was aborted\b")),
    ("pbs", "node_failure", "fatal", lazy.compile(r"^\s*job preempted \(node failure\)\s*$")),
    ("pbs", "preempted", "fatal", lazy.compile(r"^\s*job preempted\s*$")),
    ("pbs", "cancelled", "fatal", lazy.compile(rf"^\s*(?:{_TRACED})?(?P<said>(?:job deleted at request of|Job deleted at request of) \S+)")),
    ("pbs", "start_failed", "fatal", lazy.compile(r"^\s*Job cannot be executed\s*$")),
    # Moab and Maui, which decide for TORQUE: `checkjob` of a job that waits.
    ("pbs", "unschedulable", "error", lazy.compile(r"^\s*(?:NOTE: {1,4})?job cannot run in partition \S{1,60} \(.{1,200}\)")),
    ("pbs", "held_by_limit", "error", lazy.compile(r"^\s*(?:BLOCK MSG: job \S{1,80} violates .{1,200}|[`'\"]?NOTE: {1,4}job violates constraints for partition \S{1,60} \(.{1,120}\))")),
    ("pbs", "submit_failed", "fatal", lazy.compile(r"^qsub: (?:[Jj]ob (?:rejected|violates|exceeds)|submit error|(?:[Uu]nknown|[Ii]llegal|[Ii]nvalid|Unauthorized|Bad UID)\b|would exceed|script file).{0,200}")),
    ("sge", "time_limit", "fatal", lazy.compile(r"\bjob \d[\d.]* (?:exceeded hard wallclock time|exceeds job hard limit \"(?:h_rt|h_cpu)\").{0,200}")),
    ("sge", "submit_failed", "fatal", lazy.compile(r"^Unable to run job: .{1,300}")),
    ("flux", "time_limit", "fatal", lazy.compile(r"job\.exception\b.{0,40}\btype=timeout\b.{0,200}|\bexception: type=timeout\b.{0,200}")),
    ("flux", "cancelled", "fatal", lazy.compile(r"job\.exception\b.{0,40}\btype=cancel\b.{0,200}|\bexception: type=cancel\b.{0,200}")),
)  # fmt: skip
_CONDOR = lazy.compile(
    r"^(?P<event>0\d\d) \(\d+\.\d+\.\d+\) (?:\d\d/\d\d|\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d (?P<text>\S.{1,300})"
)
_NORMAL = lazy.compile(r"\(1\) Normal termination \(return value (?P<code>-?\d+)\)")
_SIGNAL = lazy.compile(r"\(0\) Abnormal termination \(signal (?P<signal>\d+)\)")
_BY_HAND = lazy.compile(r"via condor_(?:rm|hold)|aborted by the user|removed by (?:the )?user")
_MEMORY = lazy.compile(r"[Mm]emory (?:usage|limit)|OOM|out of memory|RequestMemory|gone over .{0,20}memory")
_TIME = lazy.compile(
    r"(?:wall ?time|allowed (?:execute|job) (?:duration|time)|run ?time|execution duration).{0,60}(?:exceed|limit)|(?:exceed|over)\w*.{0,60}(?:wall ?time|allowed (?:execute|job) duration|run ?time)",
    re.IGNORECASE,
)
_ONE = 2
"""Jobs of which the server's log is kept in mind: with the second it is known to be everybody's."""
_AFTER = 12
"""Lines of an event within which its reason stands."""


class BatchSystems:
    """State: LSF's reason once it was read; HTCondor's last event and its lines."""

    name: ClassVar[str] = "batch_systems"
    anchors: ClassVar[tuple[str, ...]] = (
        "TERM_",
        "Exited with exit code ",
        "Successfully completed.",
        "Job not submitted.",
        "PBS: job killed",
        "Job exceeded its ",
        "Job cannot be executed",
        "job cannot run in ",
        "BLOCK MSG: ",
        "job violates constraints",
        ";PBS_Server",
        "job preempted",
        "at request of ",
        "qsub: ",
        "exceeded hard wallclock time",
        "exceeds job hard limit",
        "Unable to run job: ",
        "job.exception",
        "exception: type=",
        "Job submitted from host",
        "Job executing on host",
        "Job was ",
        "Job terminated.",
        "Job reconnection failed",
    )

    def __init__(self) -> None:
        self._termed = False
        self._served: dict[str, list[ParsedRow]] = {}
        self._event: Line | None = None
        self._number = ""
        self._reason = ""
        self._more = 0

    @property
    def wants_more(self) -> bool:
        """True while the lines of an event of HTCondor's follow."""
        return self._more > 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:2000]
        if found := _CONDOR.match(text):
            self._event, self._number, self._reason, self._more = line, found["event"], found["text"], _AFTER
            return []
        if self._more > 0:
            if text.strip() == "...":
                self._more = 0
                return []
            if text[:1].isspace():
                self._more -= 1
                self._reason = f"{self._reason} {text.strip()}"[:1000]
                return []
            self._more = 0
        if found := _TERM.match(text):
            name = _LSF.get(found["why"])
            self._termed = True
            return [self._says(line, name, "lsf", text, due_to=found["why"])] if name else []
        if found := _LSF_STATUS.match(text):
            if found["done"]:
                return [self._done(line, "lsf", text)]
            return [] if self._termed else [self._exit(line, "lsf", text, whole(found["code"]))]
        if _LSF_REFUSED.match(text):
            return [self._says(line, "submit_failed", "lsf", text)]
        if served := _SERVER.match(text):
            if served["job"] in self._served or len(self._served) < _ONE:
                self._served.setdefault(served["job"], []).extend(self._ruled(line, served["said"]))
            return []
        return self._ruled(line, text)

    def _ruled(self, line: Line, text: str) -> list[ParsedRow]:
        for system, name, severity, pattern in _RULES:
            if found := pattern.search(text):
                said = found.groupdict().get("said") or found[0]
                return [self._says(line, name, system, said, severity=severity)]
        return []

    def close(self) -> Iterable[ParsedRow]:
        """What the server's log says where it is of a single job, and what became of HTCondor's job last."""
        served, self._served = self._served, {}
        line, self._event, self._more = self._event, None, 0
        if line is None:
            return next(iter(served.values())) if len(served) == 1 else []
        text = self._reason
        if self._number == "005":
            if found := _NORMAL.search(text):
                code = whole(found["code"])
                return [self._exit(line, "htcondor", text, code) if code else self._done(line, "htcondor", text)]
            found = _SIGNAL.search(text)
            number = whole(found["signal"]) if found else None
            return (
                [line.event("signal", "told", text, severity="fatal", parser=self.name, signal=number)]
                if number
                else []
            )
        if self._number not in ("004", "009", "012"):
            return []
        if _MEMORY.search(text):
            return [line.event("host_oom", "exceeded_limit", text, severity="fatal", parser=self.name)]
        if _TIME.search(text):
            return [self._says(line, "time_limit", "htcondor", text)]
        if self._number == "009" or _BY_HAND.search(text):
            return [self._says(line, "cancelled", "htcondor", text)]
        # A job that is held for another reason waits for somebody to look at it; one that was evicted runs again.
        return [self._says(line, "preempted", "htcondor", text)] if self._number == "004" else []

    def _says(
        self, line: Line, name: str, system: str, text: str, *, severity: str = "fatal", due_to: str | None = None
    ) -> ParsedRow:
        extra = detail(due_to=due_to)
        return line.event(
            "slurm", name, text.strip(), severity=severity, parser=self.name, framework=system, detail=extra
        )

    def _exit(self, line: Line, system: str, text: str, code: int | None) -> ParsedRow:
        return line.event(
            "slurm", "task_exit", text.strip(), severity="error", parser=self.name, framework=system, exit_code=code
        )

    def _done(self, line: Line, system: str, text: str) -> ParsedRow:
        return line.event(
            "launcher_event",
            "child_finished",
            text.strip(),
            severity="info",
            parser=self.name,
            framework=system,
            exit_code=0,
        )
