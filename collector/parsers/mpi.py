"""What mpirun, prterun, Intel MPI's and MPICH's hydra say about ranks that failed.

SOURCE  Open MPI 1 to 5 (PRRTE), MPICH and Intel MPI (hydra's BAD TERMINATION box).
ROWS    `launcher_summary` named `child_failed`, `launcher_event` named `abort_called`.
CAVEAT  the first process that the launcher noticed need not be the first that failed.
EXAMPLE mpirun noticed that process rank 3 with PID 812 on node n7 exited on signal 9 (Killed).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, signal_of_exit, whole
from store import lazy

NAMES: dict[str, str] = {
    "child_failed": "a rank ended with a status or by a signal",
    "abort_called": "a rank called MPI_Abort (rank, exit_code), or MPI did so itself over an error",
    "lost_daemon": "the launcher lost contact with a node's daemon",
}

_NOTICED = lazy.compile(
    r"(?:mpirun|mpiexec|prterun|orterun)(?: noticed|: noticed)? that process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited on signal (?P<signal>\d+)"
)
_ABORT = lazy.compile(
    r"MPI_ABORT was invoked on rank (?P<rank>\d+)|[Aa]pplication called MPI_Abort\(\w+, (?P<code>-?\d+)\) - process (?P<rank2>\d+)"
    r"|^\s*(?:\[[\w.-]{1,100}:\d{1,9}\] )?\*\*\* MPI_ERRORS_ARE_FATAL \("
)
_LOST = lazy.compile(
    r"ORTE has lost communication with|PRTE has lost communication with|lost connection to (?:the )?(?:daemon|node)"
)
_BEFORE_REMOTE = lazy.compile(r"^\s*(?:HNP daemon\b.*)?$")
_REMOTE = lazy.compile(r"^\s*Remote daemon\s*: \[\S+ on node (?P<host>[\w.-]+)")
_OPEN = lazy.compile(
    r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES|detected that one or more processes exited with non-zero status"
)
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("pid", lazy.compile(r"PID (?P<v>\d+) RUNNING AT (?P<host>\S+)")),
    ("rank", lazy.compile(r"RANK (?P<v>\d+)|Process name: \[.*\],(?P<v2>\d+)\]")),
    ("exit", lazy.compile(r"(?:EXIT CODE|Exit code)\s*:\s*(?P<v>-?\d+)|EXIT STATUS: (?P<v2>\d+)")),
    ("signal", lazy.compile(r"(?:KILLED BY SIGNAL|EXIT STRING)\s*:\s*(?P<v>\d+)?")),
)


class Mpi:
    """State: a box that says which rank, where and how, over several lines."""

    name: ClassVar[str] = "mpi"
    anchors: ClassVar[tuple[str, ...]] = (
        "exited on signal",
        "MPI_ABORT was invoked",
        "called MPI_Abort",
        "*** MPI_ERRORS_ARE_FATAL (",
        "lost communication with",
        "lost connection to",
        "BAD TERMINATION OF ONE",
        "processes exited with non-zero status",
    )

    def __init__(self) -> None:
        self._start: Line | None = None
        self._got: dict[str, str] = {}
        self._left = 0
        self._last = 0
        self._lost: Line | None = None

    @property
    def wants_more(self) -> bool:
        """True inside a box, and below a word of a lost daemon until its node is named."""
        return self._start is not None or self._lost is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._lost is not None:
            self._left -= 1
            if (named := _REMOTE.match(line.text)) is not None:
                return self._gone(named["host"])
            if self._left > 0 and _BEFORE_REMOTE.match(line.text):
                return []
            return [*self._gone(None), *self._line(line)]
        if self._start is not None:
            self._left -= 1
            for key, pattern in _FIELDS:
                if found := pattern.search(line.text):
                    got = found.groupdict()
                    value = got.get("v") or got.get("v2")
                    if value and key not in self._got:
                        self._got[key], self._last = value, line.line_no
                    if got.get("host"):
                        self._got["host"] = got["host"]
            ends = self._left <= 0 or (("exit" in self._got or "signal" in self._got) and not line.text.strip(" =|-"))
            return self.close() if ends else []
        return self._line(line)

    def close(self) -> Iterable[ParsedRow]:
        """Give the box that is open."""
        if self._lost is not None:
            return self._gone(None)
        start, got = self._start, self._got
        self._start, self._got = None, {}
        if start is None or not got:
            return []
        code = whole(got.get("exit"))
        fields: dict[str, Any] = {"rank": whole(got["rank"])} if "rank" in got else {}
        return [
            start.event(
                "launcher_summary",
                "child_failed",
                line_end=max(self._last, start.line_no),
                severity="error",
                parser=self.name,
                framework="mpi",
                pid=whole(got.get("pid")),
                host=got.get("host"),
                exit_code=code,
                signal=whole(got.get("signal")) or signal_of_exit(code),
                **fields,
            )
        ]

    def _line(self, line: Line) -> list[ParsedRow]:
        text = line.text[:4000]
        if _OPEN.search(text):
            self._start, self._got, self._left, self._last = line, {}, 14, line.line_no
            return []
        if found := _NOTICED.search(text):
            return [
                line.event(
                    "launcher_summary",
                    "child_failed",
                    severity="error",
                    parser=self.name,
                    framework="mpi",
                    rank=whole(found["rank"]),
                    pid=whole(found["pid"]),
                    host=found["host"],
                    signal=whole(found["signal"]),
                )
            ]
        if found := _ABORT.search(text):
            rank = whole(found["rank"] or found["rank2"])
            return [
                line.event(
                    "launcher_event",
                    "abort_called",
                    severity="error",
                    parser=self.name,
                    framework="mpi",
                    rank=rank,
                    exit_code=whole(found["code"]),
                )
            ]
        if _LOST.search(text):
            self._lost, self._left = line, 4
        return []

    def _gone(self, host: str | None) -> list[ParsedRow]:
        """The node stands a few lines below the word of a daemon that is no longer heard of."""
        line, self._lost = self._lost, None
        if line is None:
            return []
        told = detail(lost=True)
        return [
            line.event(
                "launcher_event",
                "lost_daemon",
                severity="error",
                parser=self.name,
                framework="mpi",
                host=host,
                detail=told,
            )
        ]
