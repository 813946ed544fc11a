"""What happened to a job between two looks at the controller: a pure function of what was known and what is seen now.

Times that Slurm wrote down (submit, eligible, start, suspend, end) are taken from the record; what has no time there (a new
pending reason, a changed limit) happened between the look before and this one, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from collector.formats.job_events import job_events
from collector.formats.slurm_values import ENDED
from store.rows import SlurmJob, SlurmJobEvent

WATCHED = ("time_limit_s", "partition", "qos", "account", "dependency", "name", "gpus", "memory_bytes", "node_count")
"""Columns whose change is an update; what the scheduler itself changes (priority, nodes at the start) is none."""
_AT_START = frozenset({"gpus", "memory_bytes", "node_count"})
_SHOWN_IN = {
    "submitted": frozenset({"PENDING"}),
    "eligible": frozenset({"PENDING"}),
    "started": frozenset({"RUNNING", "SUSPENDED", "COMPLETING"}),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last look knew of a job: enough to tell what changed. `told` are the events already given (name@time)."""

    attempt: int
    state: str | None
    reason: str | None
    watched: tuple[Any, ...]
    told: tuple[str, ...] = ()
    digest: str = ""

    def kept(self) -> list[Any]:
        """For JSON."""
        return [self.attempt, self.state, self.reason, list(self.watched), list(self.told), self.digest]

    @staticmethod
    def of(kept: list[Any]) -> Seen:
        """From JSON. Raises TypeError or ValueError when it is something else."""
        attempt, state, reason, watched, told, digest = kept
        return Seen(int(attempt), state, reason, tuple(watched), tuple(told), str(digest))


def step(
    before: Seen | None, job: SlurmJob, looked: datetime, last_look: datetime | None
) -> tuple[list[SlurmJobEvent], Seen]:
    """The events since the look before, in order of time, and what to remember."""
    attempt = job.attempt or 1
    same = before if before is not None and before.attempt == attempt else None
    events = list(_requeued(before, job)) if before is not None and same is None else []
    events += _recorded(job, looked)
    events += _missed(same, job)
    events += _polled(same, job, looked, last_look)
    told = set(same.told) if same is not None else set[str]()
    fresh = [e for e in events if _name(e) not in told]
    names = tuple(sorted({_name(e) for e in events if e.event in _LASTING} | (told & {_name(e) for e in events})))
    known = Seen(attempt, job.state, job.state_reason, tuple(getattr(job, c) for c in WATCHED), names)
    fresh.sort(key=lambda e: (e.ts is None, e.ts or looked))
    return fresh, known


_LASTING = frozenset({"submitted", "eligible", "started", "ended", "node_fail", "preempted", "suspended", "resumed"})


def _name(event: SlurmJobEvent) -> str:
    return f"{event.event}@{int(event.ts.timestamp()) if event.ts else ''}"


def _recorded(job: SlurmJob, looked: datetime) -> Iterator[SlurmJobEvent]:
    """What the record tells with its time; a plan (an eligible time to come) is not yet an event."""
    for event in job_events(job):
        if event.event == "requeued":
            continue  # the next attempt tells when
        if event.ts is not None and event.ts > looked:
            continue
        shown = _SHOWN_IN.get(event.event or "", ENDED)
        yield replace(event, observed=job.state in shown)
    if job.suspend_ts is not None and job.start_ts is not None and job.suspend_ts >= job.start_ts:
        suspended = job.state == "SUSPENDED"
        if suspended or job.state in ("RUNNING", "COMPLETING"):
            yield _event(job, "suspended" if suspended else "resumed", job.suspend_ts, "recorded")


def _missed(same: Seen | None, job: SlurmJob) -> Iterator[SlurmJobEvent]:
    """A job that was suspended at the look before and has ended since: the record's later time is that of its resumption."""
    if same is None or same.state != "SUSPENDED" or job.state not in ENDED or job.suspend_ts is None:
        return
    event = replace(_event(job, "resumed", job.suspend_ts, "recorded", state="RUNNING"), observed=False, reason=None)
    if f"suspended@{int(job.suspend_ts.timestamp())}" not in same.told:
        yield event


def _requeued(before: Seen, job: SlurmJob) -> Iterator[SlurmJobEvent]:
    """A higher attempt: the one before went back to the queue when this one was submitted."""
    if (job.attempt or 1) > before.attempt:
        event = _event(job, "requeued", job.submit_ts, "recorded", state="PENDING")
        yield replace(event, attempt=(job.attempt or 1) - 1, message=f"restarts: {job.restarts}")


def _polled(same: Seen | None, job: SlurmJob, looked: datetime, last_look: datetime | None) -> Iterator[SlurmJobEvent]:
    earliest = max((t for t in (last_look, job.submit_ts) if t is not None), default=None)
    waits = job.state == "PENDING" and job.state_reason is not None
    if waits and (same is None or same.state != "PENDING" or same.reason != job.state_reason):
        event = _event(job, "blocked", looked, "polled")
        yield replace(event, earliest_ts=earliest, message=job.dependency)
    if same is None or same.state in ENDED:
        return
    started = same.state == "PENDING" and job.state != "PENDING"
    changes = [
        f"{column}: {was} -> {now}"
        for column, was in zip(WATCHED, same.watched, strict=False)
        if (now := getattr(job, column)) != was
        and not (started and column in _AT_START)
        and not (column == "dependency" and now is None)  # it was met
    ]
    if changes:
        event = _event(job, "updated", looked, "polled")
        yield replace(event, earliest_ts=earliest, message="; ".join(changes))


def cancelled(job: SlurmJob, looked: datetime, last_look: datetime | None) -> SlurmJobEvent:
    """The end of a task that was taken out of its array's record between two looks."""
    event = _event(job, "ended", looked, "polled")
    return replace(event, earliest_ts=last_look, observed=False, message="taken out of its array's waiting tasks")


def _event(job: SlurmJob, event: str, ts: datetime | None, basis: str, state: str | None = None) -> SlurmJobEvent:
    return SlurmJobEvent(
        cluster=job.cluster,
        ts=ts,
        origin=job.origin,
        job_id=job.job_id,
        attempt=job.attempt,
        event=event,
        state=state or job.state,
        reason=job.state_reason,
        observed=True,
        time_basis=basis,
    )
