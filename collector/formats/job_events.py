"""What happened to a job in the scheduler's eyes, told from one accounting record of one attempt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from collector.formats.slurm_values import AGAIN, ENDED
from store.rows import SlurmJob, SlurmJobEvent

REMEMBERED = timedelta(days=1)
"""How long after its end a job can be sent back at most: while the controller remembers it (MinJobAge, 300 s unless told otherwise)."""
_CAUSES = {"PREEMPTED": "preempted", "NODE_FAIL": "node_fail"}


def job_events(job: SlurmJob, requeued_at: datetime | None = None, again: bool = False) -> Iterator[SlurmJobEvent]:
    """The events of one attempt in order of time, none of them observed.

    `again` says that a later attempt of the same job exists; `requeued_at` is when it was submitted.
    """
    if job.submit_ts is not None:
        yield _event(job, "submitted", job.submit_ts, "PENDING")
    if job.eligible_ts is not None:
        yield _event(job, "eligible", job.eligible_ts, "PENDING")
    if job.start_ts is not None:
        yield _event(job, "started", job.start_ts, "RUNNING")
    ended = job.end_ts if job.state in ENDED else None
    if job.state in ENDED:
        cause = _CAUSES.get(job.state or "")
        if cause is not None:
            yield _event(job, cause, ended, job.state, reason=job.failed_node or job.state_reason)
        yield _event(job, "ended", ended, job.state, reason=job.state_reason, actor=job.cancelled_by)
    sent_back = "REQUEUED" in (job.state, *(job.state_flags or "").split(","))
    if sent_back or (again and not _given_again(job, requeued_at)):
        yield _event(job, "requeued", requeued_at or ended, "PENDING", reason=job.state_reason)


def _given_again(job: SlurmJob, submitted: datetime | None) -> bool:
    """Whether a record that was submitted then is of another job, to which the same id was given: no controller remembers one so long."""
    over = job.end_ts if job.state in ENDED and job.state not in AGAIN else None
    return over is not None and submitted is not None and submitted > over + REMEMBERED


def resize_event(job: SlurmJob) -> SlurmJobEvent:
    """A resize closes one record and opens the next; the run goes on."""
    return _event(job, "updated", job.end_ts, "RUNNING", reason="resized")


def restart_event(job: SlurmJob) -> SlurmJobEvent | None:
    """The last requeue before this attempt, where only the number of restarts tells of it."""
    if not job.restarts or (job.attempt or 1) < 2:
        return None
    text = f"restarts: {job.restarts}"
    return SlurmJobEvent(
        cluster=job.cluster,
        ts=job.submit_ts,
        origin=job.origin,
        job_id=job.job_id,
        attempt=(job.attempt or 2) - 1,
        event="requeued",
        state="PENDING",
        observed=False,
        message=text,
    )


def _event(
    job: SlurmJob,
    event: str,
    ts: datetime | None,
    state: str | None,
    reason: str | None = None,
    actor: str | None = None,
) -> SlurmJobEvent:
    return SlurmJobEvent(
        cluster=job.cluster,
        node=None,
        ts=ts,
        origin=job.origin,
        job_id=job.job_id,
        attempt=job.attempt,
        event=event,
        state=state,
        reason=reason,
        actor=actor,
        observed=False,
        time_basis="recorded" if ts is not None else None,
    )
