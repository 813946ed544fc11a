"""MPI refuses a call: what it was called with does not fit, and with its usual handler it ends the program.

SOURCE  MPICH and what is built on it (Cray, Intel, MVAPICH), Open MPI's block of an error.
ROWS    `exception` named `MPIError`: the function and the class of the error.
CAVEAT  classes that tell of no argument (other, internal, unknown errors, a process that failed, memory) are none of these: they have
        causes outside the call.
EXAMPLES
    Rank 3 [Tue May  5 10:00:26 2026] [c1-0c1s2n0] Fatal error in PMPI_Recv: Message truncated, error stack:
    [n7:8123] *** MPI_ERR_RANK: invalid rank
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import strip_label
from store import lazy

NAMES: dict[str, str] = {"MPIError": "MPI was called with what does not fit, and ends the program"}

_MPICH = lazy.compile(
    r"^(?:.{0,120}[\]:] )?Fatal error in (?P<call>(?:PMPI|MPI|internal)_\w{1,60}): "
    r"(?P<why>(?:Invalid|Null) (?!error)[\w ]{3,60}|Message truncated|Pending request.{0,60}), error stack:\s*$"
)
_OPEN_MPI = lazy.compile(
    r"^\s*\[[\w.-]{1,100}:\d{1,9}\] \*\*\* (?P<why>MPI_ERR_(?:BUFFER|COUNT|TYPE|TAG|COMM|RANK|ROOT|GROUP|OP|REQUEST|TOPOLOGY|DIMS|ARG|TRUNCATE|WIN|DISP|SIZE): .{3,80}?)\s*$"
)


class MpiErrors(LineParser):
    """One line, one refused call."""

    name: ClassVar[str] = "mpi_errors"
    anchors: ClassVar[tuple[str, ...]] = (", error stack:", "*** MPI_ERR_")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:1000])
        if found := _MPICH.match(text):
            said = f"{found['call']}: {found['why']}"
        elif found := _OPEN_MPI.match(text):
            said = found["why"]
        else:
            return ()
        return [line.event("exception", "MPIError", said, severity="fatal", parser=self.name, framework="mpi")]
