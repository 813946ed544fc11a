"""The controller's own log, where it can be read: who asked for a job's end or change, and for whom a job had to go.

SOURCE  slurmctld's log file (SlurmctldLogFile) on its host, every 15 s: what was added since the last look, from the end at
        first; rotated files are followed. Releases 20.11 to 26.05 write these lines alike.
ROWS    slurm_job_event: signalled, preempted, updated; what the queue and accounting tell with its time is left to them.
OVERHEAD  none to the controller.
CAVEAT  times without an offset are this host's local time; attempts are not named there.

    [2026-11-21T00:53:51.123] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=4812 uid 2101
    [2026-11-21T00:53:52.040] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=4813_[3-5,9] uid 2101
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, ClassVar

from collector.node.clock import Clock
from collector.slurm.access import SlurmAccess
from collector.slurm.added import LogFile
from collector.slurm.arrays import named
from collector.slurm.pace import Pace
from collector.slurm.source import SlurmSource
from collector.sources.base import SourceUnavailable
from store import lazy
from store.rows import Row, SlurmJobEvent

_STAMP = lazy.compile(r"\[?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)\]?\s+(.*)")
_JOB = r"(?:Array)?JobId=(?P<job>\d+(?:_\d+|_\[[\d,:-]+\]|\+\d+)?)(?:\(\d+\))?"
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("signalled", lazy.compile(rf"_slurm_rpc_kill_job2?: REQUEST_KILL_JOB {_JOB} uid (?P<uid>\d+)")),
    ("preempted", lazy.compile(rf"preempted {_JOB} has been \w+ to reclaim resources for JobId=\S+")),
    ("updated", lazy.compile(rf"_slurm_rpc_update_job2?: complete {_JOB} uid=(?P<uid>\d+)")),
    ("updated", lazy.compile(rf"(?:sched: )?_update_job: setting [\w ]+ to \S+ for {_JOB}")),
)


class SlurmLog(SlurmSource):
    """Follows the file `path`. `zone` is that of times without an offset (this host's)."""

    name: ClassVar[str] = "slurm_log"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job_event",)
    base_s = 15.0

    def __init__(
        self,
        access: SlurmAccess,
        path: Path,
        state: Path | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        super().__init__(access, state, pace, clock)
        self._log = LogFile(path)
        self._zone = zone

    def recall(self, kept: dict[str, Any]) -> None:
        """Which file was read, and how far."""
        file, offset = kept.get("file"), kept.get("offset")
        if isinstance(file, list) and isinstance(offset, int):
            device, inode = (int(n) for n in file[:2])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            self._log.file, self._log.offset = (device, inode), offset

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """The events of the lines that were added."""
        try:
            added = self._log.added()
        except OSError as error:
            path = self._log.path
            raise SourceUnavailable(
                f"{path}: {error.strerror}", f"setfacl -m u:$USER:r {path} (on slurmctld's host)"
            ) from error
        return list(self._events(added)), {"file": list(self._log.file or ()), "offset": self._log.offset}

    def _events(self, raw: bytes) -> Iterator[Row]:
        for line in raw.decode("utf-8", "replace").splitlines():
            if "JobId=" not in line:
                continue
            stamped = _STAMP.match(line)
            if stamped is None:
                continue
            for event, pattern in _LINES:
                told = pattern.match(stamped.group(2))
                if told is not None:
                    for job in named(told.group("job")):
                        yield SlurmJobEvent(
                            cluster=self.access.cluster,
                            ts=self._moment(stamped.group(1)),
                            origin=self.name,
                            job_id=job,
                            event=event,
                            actor=told.groupdict().get("uid"),
                            observed=True,
                            message=stamped.group(2)[:300],
                            time_basis="recorded",
                        )
                    break

    def _moment(self, text: str) -> datetime | None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        if moment.tzinfo is None and self._zone is not None:
            moment = moment.replace(tzinfo=self._zone)
        return moment.astimezone(UTC)
