"""What happened to a link between two looks: its state, and the counters that a flap of milliseconds moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BURST = 100
"""So many new symbol or receive errors between two looks are told as a burst; single ones are in the samples."""
ABSENT = "absent"
UP = frozenset({"ACTIVE", "ACTIVE_DEFER", "up", "unknown"})


@dataclass(frozen=True, slots=True)
class LinkState:
    """What is compared; counters are None where a link has none."""

    state: str | None
    rate_gbps: float | None = None
    downed: int | None = None
    recoveries: int | None = None
    errors: int | None = None


class LinkChanges:
    """Follows every link of one source."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], LinkState] = {}

    def look(self, device: str, port: str, now: LinkState) -> Iterator[tuple[str, int | None, str]]:
        """Events (kind, count, text) since the last look."""
        before = self._before.get((device, port))
        self._before[device, port] = now
        if before is None:
            return
        was, is_ = before.state in UP, now.state in UP
        downed, recovered = _rise(before.downed, now.downed), _rise(before.recoveries, now.recoveries)
        if was and is_ and (downed or recovered):
            told = [f"went down {downed} times"] if downed else []
            told += [f"recovered {recovered} times"] if recovered else []
            yield "flap", downed or recovered, f"between two looks at an active link it {' and '.join(told)}"
        elif was and not is_:
            yield "down", downed or None, f"from {before.state} to {now.state}"
        elif is_ and not was:
            yield "up", downed or None, f"from {before.state} to {now.state}"
        errors = _rise(before.errors, now.errors)
        if errors >= BURST:
            yield "error_burst", errors, f"{errors} new errors since the last look"
        if was and is_ and before.rate_gbps and now.rate_gbps and before.rate_gbps != now.rate_gbps:
            yield "speed_change", None, f"from {before.rate_gbps:g} to {now.rate_gbps:g} Gb/s"

    def gone(self, present: set[tuple[str, str]]) -> list[tuple[str, str]]:
        """Links that are no longer there since the last look. One that is plugged in again has come up from there."""
        lost = [key for key, state in self._before.items() if key not in present and state.state != ABSENT]
        for key in lost:
            self._before[key] = LinkState(ABSENT)
        return lost


def _rise(before: int | None, now: int | None) -> int:
    """A counter that went back was reset: nothing is known of what lies between."""
    return now - before if before is not None and now is not None and now > before else 0
