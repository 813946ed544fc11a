"""Drives the sources of a live Slurm into a lake: each in its own time, failures apart from each other, and all of it recorded."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING

from collector.node.clock import Clock, SystemClock
from collector.node.watched import Watched
from collector.slurm.keep import keep
from collector.slurm.source import SlurmSource
from collector.sources.base import SourceUnavailable

if TYPE_CHECKING:
    from store import Writer

HEALTH_S = 300.0
FIRST_RETRY_S, LAST_RETRY_S = 2.0, 60.0


class Driver:
    """One thread's work. `say` hears when a source fails, and when it works again."""

    def __init__(
        self,
        sources: Sequence[SlurmSource],
        writer: Writer,
        say: Callable[[str], None],
        clock: Clock | None = None,
    ) -> None:
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._writer, self._say = writer, say
        self._turns = [_Turn(source, self._clock) for source in sources]
        self._health_due = self._clock.steady() + HEALTH_S

    def hurry(self, name: str, at: float) -> None:
        """Ask this source at a time (on the steady clock) if it would be asked later."""
        for turn in self._turns:
            if turn.source.name == name:
                turn.due = min(turn.due, at)

    def run(self, stop: Event) -> None:
        """Until told to stop."""
        while not stop.is_set():
            self.turn(stop)
            wait = min(t.due for t in self._turns) - self._clock.steady()
            if wait > 0:
                stop.wait(min(wait, 1.0))
        self.finish()

    def turn(self, stop: Event | None = None) -> int:
        """Ask the sources that are due, the longest due first; gives how many rows they told. Raises StoreError, OSError."""
        told = 0
        for turn in sorted(self._turns, key=lambda t: t.due):
            if turn.due <= self._clock.steady() and not (stop is not None and stop.is_set()):
                told += self._take(turn)
        if self._clock.steady() >= self._health_due:
            self.tell_health()
        return told

    def once(self) -> bool:
        """One look of each source; did all of them work?"""
        for turn in self._turns:
            self._take(turn)
        self.finish()
        return all(turn.watched.ok for turn in self._turns)

    def finish(self) -> None:
        """Remember, and write down who was looking until now."""
        for turn in self._turns:
            turn.source.close()
        self.tell_health()

    def tell_health(self) -> None:
        """The `source_health` rows up to now, into the lake."""
        self._health_due = self._clock.steady() + HEALTH_S
        now = self._clock.now()
        rows = [row for turn in self._turns for row in turn.watched.take(now, getattr(turn.source, "missing", None))]
        if rows:
            self._writer.append(rows, batch=f"slurm_health:{uuid.uuid4().hex}")

    def _take(self, turn: _Turn) -> int:
        begun, since = self._clock.steady(), self._clock.now()
        problem: str | None = None
        counts: dict[str, int] = {}
        try:
            published = keep(self._writer, turn.source)
            counts = published.rows if published is not None else {}
        except SourceUnavailable as why:
            problem = why.reason + (f" (remedy: {why.remedy})" if why.remedy else "")
            turn.source.close()
        changed = turn.watched.saw(
            self._clock.now(),
            problem is None,
            message=problem,
            counts=counts,
            spent_s=self._clock.steady() - begun,
            missing=getattr(turn.source, "missing", None),
            since=since,
        )
        if changed and (problem is not None or turn.failed):
            self._say(f"{turn.source.name}: {problem or 'works again'}")
        turn.plan(begun, problem is not None)
        return sum(counts.values())


class _Turn:
    """One source, when it is due, and how it fared."""

    def __init__(self, source: SlurmSource, clock: Clock) -> None:
        self.source = source
        self.due = clock.steady()
        self.failed = False
        self.watched = Watched(source.name, source.covers, None, source.access.cluster)
        self._retry_s = FIRST_RETRY_S

    def plan(self, begun: float, failed: bool) -> None:
        """When it is due next: in its own time, or sooner or later while it fails."""
        self.failed = failed
        self.due = begun + (self._retry_s if failed else self.source.interval_s)
        self._retry_s = min(self._retry_s * 2, LAST_RETRY_S) if failed else FIRST_RETRY_S
