"""What one accounting record tells of an attempt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from collector.formats.job_events import job_events
from store.rows import SlurmJob

T = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "after", "told"),
    [
        ("FAILED", timedelta(minutes=2), True),
        ("FAILED", timedelta(days=400), False),
        ("NODE_FAIL", timedelta(days=3), True),
        ("REQUEUED", timedelta(days=3), True),
    ],
)
def test_a_later_record_is_a_requeue_as_long_as_the_controller_may_remember_the_job(
    state: str, after: timedelta, told: bool
) -> None:
    """Ids wrap at MaxJobId: then the later record is another job's. One that was sent back may be held for days."""
    job = SlurmJob(job_id="4812", state=state, submit_ts=T, start_ts=T, end_ts=T)
    events = [e.event for e in job_events(job, T + after, again=True)]
    assert ("requeued" in events) is told
