"""Horovod's stall inspector: tensors that some ranks submitted and others did not.

SOURCE  horovod/common/operations.cc (to 0.18) and stall_inspector.cc (since), through mpirun or horovodrun.
ROWS    `nccl_watchdog` named `stalled` (the inspector speaks) and `stalled_ranks` (which ranks it misses, in the message).
CAVEAT  a warning alone: ranks that are late by a minute (evaluation on one rank, a first epoch) come back.
EXAMPLE WARNING: One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting
        for remainder of ranks for more than 60 seconds.
        Missing ranks:
        1: [allreduce.fc.weight, allreduce.fc.bias]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "stalled": "ranks wait for others that did not submit the same tensor (timeout_ms)",
    "stalled_ranks": "the ranks that are missing, or that are ready and wait (detail.missing, detail.ready, detail.tensor)",
    "stall_shutdown": "the inspector ends the job because the stall lasted",
}

_STALLED = lazy.compile(
    r"One or more tensors were submitted to be reduced, gathered or broadcast\w* by (?:a )?subset of ranks"
    r"(?:.{0,60}?more than (?P<s>\d{1,6}) seconds)?"
)
_SHUTDOWN = lazy.compile(
    r"stalled for longer than HOROVOD_STALL_SHUTDOWN_TIME|STALL_SHUTDOWN_TIME\w* .{0,60}[Ww]ill shut ?down"
)
_RANKS = lazy.compile(r"(?P<tensor>[^\s,:\]]{1,200}) \[(?P<which>missing|ready) ranks: ?(?P<ranks>[\d, ]{1,400})\]")


_BLOCK = lazy.compile(r"Missing ranks:\s*$")
_OF_BLOCK = lazy.compile(r"(?P<rank>\d{1,6}): \[(?P<tensor>[^\s,\]]{1,200})")


class Horovod:
    """State: inside the list of missing ranks, one a line, that the inspector prints since 0.21."""

    name: ClassVar[str] = "horovod"
    anchors: ClassVar[tuple[str, ...]] = (
        "tensors were submitted to be reduced",
        "STALL_SHUTDOWN_TIME",
        " [missing ranks:",
        " [ready ranks:",
        "Missing ranks:",
    )

    def __init__(self) -> None:
        self._start: Line | None = None
        self._ranks: list[str] = []
        self._tensor = ""

    @property
    def wants_more(self) -> bool:
        """True while a list of missing ranks may go on."""
        return self._start is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._start is not None:
            if found := _OF_BLOCK.match(line.text.strip()):
                self._ranks.append(found["rank"])
                self._tensor = self._tensor or found["tensor"]
                return []
            return [*self.close(), *self._line(line)]
        return self._line(line)

    def close(self) -> Iterable[ParsedRow]:
        """Give the list that is open."""
        start, self._start = self._start, None
        return [_missing(start, "missing", ", ".join(self._ranks), self._tensor)] if start and self._ranks else []

    def _line(self, line: Line) -> Iterable[ParsedRow]:
        text = line.text[:8000]
        if _SHUTDOWN.search(text):
            yield line.event("nccl_watchdog", "stall_shutdown", severity="fatal", parser=self.name, framework="horovod")
            return
        if found := _STALLED.search(text):
            seconds = whole(found["s"])
            yield line.event(
                "nccl_watchdog",
                "stalled",
                severity="error",
                parser=self.name,
                framework="horovod",
                timeout_ms=None if seconds is None else seconds * 1000.0,
            )
        if _BLOCK.search(text):
            self._start, self._ranks, self._tensor = line, [], ""
        elif found := _RANKS.search(text):
            yield _missing(line, found["which"], found["ranks"].strip(" ,"), found["tensor"])


def _missing(line: Line, which: str, ranks: str, tensor: str) -> ParsedRow:
    return line.event(
        "nccl_watchdog",
        "stalled_ranks",
        f"{tensor} [{which} ranks: {ranks}]",
        severity="error",
        parser=Horovod.name,
        framework="horovod",
        detail=detail(**{which: ranks, "tensor": tensor}),
    )
