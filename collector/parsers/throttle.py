"""Text of nvidia-smi or DCGM in a job's own output that says clocks are lowered or power is capped.

SOURCE  `nvidia-smi -q -d PERFORMANCE` since driver 390: `Clocks Throttle Reasons`, later `Clocks Event Reasons`;
        DCGM's health watch (`dcgmi health`, nv-hostengine's log, dcgm-exporter's), 1.7 to 4.
ROWS    `throttle`, one per reason that is Active, one per finding of DCGM, which names the GPU.
CAVEAT  an idle card is capped by its own software and that is normal: only the hardware reasons are errors. The text of
        nvidia-smi names no GPU; it is a moment, not a duration. DCGM's watch counts the time, and tells of heat and power alone.
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
    "violation": "DCGM's watch found clocks lowered by heat, or by power (then a warning: a limit that was set does it too)",
}

_REASONS = {
    "HW Slowdown": ("hw_slowdown", "error"),
    "HW Thermal Slowdown": ("hw_thermal", "error"),
    "HW Power Brake Slowdown": ("hw_power_brake", "error"),
    "SW Thermal Slowdown": ("sw_thermal", "warning"),
    "SW Power Cap": ("sw_power_cap", "info"),
}
_LINE = lazy.compile(r"^\s*(?P<reason>(?:HW|SW) [A-Za-z ]+?)\s*: Active\s*$")
_DCGM = lazy.compile(
    r"\bDetected clocks? (?:throttling|event) due to (?P<why>thermal|power) violation in GPU (?P<gpu>\d{1,3})\b"
)


class Throttle(LineParser):
    """One line, one reason."""

    name: ClassVar[str] = "throttle"
    anchors: ClassVar[tuple[str, ...]] = (": Active", " violation in GPU ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if (dcgm := _DCGM.search(line.text[:4000])) is not None:
            severity = "error" if dcgm["why"] == "thermal" else "warning"
            return [
                line.event(
                    "throttle",
                    "violation",
                    dcgm[0],
                    severity=severity,
                    parser=self.name,
                    framework="dcgm",
                    gpu=int(dcgm["gpu"]),
                )
            ]
        found = _LINE.match(line.text)
        known = _REASONS.get(found["reason"]) if found else None
        if known is None:
            return []
        return [line.event("throttle", known[0], severity=known[1], parser=self.name, framework="nvidia-smi")]
