"""What torchrun, accelerate, DeepSpeed's launcher and torch.multiprocessing say about their children.

SOURCE  Kaldi's run.pl and queue.pl; torch.distributed.elastic since 1.9 (`Root Cause:` boxes, `Root Cause (first observed failure):`, closing signals),
        subprocess (accelerate), deepspeed/launcher/launch.py, torch.multiprocessing.spawn, paddle.distributed.launch since 2.0.
ROWS    `launcher_summary` for each failed child that a summary lists, `launcher_event` for words about a child in passing.
CAVEAT  the root cause of a summary is only the first child that was seen to die: in a hang it is a victim. Times have no
        zone and stay text (detail.time).
EXAMPLE   exitcode  : -9 (pid: 11127)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, signal_number, signal_of_exit, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "child_failed": "a child ended with an exit status or by a signal (summary: detail.root_cause, detail.error_file)",
    "closing_signal": "the launcher sends a child a signal because the group is being closed",
    "death_signal": "the launcher itself received a signal and shuts its workers down",
    "signal_exception": "the launcher ends because of a signal that it received",
    "forced_kill": "a child did not end in time and is killed",
    "killing": "DeepSpeed's launcher kills a child",
    "restart": "the worker group failed or changed and is started again (detail.left of detail.allowed)",
    "group_failed": "the worker group failed and is not started again",
    "workers_started": "workers were started",
    "group_finished": "the local worker group ended well",
    "child_finished": "a child ended well",
}

_FIELD = lazy.compile(r"\|?\s*(?P<key>time|host|rank|exitcode|error_file|traceback|msg)\s*: ?(?P<value>.*?)\s*\|?$")
_SECTION = lazy.compile(r"\|?\s*(?P<root>Root Cause(?: \(first observed failure\))?|Other Failures|Failures):\s*\|?$")
_ENTRY = lazy.compile(r"\|?\s*\[\d+\]:\s*\|?$")
_RULE = lazy.compile(r"\|?\s*[-=*]{10,}\s*\|?$")
_RANK = lazy.compile(r"(-?\d+)\s*\(local_rank:\s*(-?\d+)\)")
_EXIT = lazy.compile(r"(-?\d+)\s*\(pid:\s*(\d+)\)(?:\s*\((SIG\w+)\))?")
_BY_SIGNAL = lazy.compile(r"Signal (\d+) \(?(SIG\w+)?\)? ?received by PID (\d+)")

_WORDS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("child_failed", "error", lazy.compile(r"failed \(exitcode: (?P<exit>-?\d+)\)(?:.{0,400}?\blocal_rank:? (?P<local>\d+))?(?:.{0,40}?\((?:pid|process ID): (?P<pid>\d+)\))?(?: of (?:fn|binary): (?P<binary>.*))?")),
    ("child_failed", "error", lazy.compile(r"Child process (?P<pid>\d+) \(local_rank (?P<local>\d+)\) FAILED \(exitcode (?P<exit>-?\d+)\)")),
    ("child_failed", "error", lazy.compile(r'"name": "torchelastic\.worker\.status\.FAILED".{0,200}?"global_rank": (?P<rank>\d+).{0,80}?"worker_id": "(?P<pid>\d+)".{0,80}?"hostname": "(?P<host>[^"]+)"')),
    ("closing_signal", "warning", lazy.compile(r"Sending process (?P<pid>\d+) closing signal (?:Signals\.)?(?P<signal>SIG\w+|\d+)")),
    ("death_signal", "error", lazy.compile(r"(?:Received )?(?<![\w.])(?P<signal>Signals\.SIG\w+|SIG\w+|\d{1,3}) death signal, shutting down workers")),
    ("signal_exception", "error", lazy.compile(r"SignalException: Process (?:(?P<pid>\d+) )?got signal: (?:Signals\.)?(?P<signal>\w+)")),
    ("forced_kill", "error", lazy.compile(r"Unable to shutdown process (?P<pid>\d+) via (?P<via>[\w.]+), forcefully exiting via (?:Signals\.)?(?P<signal>\w+)")),
    ("restart", "error", lazy.compile(r"Worker group (?:FAILED|UNHEALTHY)\. (?P<left>\d+)/(?P<allowed>\d+) attempts left; will restart worker group")),
    ("restart", "warning", lazy.compile(r"Detected (?P<new_nodes>\d+) new nodes from group_rank=\d+; will restart worker group")),
    ("group_failed", "error", lazy.compile(r"(?:Local worker group finished \((?:WorkerState\.)?FAILED\)|Worker group (?:FAILED(?!\. \d+/)|in FAILED state))")),
    ("group_finished", "info", lazy.compile(r"Local worker group finished \((?:WorkerState\.)?SUCCEEDED\)|worker group successfully finished")),
    ("workers_started", "info", lazy.compile(r"\[(?P<role>\w+)\] (?:Starting worker group|starting workers for entrypoint)")),
    ("child_failed", "error", lazy.compile(r"(?:CalledProcessError: |^\s*)Command (?P<command>.{0,4000}?) (?:returned non-zero exit status (?P<exit>-?\d+)|died with <Signals\.(?P<signal>SIG\w+): \d+>)")),
    ("child_failed", "error", lazy.compile(r"\[launch\.py:\d+:\w+\](?=.{0,16000} exits with return code = (?P<exit>-?\d+))")),
    ("killing", "warning", lazy.compile(r"(?:sigkill_handler\]|launch\.py.{0,40}) Killing subprocess (?P<pid>\d+)")),
    ("child_finished", "info", lazy.compile(r"\[launch\.py:\d+:\w+\] Process (?P<pid>\d+) exits successfully")),
    ("child_failed", "error", lazy.compile(r"ProcessExitedException: process (?P<process>\d+) terminated with (?:signal (?P<signal>\w+)|exit code (?P<exit>-?\d+))")),
    ("child_failed", "error", lazy.compile(r"-- Process (?P<process>\d+) terminated with the following error")),
    ("child_failed", "error", lazy.compile(r"Container rank (?P<rank>\d+) status failed cmd .{0,16000}? code (?P<exit>-?\d+) log (?P<log>\S+)")),
    ("child_failed", "error", lazy.compile(r"ABORT!!! Out of all \d+ \w+, the \w+ process with rank=\[(?P<rank>\d+)[\d, ]*\] was aborted")),
    ("child_failed", "error", lazy.compile(r"(?P<script>\b[\w-]+\.pl): job failed with status (?P<exit>\d+)")),
)  # fmt: skip
_COMMAND = lazy.compile(r"(\['[^']{0,300}'(?:, '[^']{0,300}'){2}), '.{1,16000}'\]")
_LONG = 300
"""Characters from which on a line is told without most of its command, which would hide how that ended."""


class Launcher:
    """State: the summary entry being read (`_entry`), if any."""

    name: ClassVar[str] = "launcher"
    anchors: ClassVar[tuple[str, ...]] = (
        "Root Cause",
        "Failures:",
        "exitcode",
        "(local_rank: ",
        "closing signal",
        "Child process ",
        "torchelastic.worker.status.FAILED",
        "death signal",
        "SignalException",
        "Unable to shutdown process",
        "orker group",
        "starting workers for",
        "CalledProcessError",
        "returned non-zero exit status",
        "[launch.py:",
        "Killing subprocess",
        "ProcessExitedException",
        "terminated with the following error",
        "status failed cmd ",
        "ABORT!!! Out of all ",
        "job failed with status ",
    )

    def __init__(self) -> None:
        self._entry: dict[str, str] = {}
        self._start: Line | None = None
        self._last = 0
        self._root: bool | None = None
        self._open = 0

    @property
    def wants_more(self) -> bool:
        """True inside a summary."""
        return self._open > 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text)
        if section := _SECTION.match(text):
            rows = self._finish()
            self._root, self._open = section["root"].startswith("Root"), 200
            return rows
        if (found := _FIELD.match(text)) and (self._open or found["key"] in ("rank", "exitcode")):
            return self._field(line, found["key"], found["value"])
        if self._open:
            return self._inside(line, text)
        return self._word(line, text)

    def close(self) -> Iterable[ParsedRow]:
        """Give the entry that is open."""
        rows = self._finish()
        self._open, self._root = 0, None
        return rows

    def _field(self, line: Line, key: str, value: str) -> list[ParsedRow]:
        # Every entry starts with its time; a key that comes again belongs to the next entry.
        rows = self._finish() if key in self._entry else []
        if self._start is None:
            self._start = line
        self._open = max(self._open, 40)
        self._entry[key], self._last = value, line.line_no
        return rows

    def _inside(self, line: Line, text: str) -> list[ParsedRow]:
        self._open -= 1
        if _ENTRY.match(text):
            return self._finish()
        if _RULE.match(text):
            rows = self._finish()
            # After the rule that closes a root cause of the present format nothing follows; the old one lists the others.
            self._open = min(self._open, 4)
            return rows
        if self._entry and "traceback" in self._entry and text.strip():
            if len(self._entry["traceback"]) < 2000:
                self._entry["traceback"] += "\n" + text.rstrip()
            self._last = line.line_no
            if self._open == 0:
                return self._finish()
            return []
        rows = self._finish() if self._open == 0 else []
        return [*rows, *self._word(line, text)]

    def _finish(self) -> list[ParsedRow]:
        entry, start = self._entry, self._start
        self._entry, self._start = {}, None
        if start is None or not ("exitcode" in entry or "rank" in entry):
            return []
        rank = _RANK.search(entry.get("rank", ""))
        status = _EXIT.search(entry.get("exitcode", ""))
        code = whole(status[1]) if status else None
        told = entry.get("traceback", entry.get("msg", ""))
        by_signal = _BY_SIGNAL.search(told)
        fields: dict[str, Any] = {}
        if rank:
            fields["rank"] = whole(rank[1])
            fields["local_rank"] = whole(rank[2])
        file = entry.get("error_file")
        return [
            start.event(
                "launcher_summary",
                "child_failed",
                told or f"exitcode: {entry.get('exitcode')}",
                line_end=self._last,
                severity="error",
                parser=self.name,
                framework="torchrun",
                exit_code=code,
                signal=signal_of_exit(code) or (whole(by_signal[1]) if by_signal else None),
                pid=whole(status[2]) if status else whole(by_signal[3]) if by_signal else None,
                host=entry.get("host"),
                detail=detail(
                    root_cause=self._root, error_file=None if file in (None, "<N/A>") else file, time=entry.get("time")
                ),
                **fields,
            )
        ]

    def _word(self, line: Line, text: str) -> list[ParsedRow]:
        # Processes that write at once, and terminals that were copied, put several messages on one line.
        found = [(f.start(), n, s, f.groupdict()) for n, s, p in _WORDS for f in p.finditer(text[:20_000])]
        found.sort(key=lambda hit: hit[0])
        return [self._event(line, name, severity, got) for _, name, severity, got in found]

    def _event(self, line: Line, name: str, severity: str, got: dict[str, str | None]) -> ParsedRow:
        code = whole(got.get("exit"))
        fields: dict[str, Any] = {}
        if got.get("local"):
            fields["local_rank"] = whole(got["local"])
        if got.get("rank"):
            fields["rank"] = whole(got["rank"])
        extra = {
            k: (whole(v) if v and v.isdigit() else (v or "")[:300])
            for k, v in got.items()
            if v and k not in ("exit", "pid", "signal", "local", "rank", "host")
        }
        return line.event(
            "launcher_event",
            name,
            _COMMAND.sub(r"\1, … ]", line.text[:20_000]) if len(line.text) > _LONG else None,
            severity=severity,
            parser=self.name,
            framework="deepspeed"
            if "[launch.py:" in line.text
            else "paddle"
            if "log" in got or "ABORT!!!" in line.text
            else "kaldi"
            if "script" in got
            else "torchrun"
            if not got.get("command")
            else "accelerate",
            pid=whole(got.get("pid")),
            host=got.get("host"),
            exit_code=code,
            signal=signal_number(got.get("signal") or "") or signal_of_exit(code),
            detail=detail(**extra),
            **fields,
        )
