"""Whether the controller has had its say on a job that has ended: a look that does not tell of it will not do so later, either.

Several parts of the watcher look at the queue for reasons of their own, and each spares the controller the next look for a while. Were
a job to wait for a look of one part's own, those of the others could put that off for good.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime

RUNS = 20_000
"""Runs that are remembered; the controller remembers a job for MinJobAge, 300 s unless told otherwise."""

Run = tuple[str | None, datetime | None]
"""A job and when its run began."""


class Answered:
    """Since when each run has been asked about, on the monotonic clock; those that were asked about last."""

    def __init__(self) -> None:
        self._since: OrderedDict[Run, float] = OrderedDict()

    def lacking(self, runs: Iterable[Run], now: float, looked: float) -> set[Run]:
        """Those of which no look has told that began (`looked` is the latest) after they were first asked about."""
        found = {run for run in runs if looked <= self._since.setdefault(run, now)}
        while len(self._since) > RUNS:
            self._since.popitem(last=False)
        return found
