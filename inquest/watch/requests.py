"""Who had Slurm signal a job: the controller's log tells, and nothing else does where a job lived to act on the signal.

It is read when an end is noticed, so that the verdict knows: the request stands there before the end that came of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from collector.slurm.added import MOST
from collector.sources.base import SourceUnavailable
from collector.sources.slurm_log import SlurmLog
from inquest.watch.shared import Shared
from store.rows import Row, SlurmJob, SlurmJobEvent

JOBS = 20_000
"""Jobs whose requests are remembered; those that were signalled last."""


class Requests:
    """The log's last 16 MiB at the start, and what is added."""

    def __init__(self, access: Shared, path: Path | None) -> None:
        self._path = path
        self._source = SlurmLog(access, path) if path is not None else None
        self._placed = False
        self._known: OrderedDict[str, list[SlurmJobEvent]] = OrderedDict()

    def rows(self, ended: Sequence[SlurmJob]) -> list[Row]:
        """The requests about these jobs; none where the log cannot be read, which costs the knowledge and not the verdict."""
        if self._source is None or self._path is None or not ended:
            return []
        try:
            self._read(self._source, self._path)
        except (SourceUnavailable, OSError):
            return []
        return [event for job in ended for event in self._known.get(job.job_id or "", ())]

    def _read(self, source: SlurmLog, path: Path) -> None:
        if not self._placed:
            status = path.stat()
            source.recall({"file": [status.st_dev, status.st_ino], "offset": max(0, status.st_size - MOST)})
            self._placed = True
        rows, _ = source.look(datetime.now(UTC))
        for row in rows:
            if isinstance(row, SlurmJobEvent) and row.event == "signalled" and row.job_id:
                self._known.setdefault(row.job_id, []).append(row)
                self._known.move_to_end(row.job_id)
        while len(self._known) > JOBS:
            self._known.popitem(last=False)
