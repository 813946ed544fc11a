"""Text of nvidia-smi in a job's own output that says clocks are lowered or power is capped.

SOURCE  `nvidia-smi -q -d PERFORMANCE` since driver 390: `Clocks Throttle Reasons`, later `Clocks Event Reasons`.
ROWS    `throttle`, one per reason that is Active.
CAVEAT  an idle card is capped by its own software and that is normal: only the hardware reasons are errors. The text names no
        GPU; it is a moment, not a duration.
EXAMPLE         HW Thermal Slowdown           : Active
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from store import lazy

NAMES: dict[str, str] = {
    "hw_slowdown": "HW Slowdown",
    "hw_thermal": "HW Thermal Slowdown",
    "hw_power_brake": "HW Power Brake Slowdown",
    "sw_thermal": "SW Thermal Slowdown",
    "sw_power_cap": "SW Power Cap: normal at full load, and on an idle card",
}

_REASONS = {
    "HW Slowdown": ("hw_slowdown", "error"),
    "HW Thermal Slowdown": ("hw_thermal", "error"),
    "HW Power Brake Slowdown": ("hw_power_brake", "error"),
    "SW Thermal Slowdown": ("sw_thermal", "warning"),
    "SW Power Cap": ("sw_power_cap", "info"),
}
_LINE = lazy.compile(r"^\s*(?P<reason>(?:HW|SW) [A-Za-z ]+?)\s*: Active\s*$")


class Throttle(LineParser):
    """One line, one reason."""

    name: ClassVar[str] = "throttle"
    anchors: ClassVar[tuple[str, ...]] = (": Active",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        found = _LINE.match(line.text)
        known = _REASONS.get(found["reason"]) if found else None
        if known is None:
            return []
        return [line.event("throttle", known[0], severity=known[1], parser=self.name, framework="nvidia-smi")]
