"""The controller's own log, where it can be read: who asked for a job's end or change, and for whom a job had to go.

SOURCE  slurmctld's log file (SlurmctldLogFile) on its host, every 15 s: what was added since the last look, from the end at
        first; rotated files are followed. Releases 20.11 to 26.05 write these lines alike.
ROWS    slurm_job_event: signalled, preempted, updated; what the queue and accounting tell with its time is left to them.
OVERHEAD  none to the controller.
CAVEAT  times without an offset are this host's local time; attempts are not named there.

    [2026-11-21T00:53:51.123] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=4812 uid 2101
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, ClassVar

from collector.node.clock import Clock
from collector.slurm.access import SlurmAccess
from collector.slurm.pace import Pace
from collector.slurm.source import SlurmSource
from collector.sources.base import SourceUnavailable
from store.rows import Row, SlurmJobEvent

MOST = 16 << 20
"""Bytes read in one look; the rest is for the next one."""

_STAMP = re.compile(r"\[?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)\]?\s+(.*)")
_JOB = r"(?:Array)?JobId=(?P<job>\d+(?:_\d+|\+\d+)?)(?:\(\d+\))?"
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("signalled", re.compile(rf"_slurm_rpc_kill_job2?: REQUEST_KILL_JOB {_JOB} uid (?P<uid>\d+)")),
    ("preempted", re.compile(rf"preempted {_JOB} has been \w+ to reclaim resources for JobId=\S+")),
    ("updated", re.compile(rf"_slurm_rpc_update_job2?: complete {_JOB} uid=(?P<uid>\d+)")),
    ("updated", re.compile(rf"(?:sched: )?_update_job: setting [\w ]+ to \S+ for {_JOB}")),
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
        self._path = path
        self._zone = zone
        self._file: tuple[int, int] | None = None
        self._offset = 0

    def recall(self, kept: dict[str, Any]) -> None:
        """Which file was read, and how far."""
        file, offset = kept.get("file"), kept.get("offset")
        if isinstance(file, list) and isinstance(offset, int):
            device, inode = (int(n) for n in file[:2])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            self._file, self._offset = (device, inode), offset

    def look(self, now: datetime) -> tuple[list[Row], dict[str, Any]]:
        """The events of the lines that were added."""
        found: list[Row] = []
        try:
            with self._path.open("rb") as log:
                status = os.fstat(log.fileno())
                file = (status.st_dev, status.st_ino)
                if self._file is None:
                    self._offset = status.st_size  # the past is accounting's
                elif file != self._file:
                    found += self._events(self._rest_of_rotated())
                    self._offset = 0
                elif status.st_size < self._offset:
                    self._offset = 0  # truncated in place
                self._file = file
                log.seek(self._offset)
                added = log.read(MOST)
        except OSError as error:
            raise SourceUnavailable(
                f"{self._path}: {error.strerror}", f"setfacl -m u:$USER:r {self._path} (on slurmctld's host)"
            ) from error
        end = added.rfind(b"\n") + 1
        if not end and len(added) == MOST:
            end = MOST  # a line of 16 MiB is none
        found += self._events(added[:end])
        self._offset += end
        return found, {"file": list(self._file), "offset": self._offset}

    def _rest_of_rotated(self) -> bytes:
        """What was written to the old file after our last look, if it lies beside the new one."""
        for path in sorted(self._path.parent.glob(f"{self._path.name}?*")):
            try:
                status = path.stat()
                if (status.st_dev, status.st_ino) == self._file:
                    with path.open("rb") as old:
                        old.seek(self._offset)
                        return old.read(MOST)
            except OSError:
                continue
        return b""

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
                    yield SlurmJobEvent(
                        cluster=self.access.cluster,
                        ts=self._moment(stamped.group(1)),
                        origin=self.name,
                        job_id=told.group("job"),
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
