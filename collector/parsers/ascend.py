"""Ascend's error codes (CANN's EI…, EJ… and E?9999 lines): ranks that did not meet, a collective that timed out.

SOURCE  CANN's HCCL and runtime: torch_npu, MindSpore and Paddle print the same lines under their own exception.
ROWS    `rendezvous` (`timeout`, `device_process`, `bind_failed`), `nccl_watchdog` named `collective_timeout`;
        detail.code is the code as printed.
CAVEAT  507046 ("Stream synchronize timeout") alone tells neither what was waited for nor for whom: no row.
EXAMPLE EI0006: 2024-08-05-18:15:21.270.506 Getting socket times out. Reason: Remote Rank did not send the data in time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "timeout": "rendezvous: a rank was not heard of while the ranks connected, or their ranktables differ in time (EI0006, EI0009, EI0015)",
    "device_process": "rendezvous: HCCP, which connects the NPUs, could not start: an earlier job may still hold it (EJ0001 to EJ0004)",
    "bind_failed": "rendezvous: a port or an address could not be bound (EJ0003, EI0019, EI0020)",
    "collective_timeout": "nccl_watchdog: a rank waited in vain for another one's notify record (EI0002, hccl's own task timeout; collective, rank)",
}

# Since CANN 8 the code stands in brackets behind its title: `Communication_Error_Timeout(EI0006): ...`.
_CODE = r"\bE[A-Z]\d{4}\)?: (?:\[PID: ?\d+\] ?)?(?:\d{4}-\d\d-\d\d-[\d:.]+ )?"
_WORDS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (kind, name, lazy.compile(pattern))
    for kind, name, pattern in (
        ("nccl_watchdog", "collective_timeout", r"EI0002\)?: .{0,80}Notify register times out|E[A-Z]\d{4}\)?: .{0,400}\bhccl \w+ task timeout\b"),
        ("rendezvous", "bind_failed", r"(?:EJ0003|EI0019|EI0020)\)?: .{0,200}(?:bind|listen|port)"),
        ("rendezvous", "timeout", r"EI0006\)?: .{0,80}[Gg]etting socket times out|EI00(?:09|15)\)?: .{0,200}(?:time[sd]? ?out|timeout)"),
        ("rendezvous", "device_process", r"EJ000[124]\)?: .{0,80}(?:[Ff]ailed to initialize|HCCP)"),
    )
)  # fmt: skip
_CODED = lazy.compile(_CODE)
_TAG = lazy.compile(r"tag\[(?P<op>[A-Za-z]+)_")
_PEER = lazy.compile(r"remote rank:? ?\[(?P<rank>\d{1,6})\]")


class Ascend(LineParser):
    """One line, one code."""

    name: ClassVar[str] = "ascend"
    anchors: ClassVar[tuple[str, ...]] = ("EI00", "EJ000", " task timeout")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:4000]
        found = _CODED.search(text)
        if not found:
            return []
        for kind, name, pattern in _WORDS:
            if pattern.search(text):
                return [self._row(line, text, kind, name, found[0][:6])]
        return []

    def _row(self, line: Line, text: str, kind: str, name: str, code: str) -> ParsedRow:
        if kind == "nccl_watchdog":
            tag, peer = _TAG.search(text), _PEER.search(text)
            waits_for = whole(peer["rank"]) if peer else None
            return line.event(
                kind,
                name,
                severity="fatal",
                parser=self.name,
                framework="hccl",
                collective=tag["op"] if tag else None,
                detail=detail(code=code, waits_for=waits_for),
            )
        return line.event(kind, name, severity="error", parser=self.name, framework="hccl", detail=detail(code=code))
