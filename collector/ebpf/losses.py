"""What came faster than it could be told, as the kernel counted it: a window of `source_health` says so where it happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from collector.ebpf.output import Output
from collector.ebpf.process import Follow

RECENT_S = 10.0


@dataclass(slots=True)
class Losses:
    """Follows the kernel's counts, which run on; what grew lately is told."""

    output: tuple[int, int] = (0, 0)
    """Bytes and writes."""
    events: int = 0
    _grew: dict[str, float] = field(default_factory=dict[str, float])

    def look(self, follow: Follow | None, output: Output | None, steady: float) -> None:
        """Read the counts."""
        events = follow.lost() if follow is not None else 0
        written = output.lost() if output is not None else (0, 0)
        if events != self.events:
            self._grew["process"] = steady
        if written != self.output:
            self._grew["captured_line"] = steady
        self.events, self.output = events, written
        self._grew = {table: at for table, at in self._grew.items() if steady - at < RECENT_S}

    @property
    def of_events(self) -> bool:
        """Were beginnings or ends of programs lost lately?"""
        return "process" in self._grew

    def told(self) -> dict[str, str]:
        """By table, in words."""
        told: dict[str, str] = {}
        if "captured_line" in self._grew:
            size, writes = self.output
            told["captured_line"] = (
                f"{size} bytes in {writes} writes were beyond the bound, or moved by the kernel unseen, and are left out so far"
            )
        if "process" in self._grew:
            told["process"] = f"{self.events} beginnings and ends of programs came too fast to be told so far"
        return told
