"""What happened to a GPU between two looks, told by its counters: a throttle, a link that flapped, a row that was remapped.

A state that lasts for milliseconds is seen by no sample; the counters that it moved are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collector.gpu.device import RECOVERY, REPLAY, VIOLATIONS

SEVERE = 0xE8
"""Hardware slowdown, software and hardware thermal slowdown, power brake; not the power cap, at which a busy GPU works."""
CALM_S = 30.0
"""An episode ends after so long without a sign of it."""
_WORDS = {0x8: "hw_slowdown", 0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "power_brake"}

Change = tuple[str, str, dict[str, Any]]
"""Table, event, further columns."""


class Changes:
    """Follows one GPU."""

    def __init__(self) -> None:
        self._violations: dict[int, int] = {}
        self._slow: dict[str, Any] = {}
        self._fields: dict[int, int] = {}
        self._links: dict[int, bool] = {}
        self._throttled_at = float("-inf")

    def fast(self, now: float, reasons: int | None, violations: dict[int, int]) -> Iterator[Change]:
        """From the look of each second: one event at the beginning of an episode."""
        told: list[str] = []
        if reasons is not None and reasons & SEVERE:
            told.append("clock event reasons " + ", ".join(w for bit, w in _WORDS.items() if reasons & bit))
        for field, value in violations.items():
            held = value - self._violations.get(field, value)
            if held > 0:
                told.append(f"clocks held down for {held / 1e6:.3f} ms since the last look ({VIOLATIONS[field]})")
        self._violations = violations
        if told:
            begun = now - self._throttled_at > CALM_S
            self._throttled_at = now
            if begun:
                yield "gpu_event", "throttle", {"message": "; ".join(told)}

    def slow(self, values: dict[str, Any], fields: dict[int, int]) -> Iterator[Change]:
        """From the look at the counters."""
        before, self._slow = self._slow, values
        for column in ("remapped_correctable", "remapped_uncorrectable"):
            old, new = before.get(column), values.get(column)
            if old is not None and new is not None and new > old:
                yield "gpu_event", "row_remap", {"message": f"{column} rose from {old} to {new}"}
        earlier, self._fields = self._fields, fields
        rises = {f: fields[f] - earlier[f] for f in (RECOVERY, REPLAY) if f in fields and f in earlier}
        if rises.get(RECOVERY, 0) > 0:
            what = f"link recoveries rose by {rises[RECOVERY]}, replays by {rises.get(REPLAY, 0)}"
            yield "link_event", "flap", {"count": rises[RECOVERY], "message": what}
        elif rises.get(REPLAY, 0) > 0:
            yield "link_event", "error_burst", {"count": rises[REPLAY], "message": f"replays rose by {rises[REPLAY]}"}

    def links(self, states: dict[int, bool]) -> Iterator[Change]:
        """Links that went down or came back."""
        before, self._links = self._links, states
        for link, up in states.items():
            if before.get(link, up) != up:
                yield "link_event", "up" if up else "down", {"port": str(link)}
