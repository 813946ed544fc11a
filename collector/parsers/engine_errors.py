"""Engines of simulations give up: GROMACS, VASP, LAMMPS, and what runs on Charm++ (NAMD).

SOURCE    GROMACS's block of an error, VASP's box and its internal errors, LAMMPS's ERROR with the place in its source, Charm++'s abort.
ROWS      `exception` named `EngineError`, fatal: none of these goes on after it; the place in `frame` where one is printed.
CAVEAT    A heading of GROMACS's counts where it stands alone in its line and the text follows; those that others may print too only in its block.
          What VASP's box says is read from the big letters at its top on; without them its last word stands for itself.
EXAMPLES
    Fatal error:
    There is no domain decomposition for 20 ranks that is compatible with the given box
    ERROR: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line
from collector.parsers.shapes import strip_label
from store import lazy
from store.rows import LogEvent

NAMES: dict[str, str] = {
    "EngineError": "an engine of simulations says why it ends",
}

_BLOCK = lazy.compile(r"\s*(?:Program:?\s+\S.{0,80}[Vv](?:ersion|ERSION) |Source (?:code )?file: )")
_HEADING = lazy.compile(
    r"\s*(?:Feature not implemented|Inconsistency error|File input/output error|Assertion failed):\s*$"
)
_FATAL = lazy.compile(
    r"\s*(?:Fatal error|(?:Error|Inconsistency) in user input|Software inconsistency error|System I/O error):\s*$"
)
_CLOSES = lazy.compile(r"\s*(?:$|-{8,}\s*$|For more information\b)")
_LAMMPS = lazy.compile(
    r"\s*ERROR(?: on proc \d{1,7})?: (?P<text>\S.{0,600}?) \((?P<place>(?:\.\./|src/|/\S{0,300}/src/)[\w./+-]{1,200}\.(?:cpp|h):\d{1,6})\)\s*$"
)
_CHARM = lazy.compile(r".{0,40}Processor \d+ Exiting: Called CmiAbort")
_REASON = lazy.compile(r"\s*Reason: (?:FATAL ERROR: )?(?P<text>\S.{0,600})$")
_BOX_OF_VASP = "EEEEEEE  RRRRRR   RRRRRR"
_SICK = "I REFUSE TO CONTINUE WITH THIS SICK JOB"
_WORDS = lazy.compile(r"[a-z]{2}")
_VASP = lazy.compile(
    r"[\s|]*(?P<text>ZBRENT: fatal error\b.{0,200}|internal error in: (?P<place>\S+\.F)\b.{0,100}?)[\s|]*$"
)
_MOST_LINES = 8
_MOST_BETWEEN = 10
_MOST_IN_BOX = 40


class EngineErrors:
    """State: what is awaited after a heading, the heading's line, the text so far, and how lately a block of GROMACS's began."""

    name: ClassVar[str] = "engine_errors"
    anchors: ClassVar[tuple[str, ...]] = (
        "Source file: ",
        "Source code file: ",
        "Fatal error:",
        " in user input:",
        "System I/O error:",
        _BOX_OF_VASP,
        _SICK,
        "ZBRENT: fatal",
        "internal error in: ",
        "not implemented:",
        "nconsistency error:",
        "output error:",
        "Assertion failed:",
        "ERROR: ",
        "ERROR on proc",
        "Called CmiAbort",
    )

    def __init__(self) -> None:
        self._awaits = ""
        self._head: Line | None = None
        self._text: list[str] = []
        self._last = 0
        self._block = 0

    @property
    def wants_more(self) -> bool:
        """True while the text of a heading may follow."""
        return self._head is not None or self._block > 0

    def feed(self, line: Line) -> Iterable[LogEvent]:
        """Take one line."""
        text = strip_label(line.text[:2000])
        rows = list(self._goes_on(line, text)) if self._head is not None else list[LogEvent]()
        if self._head is None and not (rows and rows[-1].line_end == line.line_no):
            rows.extend(self._begins(line, text))
        return rows

    def close(self) -> Iterable[LogEvent]:
        """Give the text that is open."""
        head, self._head, self._block = self._head, None, 0
        if head is None or self._awaits != "text" or not self._text:
            return []
        return [self._row(head, " ".join(self._text), self._last)]

    def _begins(self, line: Line, text: str) -> Iterable[LogEvent]:
        if _BLOCK.match(text):
            self._block = _MOST_BETWEEN
            return
        in_block, self._block = self._block > 0, max(0, self._block - 1)
        if found := _LAMMPS.match(text):
            yield self._row(line, found["text"], line.line_no, found["place"])
        elif _FATAL.match(text) or (in_block and _HEADING.match(text)):
            self._open(line, "text")
        elif found := _VASP.match(text):
            yield self._row(line, found["text"], line.line_no, found["place"])
        elif _SICK in text:
            yield self._row(line, _plain(text), line.line_no)
        elif _BOX_OF_VASP in text:
            self._open(line, "box")
        elif _CHARM.match(text):
            self._open(line, "reason")

    def _open(self, line: Line, awaits: str) -> None:
        self._head, self._awaits, self._text, self._last = replace(line), awaits, [], line.line_no

    def _goes_on(self, line: Line, text: str) -> Iterable[LogEvent]:
        if self._awaits == "text":
            # An empty line is never fed; where a stream is its file's only one, the numbers tell that it stood there.
            ended = bool(self._text) and line.stream is None and line.rank is None and line.line_no > self._last + 1
            if not ended and not _CLOSES.match(text) and len(self._text) < _MOST_LINES:
                self._text.append(text.strip())
                self._last = line.line_no
            else:
                yield from self.close()
            return
        if self._awaits == "box":
            yield from self._boxed(line, text)
            return
        self._head = None
        if found := _REASON.match(text):
            yield self._row(line, found["text"], line.line_no)

    def _boxed(self, line: Line, text: str) -> Iterable[LogEvent]:
        head = self._head
        assert head is not None
        if _SICK in text:
            self._head = None
            yield self._row(line, " ".join(self._text) or _plain(text), line.line_no)
        elif "|" not in text or line.line_no - head.line_no > _MOST_IN_BOX:
            self._head = None
        elif _WORDS.search(text) and len(self._text) < _MOST_LINES:
            self._text.append(_plain(text))

    def _row(self, line: Line, message: str, line_end: int, place: str | None = None) -> LogEvent:
        return line.event(
            "exception",
            "EngineError",
            message[:2000],
            line_end=line_end,
            severity="fatal",
            parser=self.name,
            frame=place,
        )


def _plain(text: str) -> str:
    """What stands in a line of a box, without its frame and arrows."""
    return text.strip(" \t|<>-")
