"""Engines of simulations give up: GROMACS, LAMMPS, what runs on Charm++ (NAMD), OpenACC, SYCL and CUDA programs that print a block of fields.

SOURCE    GROMACS's block of an error, LAMMPS's ERROR with the place in its source, Charm++'s abort, NVHPC's accelerator runtime, AdaptiveCpp's report,
          and the `CUDA Error:` with File, Line, Error code and Error text that GPUMD and programs made after it print.
ROWS      `exception` named `EngineError` or `DeviceCallFailed`, fatal: none of these goes on after it; the place in `frame` where one is printed.
CAVEAT    "Fatal error:" counts where it stands alone in its line and the text follows; the other headings of GROMACS's count only in its block.
EXAMPLES
    Fatal error:
    There is no domain decomposition for 20 ranks that is compatible with the given box
    ERROR: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)
    Accelerator Fatal Error: call to cuLaunchKernel returned error 719: Launch failed
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import strip_label

NAMES: dict[str, str] = {
    "EngineError": "an engine of simulations says why it ends",
    "DeviceCallFailed": "the runtime below a program for GPUs says which of its calls failed, and ends it",
}

_BLOCK = re.compile(r"\s*(?:Program:?\s+\S.{0,80}[Vv](?:ersion|ERSION) |Source (?:code )?file: )")
_HEADING = re.compile(
    r"\s*(?:Error in user input|Inconsistency in user input|Feature not implemented|(?:Software )?[Ii]nconsistency error|File input/output error|Assertion failed):\s*$"
)
_FATAL = re.compile(r"\s*Fatal error:\s*$")
_CLOSES = re.compile(r"\s*(?:$|-{8,}\s*$|For more information\b)")
_LAMMPS = re.compile(
    r"\s*ERROR(?: on proc \d{1,7})?: (?P<text>\S.{0,600}?) \((?P<place>(?:\.\./|src/|/\S{0,300}/src/)[\w./+-]{1,200}\.(?:cpp|h):\d{1,6})\)\s*$"
)
_CHARM = re.compile(r".{0,40}Processor \d+ Exiting: Called CmiAbort")
_REASON = re.compile(r"\s*Reason: (?:FATAL ERROR: )?(?P<text>\S.{0,600})$")
_OPENACC = re.compile(r"\s*Accelerator Fatal Error: (?P<text>\S.{0,600})$")
_SYCL = re.compile(
    r"\s*(?:hipSYCL|AdaptiveCpp|ACPP) has caught the following un\w{0,8}handled asynchronous errors:\s*$"
)
_FROM = re.compile(r"\s*from (?P<place>\S{1,300}:\d{1,6}) @ \S+?(?: ?\([^)]{0,60}\))? ?: (?P<text>\S.{0,600})$")
_CUDA = re.compile(r"\s*CUDA [Ee]rror:\s*$")
_FIELD = re.compile(r"\s+(?:File|Line|Error code|Error text):\s+(?P<text>\S.{0,300})$")
_MOST_LINES = 8
_MOST_BETWEEN = 10


class EngineErrors:
    """State: what is awaited after a heading, the heading's line, the text so far, and how lately a block of GROMACS's began."""

    name: ClassVar[str] = "engine_errors"
    anchors: ClassVar[tuple[str, ...]] = (
        "Source file: ",
        "Source code file: ",
        "Fatal error:",
        " in user input:",
        "not implemented:",
        "nconsistency error:",
        "output error:",
        "Assertion failed:",
        "ERROR: ",
        "ERROR on proc",
        "Called CmiAbort",
        "Accelerator Fatal Error: ",
        "asynchronous errors:",
        "CUDA Error:",
        "CUDA error:",
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

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:2000])
        rows = list(self._goes_on(line, text)) if self._head is not None else []
        if self._head is None:
            rows.extend(self._begins(line, text))
        return rows

    def close(self) -> Iterable[ParsedRow]:
        """Give the text that is open."""
        head, self._head, self._block = self._head, None, 0
        if head is None or self._awaits != "text" or not self._text:
            return []
        return [self._row(head, " ".join(self._text), self._last)]

    def _begins(self, line: Line, text: str) -> Iterable[ParsedRow]:
        if _BLOCK.match(text):
            self._block = _MOST_BETWEEN
            return
        in_block, self._block = self._block > 0, max(0, self._block - 1)
        if found := _LAMMPS.match(text):
            yield self._row(line, found["text"], line.line_no, found["place"])
        elif found := _OPENACC.match(text):
            yield self._row(line, found["text"], line.line_no, name="DeviceCallFailed")
        elif _FATAL.match(text) or (in_block and _HEADING.match(text)):
            self._open(line, "text")
        elif _CHARM.match(text):
            self._open(line, "reason")
        elif _SYCL.match(text):
            self._open(line, "from")
        elif _CUDA.match(text):
            self._open(line, "fields")

    def _open(self, line: Line, awaits: str) -> None:
        self._head, self._awaits, self._text, self._last = replace(line), awaits, [], line.line_no

    def _goes_on(self, line: Line, text: str) -> Iterable[ParsedRow]:
        head = self._head
        assert head is not None
        if self._awaits == "text":
            if not _CLOSES.match(text) and len(self._text) < _MOST_LINES:
                self._text.append(text.strip())
                self._last = line.line_no
            else:
                yield from self.close()
            return
        self._head = None
        if self._awaits == "reason" and (found := _REASON.match(text)):
            yield self._row(line, found["text"], line.line_no)
        elif self._awaits == "from" and (found := _FROM.match(text)):
            yield self._row(line, found["text"], line.line_no, found["place"], "DeviceCallFailed")
        elif self._awaits == "fields" and (found := _FIELD.match(text)):
            if text.lstrip().startswith("Error text"):
                yield self._row(line, found["text"], line.line_no, name="DeviceCallFailed")
            else:
                self._head = head

    def _row(
        self, line: Line, message: str, line_end: int, place: str | None = None, name: str = "EngineError"
    ) -> ParsedRow:
        return line.event(
            "exception", name, message[:2000], line_end=line_end, severity="fatal", parser=self.name, frame=place
        )
