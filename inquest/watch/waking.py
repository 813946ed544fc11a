"""Has the nodes of a job that a warning is about keep their present minutes in full: their collectors find a file in the lake.

In a thread of its own, and given up after a minute: a lake that hangs keeps no warning and no verdict waiting, and what comes
later than the collectors' memory reaches is of no use.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from collector.formats.hostlist import HostListError, expand
from inquest.watch.attempt import Attempt
from inquest.watch.teller import say
from store import triggers
from store.lake import Lake
from store.result import StoreError

LATE_S = 60.0


class Waking:
    """Leaves the requests."""

    def __init__(self, lake: Path) -> None:
        self._lake = Lake(lake)
        self._due: queue.Queue[tuple[float, Attempt, tuple[str, ...]]] = queue.Queue(64)
        self._thread: threading.Thread | None = None

    def ask(self, attempt: Attempt, kinds: Sequence[str]) -> None:
        """Ask the job's nodes, soon; never waits."""
        try:
            self._due.put_nowait((time.monotonic(), attempt, tuple(kinds)))
        except queue.Full:  # the lake hangs
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="waking", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Until all that was asked for is left."""
        self._due.join()

    def _serve(self) -> None:
        while True:
            since, attempt, kinds = self._due.get()
            try:
                self._leave(since, attempt, kinds)
            except (OSError, StoreError, HostListError) as error:
                say(f"job {attempt.job_id}: its nodes could not be asked to keep these minutes in full: {error}")
            finally:
                self._due.task_done()

    def _leave(self, since: float, attempt: Attempt, kinds: Sequence[str]) -> None:
        for node in expand(attempt.nodes or ""):
            if time.monotonic() - since > LATE_S:
                say(f"job {attempt.job_id}: not all of its nodes were asked to keep these minutes in full")
                return
            triggers.put(self._lake, node, attempt.job_id, kinds)
