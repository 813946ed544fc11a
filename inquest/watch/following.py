"""Follows the cluster while the watcher runs: the queue, the nodes and the controller's health, into the lake.

Of several watchers one follows. Accounting is not among it: noticing reads that. A kill neither loses nor doubles what a
look gave (`collector/slurm/keep.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from collector.slurm.access import SlurmAccess
from collector.slurm.driver import Driver
from collector.slurm.follow import follow
from inquest.watch.teller import say
from store import Writer
from store.lake import locked
from store.rows import SlurmJob

RETRY_S = 15.0
HURRY_S = 5.0


class Following:
    """A thread that drives the sources while no other watcher does."""

    def __init__(
        self,
        access: SlurmAccess,
        lake: Path,
        folder: Path,
        taken_out: Callable[[Sequence[SlurmJob]], None] = lambda _: None,
        asked: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._folder = folder
        found = follow(access, folder / "slurm")
        found.queue.taken_out, found.queue.asked = taken_out, asked
        self._hurried = float("-inf")
        self._driver = Driver((found.queue, found.nodes, found.controller), Writer(lake), say)
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

    def hurry(self) -> None:
        """Look at the queue soon: something has happened of which only that tells. Not for each of a hundred such things."""
        now = time.monotonic()
        self._hurried = max(now, self._hurried + HURRY_S) if self._hurried <= now else self._hurried
        self._driver.hurry("slurm_queue", self._hurried)

    def turn(self) -> int:
        """Ask the sources that are due; gives how many rows they told."""
        return self._driver.turn()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                with locked(self._folder / "follow.lock", wait=False) as ours:
                    if ours:
                        self._driver.run(self._stop)
            except Exception as error:  # the lake is away, a disk is full: later again
                say(f"following: {type(error).__name__}: {error}")
            self._stop.wait(RETRY_S)
