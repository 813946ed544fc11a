"""Text that looks like an NVIDIA XID in a job's own output: hearsay, because anything can print it.

SOURCE  the driver's kernel line as copied by a wrapper script, `dmesg` in a job's epilogue, or a program's own words.
ROWS    `xid` with the number; PCI address in detail.pci, process in `pid` and detail.process.
CAVEAT  proof is only the kernel's own log (`gpu_event`); severity is a warning for that reason.
EXAMPLE NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=python, Timeout after 6s of waiting for RPC response from GPU4 GSP!
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "nvrm_line": "a line in the shape of the driver's own",
    "mention": "a program's words with an XID number",
    "fallen_off_bus": "GPU has fallen off the bus, without a number",
}

_NVRM = lazy.compile(
    r"Xid \(PCI:(?P<pci>[\da-fA-F:.]+)\): (?P<xid>\d{1,4})\b(?:, pid='?(?P<pid>\d+|<unknown>)'?)?(?:, name=(?P<process>[^,]+))?"
)
_MENTION = lazy.compile(r"\b(?:[Xx][Ii][Dd])(?: error| code| event|:|=|#| )+(?P<xid>\d{1,3})\b")
_BUS = lazy.compile(r"GPU .{0,60}has fallen off the bus")


class Xid(LineParser):
    """One line, one mention."""

    name: ClassVar[str] = "xid"
    anchors: ClassVar[tuple[str, ...]] = ("Xid", "XID", "xid ", "fallen off the bus")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:8000]
        found = _NVRM.search(text)
        name = "nvrm_line"
        if found is None:
            found, name = _MENTION.search(text), "mention"
        if found is None:
            found, name = _BUS.search(text), "fallen_off_bus"
        if found is None:
            return []
        got = found.groupdict()
        return [
            line.event(
                "xid",
                name,
                severity="warning",
                parser=self.name,
                xid=whole(got.get("xid")),
                pid=whole(got.get("pid")),
                detail=detail(pci=got.get("pci"), process=got.get("process")),
            )
        ]
