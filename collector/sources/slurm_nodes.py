"""Nodes as the scheduler sees them: state and reason as intervals, load, memory, GPU allocation.

SOURCE  slurmctld every 60 s, slurmdbd's node events every 5 minutes, through any `SlurmAccess`.
ROWS    slurm_node_sample at each look; slurm_node_state when a state begins and, with its end, when it is over.
OVERHEAD  one request for all nodes (two with scontrol), one for the events.
CAVEAT  between two looks a node can go down and come back: the events of slurmdbd have it, in their own rows.

    gpu03 DRAINING "Kill task failed" since 10:00:00
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from collector.node.clock import Clock
from collector.slurm.access import SlurmAccess
from collector.slurm.memory import moment, seconds
from collector.slurm.pace import Pace
from collector.slurm.source import SlurmSource, digest
from collector.sources.base import SourceUnavailable
from store.rows import Row, SlurmNodeState

EVENTS_EVERY = timedelta(minutes=5)
_LOOKBACK = timedelta(days=1)


class SlurmNodes(SlurmSource):
    """Follows every node. `missing` says that past events cannot be asked for here."""

    name: ClassVar[str] = "slurm_nodes"
    covers: ClassVar[tuple[str, ...]] = ("slurm_node_state", "slurm_node_sample")
    base_s = 60.0

    def __init__(
        self, access: SlurmAccess, state: Path | None = None, pace: Pace | None = None, clock: Clock | None = None
    ) -> None:
        super().__init__(access, state, pace, clock)
        self.missing: dict[str, str] = {}
        self._now_in: dict[str, SlurmNodeState] = {}
        self._events: dict[str, str] = {}
        self._events_at: datetime | None = None

    def recall(self, kept: dict[str, Any]) -> None:
        """The state that each node was in."""
        self._events_at = moment(kept.get("events_at"))
        try:
            self._events = {str(k): str(v) for k, v in kept.get("events", {}).items()}
            self._now_in = {
                str(node): SlurmNodeState(
                    node=str(node),
                    cluster=cluster,
                    ts=moment(ts),
                    state=state,
                    state_flags=flags,
                    reason=reason,
                    reason_user=user,
                    observed=True,
                )
                for node, (cluster, ts, state, flags, reason, user) in kept.get("nodes", {}).items()
            }
        except (TypeError, ValueError, AttributeError):
            self._events, self._now_in = {}, {}

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """A sample of each node, and the states that began or ended."""
        found: list[Row] = []
        states: dict[str, SlurmNodeState] = {}
        for row in self.access.nodes():
            if not isinstance(row, SlurmNodeState):
                found.append(self.signed(row))
            elif row.node is not None:
                before = self._now_in.get(row.node)
                if before is not None and _same(before, row):
                    states[row.node] = before
                    continue
                if before is not None:
                    found.append(self.signed(replace(before, end_ts=now)))
                    if before.state == row.state and row.ts == before.ts:
                        row = replace(row, ts=now)  # another reason since then: an interval of its own
                found.append(self.signed(row))
                states[row.node or ""] = row
        self._now_in = states
        found.extend(self._past(now))
        return found, {
            "events_at": seconds(self._events_at),
            "events": self._events,
            "nodes": {
                n: [s.cluster, seconds(s.ts), s.state, s.state_flags, s.reason, s.reason_user]
                for n, s in states.items()
            },
        }

    def _past(self, now: datetime) -> Iterator[Row]:
        """slurmdbd's events, new or changed; a refusal is no reason to lose the look."""
        if self._events_at is not None and now - self._events_at < EVENTS_EVERY * self.pace.factor:
            return
        since = (self._events_at or now - _LOOKBACK) - EVENTS_EVERY
        try:
            events = [row for row in self.access.node_events(since) if isinstance(row, SlurmNodeState)]
        except SourceUnavailable as why:
            self.missing = {"end_ts": f"no past events: {why.reason}"}
            return
        self.missing = {}
        given: dict[str, str] = {}
        for row in events:
            name = f"{row.node}@{seconds(row.ts)}:{row.state}"
            mark = digest(row)
            if self._events.get(name) != mark:
                yield self.signed(row)
            given[name] = mark
        self._events, self._events_at = given, now


def _same(before: SlurmNodeState, row: SlurmNodeState) -> bool:
    return (before.state, before.state_flags, before.reason) == (row.state, row.state_flags, row.reason)
