"""Jobs that slurmctld says it cancels: no epilog tells of those that never ran, and the next poll may be ten seconds away.

Only where the controller's log can be read, on its host. A line is a hint to look the job up soon, and nothing more: a request to
kill may be a mere signal, or of a job that takes its time to end, of which the epilog tells. Of a task that no look at the queue saw
wait the request alone says that there was one.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from collector.slurm.added import LogFile
from collector.slurm.arrays import named
from store import lazy

LOOK_S = 0.5
KEEP_S = 5.0
"""For so long after its line a job is looked up: accounting has the end of one that never ran within a second or two."""
MOST = 200
"""Jobs looked up at a time; of a whole queue that is cancelled the poll finds the rest."""
_LINE = lazy.compile(rb"(?:REQUEST_KILL_JOB|[Cc]ancell?ing|[Dd]eadline)\b[^\n]*?\bJobId=(\d+)(_?)")


_RPC = rb"^\[[^\]]*\] _slurm_rpc_kill_job: "
_TASKS = rb"JobId=(\d+_(?:\d+|\[[\d,:-]+\]))"
_REQUEST = lazy.compile(_RPC + rb"REQUEST_KILL_JOB " + _TASKS)
_FAILED = lazy.compile(_RPC + rb"job_str_signal\(\) uid=\d+ " + _TASKS + rb" sig=\d+ returned: ")
"""SOURCE: _slurm_rpc_kill_job in Slurm's slurmctld/proc_req.c, which logs the request, and then its error where it came to nothing."""
REMEMBER_S = 60.0
"""For so long a look at the queue may conclude from the request that a task which it does not hold was taken out."""


class Cancels:
    """Reads what is added to slurmctld's log from the start of the watcher on."""

    def __init__(self, log: Path | None) -> None:
        self._log = LogFile(log) if log is not None else None
        self._looked = float("-inf")
        self._known: dict[str, float] = {}
        self.named: dict[str, float] = {}
        """Tasks of arrays that somebody asked to cancel, by id, with when that was on the clock of `time.time`; replaced, never changed."""
        self.of_tasks = False
        """Whether the last look read of an array's tasks: one that waits with others may leave no record but the queue's."""

    def look(self) -> dict[str, float]:
        """Raw ids of jobs, or of their arrays, that were told a moment ago, with when that was on the clock of `time.time`."""
        now = time.time()
        self.of_tasks = False
        if self._log is not None and abs(now - self._looked) >= LOOK_S:
            self._looked = now
            with suppress(OSError):  # it is a hint: without the log the poll finds the job
                added = self._log.added()
                for raw, of_task in _LINE.findall(added):
                    self._known.setdefault(raw.decode(), now)
                    self.of_tasks |= bool(of_task)
                self._name(added, now)
        self._known = {raw: at for raw, at in self._known.items() if abs(now - at) < KEEP_S}
        return dict(list(self._known.items())[-MOST:])

    def _name(self, added: bytes, now: float) -> None:
        asked: dict[str, float] = {}
        for line in added.splitlines() if self.of_tasks else ():
            if (request := _REQUEST.match(line)) is not None:
                asked |= dict.fromkeys(named(request[1].decode()), now)
            elif (failed := _FAILED.match(line)) is not None:  # of a task that never was, or is no more
                ids = named(failed[1].decode())
                asked = {job: at for job, at in asked.items() if job not in ids}
        kept = {job: at for job, at in self.named.items() if abs(now - at) < REMEMBER_S}
        if asked or len(kept) < len(self.named):
            self.named = {**asked, **kept}

    def done(self, raws: Collection[str]) -> None:
        """Forget jobs whose end is noted."""
        for raw in raws:
            self._known.pop(raw, None)
