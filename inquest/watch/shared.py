"""One way into Slurm for all parts of the watcher: what one of them learns of the queue, the others need not ask for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar

from collector.slurm.access import Calls, SlurmAccess
from store.rows import Row, SlurmJob


class Shared:
    """An access that passes on to another and remembers the last queue. `learn` is called with each new one."""

    name: ClassVar[str] = "shared"

    def __init__(self, access: SlurmAccess) -> None:
        self._access = access
        self._turn = threading.Lock()
        self._queue: list[SlurmJob] = []
        self._at = float("-inf")
        self.learn: list[Callable[[list[SlurmJob]], None]] = []

    def recent(self, age_s: float) -> list[SlurmJob]:
        """The queue, at most so old. Raises SourceUnavailable."""
        if time.monotonic() - self._at > age_s:
            list(self.queue())
        return self._queue

    @property
    def looked(self) -> float:
        """When the last look at the queue began, on the monotonic clock."""
        return self._at

    def queue(self) -> Iterator[Row]:
        """The queue now."""
        begun = time.monotonic()
        rows = list(self._access.queue())
        with self._turn:
            self._queue, self._at = [r for r in rows if isinstance(r, SlurmJob)], begun
        for learn in self.learn:
            learn(self._queue)
        return iter(rows)

    @property
    def cluster(self) -> str | None:
        """The cluster's name."""
        return self._access.cluster

    @property
    def release(self) -> tuple[int, int]:
        """Slurm's release."""
        return self._access.release

    @property
    def calls(self) -> Calls:
        """What was asked so far."""
        return self._access.calls

    def probe(self) -> None:
        """Does it work?"""
        self._access.probe()

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """Attempts with their steps and events."""
        return self._access.accounting(since, until, job_ids)

    def nodes(self) -> Iterator[Row]:
        """The nodes as they are now."""
        return self._access.nodes()

    def node_events(self, since: datetime) -> Iterator[Row]:
        """Intervals in which a node was down or drained."""
        return self._access.node_events(since)

    def controller(self) -> Iterator[Row]:
        """The controller's own health."""
        return self._access.controller()

    def set_comment(self, job_id: str, text: str) -> None:
        """Write the job's comment."""
        self._access.set_comment(job_id, text)
