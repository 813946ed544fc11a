"""A cluster under a new name: whose state its watcher goes on with, and what its controller alone tells.

slurmdbd keeps the jobs of each name apart. After a rename slurmctld goes on with the jobs that it has, and what it tells of
them reaches the new name's table under the row numbers of the old one's (seen on 22.05): of a job that was there before
accounting never tells the end, and may tell that end of another job. So as long as the controller holds jobs from before, its
word counts for more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from inquest.watch.attempt import ENDED, read
from inquest.watch.shared import Shared
from inquest.watch.state import State, folder_of
from store import Reader
from store.result import StoreError
from store.rows import Row, SlurmJob
from store.rows.base import JobRow

LOOK_S = 2.0
"""How old the controller's word may be."""
MET_LATE = timedelta(hours=1)
"""So long after the rename at the latest it is met: a watcher restarts within seconds."""
FEDERATED = 1 << 26
"""Job ids from here on are of a federation, whose clusters share them."""
NAME, NEXT, SINCE = "name", "renamed to", "renamed"
"""Marks: the name that keys are made of, the name that was met, and when."""


def home(top: Path, access: Shared) -> Path:
    """The state folder of this cluster's watchers: that of its former name where it was renamed. Raises SourceUnavailable."""
    own = folder_of(top, access.cluster)
    if (own / "watch.sqlite").exists():
        _note(own, None)
        return own
    others = [p.parent for p in sorted(top.glob("*/watch.sqlite"))]
    if not others:
        return own
    queue = list(access.recent(LOOK_S))
    for folder in others:
        if _mark(folder, NEXT) == access.cluster:
            return folder
    for folder in others:
        if _has_seen(folder, queue):
            _note(folder, access.cluster)
            return folder
    return own


def met(state: State, other: str) -> None:
    """Note that the cluster is called so now."""
    state.set_mark(NEXT, other)
    state.set_mark(SINCE, datetime.now(UTC).isoformat())


class Records:
    """Accounting's rows, put right by the controller's for as long as it holds jobs from before the rename."""

    def __init__(self, access: Shared, state: State, lake: Path) -> None:
        self._access = access
        self._state = state
        self._lake = lake
        self._cuts: dict[tuple[str | None, int], list[Row]] = {}

    def right(self, rows: Sequence[Row], only: Iterable[str] | None = None) -> list[Row]:
        """The rows as they should be; `only` are the jobs that were asked for. Raises SourceUnavailable."""
        since = self._state.mark(SINCE)
        if since is None:
            return list(rows)
        before = datetime.fromisoformat(since)
        queue = self._access.recent(LOOK_S)
        if not any(j.submit_ts is not None and j.submit_ts < before for j in queue):
            self._state.unmark(SINCE)
            return list(rows)
        wanted = None if only is None else set(only)
        held = {j.job_id: j for j in queue if j.job_id and (wanted is None or wanted & {j.job_id, j.job_id_raw})}
        rows = _numbered(rows, held)
        wrong: set[tuple[str | None, int]] = set()
        told: set[str | None] = set()
        for row in rows:
            now = held.get(row.job_id or "") if isinstance(row, SlurmJob) else None
            if not isinstance(row, SlurmJob) or now is None or row.submit_ts != now.submit_ts:
                continue
            over, ended = row.state in ENDED, now.state in ENDED
            if (over == ended and row.end_ts == now.end_ts) or (not over and _since(now, before)):
                told.add(row.job_id)  # they agree, or accounting is a moment behind as ever
            else:
                wrong.add((row.job_id, row.attempt or 1))
        doubted = {job for job, _ in wrong}
        good = [r for r in rows if (getattr(r, "job_id", None), getattr(r, "attempt", None) or 1) not in wrong]
        for job in held.values():
            if job.state in ENDED and (job.job_id in doubted or (job.job_id not in told and not _since(job, before))):
                good.append(job)
            key = (job.job_id, job.attempt or 1)
            if key[1] > 1 and _since(job, before - MET_LATE):
                if key not in self._cuts:
                    self._cuts[key] = self._cut(job, key[1] - 1)
                good += self._cuts[key]
        return good

    def _cut(self, job: SlurmJob, number: int) -> list[Row]:
        """The run before this one where the lake has its beginning and nobody its end: it went back to the queue."""
        if job.submit_ts is None or not (self._lake / "lake.json").exists():
            return []
        try:
            with Reader(self._lake) as reader:
                known = reader.ask("job_attempts", job_id=job.job_id, attempt=number).dicts()
        except StoreError:
            return []
        for row in known:
            start = row["start_ts"] and datetime.fromisoformat(str(row["start_ts"]))
            if row["end_ts"] is None and isinstance(start, datetime) and start <= job.submit_ts:
                submit = row["submit_ts"] and datetime.fromisoformat(str(row["submit_ts"]))
                cut = replace(job, attempt=number, state="REQUEUED", state_reason=None, state_flags=None)
                cut = replace(cut, ts=job.submit_ts, start_ts=start, end_ts=job.submit_ts, submit_ts=submit or None)
                nodes = row["node_list"] and str(row["node_list"])
                run_s = (job.submit_ts - start).total_seconds()
                return [replace(cut, restarts=number - 1, node_list=nodes, elapsed_s=run_s, exit_code=None)]
        return []


def _numbered(rows: Sequence[Row], held: Mapping[str, SlurmJob]) -> list[Row]:
    """With the controller's numbers of attempts: accounting counts those that it has under this name."""
    more: dict[str | None, int] = {}
    for row in rows:
        now = held.get(row.job_id or "") if isinstance(row, SlurmJob) else None
        if isinstance(row, SlurmJob) and now is not None and row.submit_ts == now.submit_ts:
            more[row.job_id] = (now.attempt or 1) - (row.attempt or 1)
    return [
        replace(row, attempt=(row.attempt or 1) + more[row.job_id]) if isinstance(row, JobRow) and more.get(row.job_id) else row
        for row in rows
    ]  # fmt: skip


def _has_seen(folder: Path, queue: Sequence[SlurmJob]) -> bool:
    """Whether the state knows one of these jobs: the same controller goes on."""
    mine = {(j.job_id, j.submit_ts) for j in queue if (j.job_id_raw or "").isdigit() and _own(j)}
    state = State(folder)
    try:
        specs = [read(str(spec)) for (spec,) in state.ask("SELECT spec FROM attempt ORDER BY seen DESC LIMIT 20000")]
    finally:
        state.close()
    return any((a.job_id, a.submit_ts and datetime.fromisoformat(a.submit_ts)) in mine for a in specs)


def _since(job: SlurmJob, moment: datetime) -> bool:
    return job.submit_ts is not None and job.submit_ts >= moment


def _own(job: SlurmJob) -> bool:
    return job.submit_ts is not None and int(job.job_id_raw or 0) < FEDERATED


def _mark(folder: Path, name: str) -> str | None:
    try:
        state = State(folder)
    except sqlite3.Error:
        return None
    try:
        return state.mark(name)
    finally:
        state.close()


def _note(folder: Path, other: str | None) -> None:
    """Note the new name, or that the old one holds."""
    state = State(folder)
    try:
        if other is not None:
            met(state, other)
        elif state.mark(NEXT) is not None:
            state.unmark(NEXT)
    finally:
        state.close()
