"""Follows the cluster while the watcher runs: the queue, the nodes and the controller's health, into the lake.

Of several watchers one follows. Accounting is not among it: noticing reads that. A kill neither loses nor doubles what a
look gave (`collector/slurm/keep.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from collector.slurm.access import SlurmAccess
from collector.slurm.follow import follow
from collector.slurm.keep import keep
from collector.slurm.source import SlurmSource
from collector.sources.base import SourceUnavailable
from inquest.watch.teller import say
from store import Writer
from store.lake import locked

TICK_S = 1.0
RETRY_S = 60.0


class Following:
    """A thread that asks the sources when they want to be asked."""

    def __init__(self, access: SlurmAccess, lake: Path, folder: Path) -> None:
        self._folder = folder
        self._writer = Writer(lake)
        found = follow(access, folder / "slurm")
        self._sources: Sequence[SlurmSource] = (found.queue, found.nodes, found.controller)
        self._due = dict.fromkeys((s.name for s in self._sources), 0.0)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._serve, name="following", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the look at hand."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)

    def turn(self) -> int:
        """Ask the sources that are due; gives how many rows they told."""
        told = 0
        for source in self._sources:
            if not self._stop.is_set() and time.monotonic() >= self._due[source.name]:
                told += self._look(source)
        return told

    def _look(self, source: SlurmSource) -> int:
        try:
            published = keep(self._writer, source)
        except SourceUnavailable as error:
            say(f"{source.name}: {error.reason}" + (f" (try: {error.remedy})" if error.remedy else ""))
            self._due[source.name] = time.monotonic() + RETRY_S
            return 0
        self._due[source.name] = time.monotonic() + source.interval_s
        return sum(published.rows.values()) if published is not None else 0

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                with locked(self._folder / "follow.lock", wait=False) as ours:
                    while ours and not self._stop.is_set():
                        self.turn()
                        self._stop.wait(TICK_S)
            except Exception as error:  # the lake is away, a disk is full: later again
                say(f"following: {type(error).__name__}: {error}")
            self._stop.wait(RETRY_S / 4)
        for source in self._sources:
            source.close()
