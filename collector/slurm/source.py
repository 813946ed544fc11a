"""What the live sources of a Slurm share: the way in, the pace, and a memory that only moves on when its rows are safe.

A look gives all of its rows or none. What was seen is remembered when the rows have been taken: at the next look, at `done`,
or at `close`. A process that dies before that looks again from where it was, and gives the same rows again.
"""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from collector.node.clock import Clock, SystemClock
from collector.slurm.access import SlurmAccess
from collector.slurm.memory import Memory
from collector.slurm.pace import Pace
from store.rows import Row, columns

R = TypeVar("R", bound=Row)


class SlurmSource:
    """The base of the four. `state` is the folder of their memories (None: this process's own only)."""

    name: ClassVar[str] = ""
    covers: ClassVar[tuple[str, ...]] = ()
    base_s: float = 60.0
    bound_s: float = 600.0
    """A first look at a large cluster takes its time; the commands have limits of their own."""

    def __init__(
        self, access: SlurmAccess, state: Path | None = None, pace: Pace | None = None, clock: Clock | None = None
    ) -> None:
        self.access = access
        self.state = state
        self.pace = pace if pace is not None else Pace()
        self.clock: Clock = clock if clock is not None else SystemClock()
        self._memory = Memory(state / f"{self.name}.json" if state is not None else None)
        self._loaded = False
        self._unsaved: dict[str, Any] | None = None
        self._took_s = 0.0

    @property
    def interval_s(self) -> float:
        """Seconds from one look to the next: longer while the controller is busy, or where a look costs much."""
        return self.pace.interval(self.base_s, self._took_s)

    def open(self) -> None:
        """Find out whom we speak with, and what was seen last. Raises SourceUnavailable."""
        if self.access.cluster is None:
            self.access.probe()
        if not self._loaded:
            self.recall(self._memory.load())
            self._loaded = True

    def rows(self) -> Iterator[Row]:
        """What is new. Raises SourceUnavailable."""
        self.done()
        begun = _spent_s()
        found, content = self.look(self.clock.now())
        self._took_s = _spent_s() - begun
        self._unsaved = content
        yield from found

    def done(self) -> None:
        """The rows given last are safe: remember that."""
        if self._unsaved is not None:
            self._memory.save(self._unsaved)
            self._unsaved = None

    @property
    def unsaved(self) -> dict[str, Any] | None:
        """What will be remembered once the rows given last are safe."""
        return self._unsaved

    def take_up(self, memory: dict[str, Any] | None) -> None:
        """Go on from `unsaved` of a process that died; one that is still alive has come that far itself."""
        if memory is not None:
            self._memory.save(memory)
            if not self._loaded:
                self.recall(memory)
                self._loaded = True
        self._unsaved = None

    def close(self) -> None:
        """Remember what was given."""
        try:
            self.done()
        except OSError:
            return  # the next look gives it again

    def recall(self, kept: dict[str, Any]) -> None:
        """Take up what was remembered; empty when there is nothing."""
        raise NotImplementedError

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """The new rows of a look and what to remember once they are safe. Raises SourceUnavailable."""
        raise NotImplementedError

    def signed(self, row: R) -> R:
        """The row with this source as its origin."""
        return replace(row, origin=self.origin)

    @property
    def origin(self) -> str:
        """What the rows carry as their origin."""
        return self.name


def _spent_s() -> float:
    """Processor time of this thread and of the commands that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime


_VOLATILE = frozenset({"origin", "elapsed_s", "priority"})
"""What changes while nothing happens."""
_getters: dict[type[Row], attrgetter[tuple[Any, ...]]] = {}


def digest(row: Row) -> str:
    """A short digest of what a row says, the same in every process."""
    getter = _getters.get(type(row))
    if getter is None:
        names = [c.name for c in columns(type(row)) if c.name not in _VOLATILE]
        getter = _getters[type(row)] = attrgetter(*names)
    return hashlib.blake2b(repr(getter(row)).encode("utf-8", "replace"), digest_size=9).hexdigest()
