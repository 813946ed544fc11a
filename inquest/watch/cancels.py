"""Jobs that slurmctld says it cancels: no epilog tells of those that never ran, and the next poll may be ten seconds away.

Only where the controller's log can be read, on its host. A line is a hint to look the job up soon, and nothing more: a request to
kill may be a mere signal, or of a job that takes its time to end, of which the epilog tells.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from collector.slurm.added import LogFile

LOOK_S = 0.5
KEEP_S = 5.0
"""For so long after its line a job is looked up: accounting has the end of one that never ran within a second or two."""
MOST = 200
"""Jobs looked up at a time; of a whole queue that is cancelled the poll finds the rest."""
_LINE = re.compile(rb"(?:REQUEST_KILL_JOB|[Cc]ancell?ing|[Dd]eadline)\b[^\n]*?\bJobId=(\d+)(_?)")


class Cancels:
    """Reads what is added to slurmctld's log from the start of the watcher on."""

    def __init__(self, log: Path | None) -> None:
        self._log = LogFile(log) if log is not None else None
        self._looked = float("-inf")
        self._known: dict[str, float] = {}
        self.of_tasks = False
        """Whether the last look read of an array's tasks: one that waits with others may leave no record but the queue's."""

    def look(self) -> dict[str, float]:
        """Raw ids of jobs, or of their arrays, that were told a moment ago, with when that was on the clock of `time.time`."""
        now = time.time()
        self.of_tasks = False
        if self._log is not None and abs(now - self._looked) >= LOOK_S:
            self._looked = now
            with suppress(OSError):  # it is a hint: without the log the poll finds the job
                for raw, of_task in _LINE.findall(self._log.added()):
                    self._known.setdefault(raw.decode(), now)
                    self.of_tasks |= bool(of_task)
        self._known = {raw: at for raw, at in self._known.items() if abs(now - at) < KEEP_S}
        return dict(list(self._known.items())[-MOST:])

    def done(self, raws: Collection[str]) -> None:
        """Forget jobs whose end is noted."""
        for raw in raws:
            self._known.pop(raw, None)
