"""A node's collector put together: sources, loop, tiers, spool and the way into the lake.

Stays out of DuckDB, pyarrow, pydantic and httpx: the whole process is to stay under 35 MB.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from collector.node.asked import Asked
from collector.node.hand_over import EVERY_S, OWN_S, HandOver
from collector.node.here import Here
from collector.node.loop import Loop, Sink
from collector.node.spool_out import BUDGET_BYTES, WRITE_S, SpoolOut
from collector.node.tiers import COARSE_S, Tiers
from collector.sources.base import Source
from store.lake import Lake
from store.rows import Row, SourceHealth
from store.triggers import Request


@dataclass(frozen=True, slots=True)
class Settings:
    """How a node collects. Without a lake the spool only fills: `collector.node.seal` empties it."""

    spool: Path
    lake: Path | None = None
    interval_s: float = 0.0
    coarse_s: float = COARSE_S
    seal_s: float = EVERY_S
    own_s: float = OWN_S
    write_s: float = WRITE_S
    budget_bytes: int = BUDGET_BYTES
    tell: Callable[[str], None] = lambda _: None
    """Called from a thread of ours with a line for whoever looks after the node: rows do not get through, or do again."""


def collect(sources: Sequence[Source], here: Here, settings: Settings) -> list[str]:
    """Collect until SIGTERM or SIGINT. Gives what went wrong at the end, one line each. Raises SpoolTaken, OSError."""
    one_arena()
    return Collector(sources, here, settings).run()


class Collector:
    """One node's collector, from start to clean stop."""

    def __init__(self, sources: Sequence[Source], here: Here, settings: Settings) -> None:
        self._here, self._settings = here, settings
        self._spool = SpoolOut(settings.spool, budget_bytes=settings.budget_bytes, on_drop=self._dropped)
        self._spool.open()
        here.state = settings.spool
        self._hand_over = (
            HandOver(
                self._spool,
                settings.lake,
                here.node or "node",
                here.clock,
                every_s=settings.seal_s,
                own_s=settings.own_s,
                asked=Asked(Lake(settings.lake), self._names, here.clock, self._asked),
            )
            if settings.lake
            else None
        )
        self.tiers = Tiers(self._spool.add, here.clock, coarse_s=settings.coarse_s, urgent=self._urgent)
        here.alarm, here.hurry, here.finer = self.tiers.trigger, self._urgent, self.tiers.finer
        self.loop = Loop(sources, self.tiers, here, interval_s=settings.interval_s, health_s=1.5 * settings.seal_s)
        self._wake = threading.Event()
        self._ending = False
        self._told: str | None = None
        self._since = here.clock.steady()
        self._disk = threading.Thread(target=self._look_after_disk, name="disk", daemon=True)

    def run(self, *, signals: bool = True) -> list[str]:
        """Work until told to stop."""
        self._disk.start()
        if self._hand_over is not None:
            self._hand_over.begin()
        hung = self.loop.run(signals=signals)
        wrong = [f"{name} hangs and was left behind" for name in hung]
        self.tiers.flush()
        self._ending = True
        self._wake.set()
        self._disk.join(5)
        if self._disk.is_alive():
            return [*wrong, f"the spool's disk hangs: the last seconds are lost ({self._settings.spool})"]
        self._tell(end=True)
        self._spool.close()
        if self._hand_over is not None:
            # Within what systemd waits for: what is not in the lake by then stays in the spool, for the next start.
            self._hand_over.wait(5)
            self._hand_over.start()
            if not self._hand_over.wait(15) or self._hand_over.problem:
                wrong.append(f"not everything is in the lake yet: {self._hand_over.problem or 'it does not answer'}")
        if self._spool.problem:
            wrong.append(self._spool.problem)
        return wrong

    def _dropped(self, rows: int) -> None:
        self._here.counters.dropped += rows

    def _urgent(self, reason: str) -> None:
        if self._hand_over is not None:
            self._hand_over.hurry(reason)
            self._wake.set()

    def _names(self) -> set[str]:
        """As what nodes Slurm knows this host."""
        return {name for name in (self._here.node, *self._here.owners.nodes) if name}

    def _asked(self, request: Request) -> None:
        if "hang" in request.kinds:
            self._here.hung.append(request.job)
        self.tiers.trigger(f"a warning of job {request.job}: {', '.join(request.kinds)}")

    def _look_after_disk(self) -> None:
        """The one thread that touches the spool's disk."""
        while not self._ending:
            soon = self._hand_over.due_in if self._hand_over is not None else self._settings.write_s
            self._wake.wait(min(self._settings.write_s, max(soon, 0.5)))
            self._wake.clear()
            if self._hand_over is not None:
                if self._hand_over.poll():
                    self._tell()
                if self._hand_over.due:
                    self.tiers.flush()
                    self.loop.tell_health()
                    self._spool.rotate()
                    self._hand_over.start()
            self._spool.write()
            self._here.counters.spool_bytes = self._spool.spool_bytes
            self._tell()

    def _tell(self, *, end: bool = False) -> None:
        """Say in `source_health` when what the sources saw does not reach the lake."""
        problem = self._spool.problem or (self._hand_over.problem if self._hand_over else None)
        if problem == self._told and not end:
            return
        now, steady = self._here.clock.now(), self._here.clock.steady()
        self._spool.add(
            SourceHealth(
                cluster=self._here.cluster,
                node=self._here.node,
                ts=now - timedelta(seconds=steady - self._since),  # by the clock as it is set now
                origin="spool",
                source="spool",
                covers="collector_sample",
                end_ts=now,
                ok=self._told is None,
                message=self._told,
            )
        )
        if problem != self._told:
            told = problem or "what is collected reaches the disk and the lake again"
            self._settings.tell(told)
        self._told, self._since = problem, steady


@dataclass(slots=True)
class Handed:
    """A sink that hands every row on: for `--print` and `--once`."""

    keep: Callable[[Row], None]

    def add(self, row: Row, *, every_s: float) -> None:
        """Hand on."""
        self.keep(row)

    def tick(self) -> None:
        """Nothing is kept."""


def one_arena() -> None:
    """One heap for all threads: glibc would give each thread its own, and none gives back what it once took."""
    try:
        ctypes.CDLL(None).mallopt(-8, 1)  # M_ARENA_MAX
    except (OSError, AttributeError):
        return


__all__ = ["Collector", "Handed", "Settings", "Sink", "collect", "one_arena"]
