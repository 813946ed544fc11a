"""A process ended, or was told to end, by a signal: the shell's words, crash handlers, and handlers' own words.

SOURCE  bash, glibc, CPython's faulthandler, Open MPI and UCX crash handlers, libstdc++, Lightning, Megatron, requeue scripts.
ROWS    `signal` for an end by a signal, `interrupt` for a signal that a program says it received or a key that stopped it.
CAVEAT  `Killed` says SIGKILL and nothing about who sent it. A received signal is not an end: programs survive SIGUSR1, and
        some frameworks print it harmlessly at start.
EXAMPLE /var/spool/slurmd/job123/slurm_script: line 12: 12345 Killed                  python train.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.frames import is_installed
from collector.parsers.shapes import detail, signal_number, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "shell": "the shell reports a child that a signal ended (pid and command where printed)",
    "crash_handler": "a crash handler inside the process names the signal (Open MPI, UCX, TensorFlow, absl), or ROCm's runtime the fault that it aborts over",
    "fatal_python_error": "CPython's faulthandler: Fatal Python error, with the innermost frame",
    "terminate": "C++ terminate: an exception that nobody caught, or SIGABRT from a native library",
    "heap_corruption": "glibc aborted: free(), malloc(), double free, stack smashing",
    "received": "interrupt: a handler says which signal it received",
    "keyboard": "interrupt: a key press or KeyboardInterrupt that a framework caught",
}

_WORDS = (
    "Killed|Terminated|Hangup|Aborted|Segmentation fault|Bus error|Illegal instruction|Floating point exception|Quit"
    "|User defined signal [12]|Trace/breakpoint trap|CPU time limit exceeded|File size limit exceeded|Bad system call"
)
_BASH = lazy.compile(
    rf"(?P<script>[^\s:][^:]{{0,300}}): line (?P<line>\d+): +(?P<pid>\d+) (?P<what>{_WORDS})(?P<core> *\(core dumped\))? *(?P<cmd>.*)$"
)
_BARE = lazy.compile(
    rf"(?:^|\]|\d[MKk]?B/s)\s*(?P<pid>\[?\d{{3,9}}\]? )?(?P<what>{_WORDS})(?P<core> ?\(core dumped\))?(?:: ?\d+)?\s*$"
)
_HANDLER = lazy.compile(
    r"(?:\[(?P<host>[\w.-]+):(?P<pid>\d+)(?::\d+:\d+)?\] )?(?:\*\*\* )?(?:Signal: (?P<what>[A-Za-z ]+?) \((?P<number>\d+)\)"
    r"|Caught signal (?P<number2>\d+) \((?P<what2>[^):]+)"
    r"|\*\*\* (?P<sig>SIG\w+) .{0,80}received by PID (?P<pid2>\d+)"
    r"|(?:Program|Thread \d+ .{0,60}) (?:received|terminated with) signal (?P<gdb>SIG(?:SEGV|ABRT|BUS|FPE|ILL|KILL)))"
)
# Open MPI's handler names the address below the signal; a log that was cut between the two has the address alone.
_ADDRESS = lazy.compile(
    r"^\[(?P<host>[\w.-]{1,80}):(?P<pid>\d+)\] (?:\*\*\* )?Failing at address: (?:0x[0-9a-f]+|\(nil\))\s*$"
)
# ROCm's runtime ends the process with this word.
_ROCM = lazy.compile(
    r"Memory access fault by GPU node-\d+ (?:\(Agent handle: 0x[0-9a-f]+\) )?on address (?:0x[0-9a-f]+|\(nil\))"
)
_BOLD = lazy.compile(r"(?<!\*)\*\*(?!\*)([^*]{1,80})(?<!\*)\*\*(?!\*)")  # a log that was pasted into Markdown
_FATAL = lazy.compile(r"(?:Fatal Python error|Windows fatal exception): (?P<what>.{1,300}?)\s*$")
_FAULT_FRAME = lazy.compile(r'\s*File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,9}) in (?P<where>\S+)')
_TERMINATE = lazy.compile(
    r"terminate called (?:after throwing an instance of '(?P<type>[^']+)'|without an active exception|recursively)"
)
_HEAP = lazy.compile(
    r"^(?:\*\*\* Error in `(?P<prog>[^']+)': )?(?P<what>(?:malloc|free|realloc|munmap_chunk|malloc_consolidate)\(\): \S.*"
    r"|double free or corruption.*|corrupted (?:size vs\. prev_size|double-linked list).*|\*\*\* stack smashing detected \*\*\*.*)$"
)
_RECEIVED = lazy.compile(
    r"(?:[Rr]eceived|[Cc]aught|[Hh]andling|[Gg]ot|[Bb]ypassing|[Tt]rapped|[Ii]ntercepted|exiting program after receiving|[Ee]xiting due to|[Ss]topping due to)"
    r"(?: (?:an?|the|Unix|unix|OS|signal:?|auto-requeue signal:?))* ?(?:signal:? )?[(\[]?(?P<sig>(?:Signals\.)?SIG(?:TERM|INT|HUP|USR1|USR2|CONT|QUIT|ABRT|KILL|SEGV|XCPU|XFSZ|ALRM)|USR[12])\b"
    r"|[Hh]andling auto-requeue signal: (?P<number>\d+)|[Rr]eceived signal:? (?P<number2>\d{1,2})\b|[Ss]ignal (?P<number3>\d{1,2}) received"
    r"|\bsignal handler called with signal (?P<number4>\d{1,2})"
    r"|\b(?P<first>SIG(?:TERM|INT|HUP|USR1|USR2|CONT|QUIT|XCPU))(?: \(\d{1,2}\))?(?: signal)?(?: was| has been)? (?:received|caught|trapped)\b"
)
_KEYBOARD = lazy.compile(
    r"Detected KeyboardInterrupt|KeyboardInterrupt detected|(?:\]|it/s|(?<!\$)\s)\^C\s*$|^\^C|[Ii]nterrupted by (?:the )?user|User interrupt|(?:^|[\s:\]])[Kk]eyboard [Ii]nterrupt(?:ed|ion)?(?= ?(?:[.!,:;-]|$|detected|caught|received))"
)
# gdb says so when somebody looks into a process with it: the process is stopped, and goes on or not as he likes.
_DEBUGGER = lazy.compile(r"(?:Program|Thread \d+ .{0,60}) received signal SIG(?:INT|STOP|TRAP|CONT)\b, ")
_PREEMPT = lazy.compile(r"(?i)(?:preempt(?:ion|ed)|requeu(?:e|ing)|walltime|time limit|wall[- ]clock)")


class Signals:
    """State: inside a faulthandler's stack, a C++ terminate, or a crash handler's lines."""

    name: ClassVar[str] = "signals"
    anchors: ClassVar[tuple[str, ...]] = (
        "Killed",
        "Terminated",
        "Hangup",
        "Aborted",
        "Segmentation fault",
        "Bus error",
        "Illegal instruction",
        "Floating point exception",
        "User defined signal",
        " limit exceeded",
        "Signal: ",
        "Caught signal ",
        "received by PID",
        "Failing at address: ",
        "Memory access fault by GPU",
        "Fatal Python error",
        "Windows fatal exception",
        "terminate called",
        "malloc(): ",
        "free(): ",
        "realloc(): ",
        "munmap_chunk(): ",
        "malloc_consolidate(): ",
        "double free",
        "corrupted ",
        "stack smashing",
        "SIG",
        "USR",
        "signal",
        "KeyboardInterrupt",
        "eyboard ",
        "^C",
        "nterrupted by ",
    )

    def __init__(self) -> None:
        self._start: Line | None = None
        self._name = ""
        self._what = ""
        self._frames: list[str] = []
        self._user: str | None = None
        self._left = 0
        self._handled = False

    @property
    def wants_more(self) -> bool:
        """True while a stack or a `what():` may follow."""
        return self._start is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._start is not None:
            if self._continues(line):
                return []
            return [*self.close(), *self._line(line)]
        return self._line(line)

    def close(self) -> Iterable[ParsedRow]:
        """Give the crash report that is open."""
        start, self._start = self._start, None
        if start is None:
            return []
        number = 6 if self._name == "terminate" else signal_number(self._what.split(":")[0])
        return [
            start.event(
                "signal",
                self._name,
                self._what or None,
                severity="fatal",
                parser=self.name,
                signal=number,
                frame=self._frames[0] if self._frames else None,
                user_frame=self._user,
                entry_frame=self._frames[-1] if self._frames else None,
            )
        ]

    def _continues(self, line: Line) -> bool:
        self._left -= 1
        text = strip_label(line.text)
        if self._left < 0:
            return False
        if self._name == "terminate":
            if text.strip().startswith("what():"):
                self._what += " " + text.strip()[:1500]
                self._left = 0
                return True
            return False
        if found := _FAULT_FRAME.match(text):
            frame = f"{found['file']}:{found['line']} in {found['where']}"
            if len(self._frames) < 500:
                self._frames.append(frame)
            if self._user is None and not is_installed(found["file"]):
                self._user = frame
            return True
        if "most recent call first" in text:
            # Other threads' stacks come first; the current thread's is the one that matters.
            if "Current thread" in text:
                self._frames, self._user = [], None
            elif self._frames:
                self._left = 0
            return True
        return not text.strip() or text.startswith(("Python runtime state", "  ...", "  <"))

    def _open(self, line: Line, name: str, what: str, lines: int) -> list[ParsedRow]:
        self._start, self._name, self._what = line, name, what
        self._frames, self._user, self._left = [], None, lines
        return []

    def _line(self, line: Line) -> list[ParsedRow]:
        text = strip_label(line.text)
        if len(text) > 20_000:
            text = text[-2000:]
        if "**" in text:
            text = _BOLD.sub(r"\1", text)
        if found := _FATAL.search(text):
            return self._open(line, "fatal_python_error", found["what"], 400)
        if found := _TERMINATE.search(text):
            return self._open(line, "terminate", found[0], 2)
        if found := _BASH.search(text):
            return [
                line.event(
                    "signal",
                    "shell",
                    severity="fatal",
                    parser=self.name,
                    framework="bash",
                    pid=whole(found["pid"]),
                    signal=signal_number(found["what"]),
                    detail=detail(
                        command=found["cmd"].strip()[:300] or None,
                        script_line=whole(found["line"]),
                        core_dumped=bool(found["core"]) or None,
                    ),
                )
            ]
        if found := _HEAP.match(text):
            return [
                line.event("signal", "heap_corruption", found["what"], severity="fatal", parser=self.name, signal=6)
            ]
        if found := _HANDLER.search(text):
            self._handled = True
            number = whole(found["number"] or found["number2"]) or signal_number(found["sig"] or found["gdb"] or "")
            pid = whole(found["pid"] or found["pid2"])
            if number == 15:  # glog and Paddle report a process that was told to end in the form of a crash
                return [line.event("interrupt", "received", severity="warning", parser=self.name, signal=15, pid=pid)]
            # torchrun's `Signal 9 (SIGKILL) received by PID` belongs to its summary.
            return [self._crash(line, number, pid, found["host"])]
        if found := (_ROCM.search(text) or (None if self._handled else _ADDRESS.match(text))):
            told = found.groupdict()
            return [self._crash(line, 11 if "host" in told else 6, whole(told.get("pid")), told.get("host"))]
        if found := _BARE.search(text):
            return [
                line.event(
                    "signal",
                    "shell",
                    found[0].strip("] \t"),
                    severity="fatal",
                    parser=self.name,
                    signal=signal_number(found["what"]),
                    detail=detail(core_dumped=bool(found["core"]) or None),
                )
            ]
        return self._interrupt(line, text)

    def _crash(self, line: Line, signal: int | None, pid: int | None, host: str | None) -> ParsedRow:
        return line.event(
            "signal", "crash_handler", severity="fatal", parser=self.name, signal=signal, pid=pid, host=host
        )

    def _interrupt(self, line: Line, text: str) -> list[ParsedRow]:
        if "death signal" in text or "closing signal" in text or "got signal: " in text:
            return []
        if _DEBUGGER.search(text):
            return []
        if found := _RECEIVED.search(text):
            number = signal_number(
                next((found[g] for g in ("sig", "first", "number", "number2", "number3", "number4") if found[g]), "")
            )
            if number is None:
                return []
            why = _PREEMPT.search(text)
            return [
                line.event(
                    "interrupt",
                    "received",
                    severity="warning",
                    parser=self.name,
                    signal=number,
                    detail=detail(mentions=why[0].lower() if why else None),
                )
            ]
        if found := _KEYBOARD.search(text):
            return [line.event("interrupt", "keyboard", severity="warning", parser=self.name, signal=2)]
        return []
