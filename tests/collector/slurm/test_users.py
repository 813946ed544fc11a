"""Who cancelled a job is told by name where the host knows the number."""

from __future__ import annotations

import pwd

import pytest

from collector.slurm.users import named
from store.rows import Row, SlurmJob, SlurmNodeState, SlurmStep


@pytest.mark.parametrize("row", [SlurmJob(job_id="7", cancelled_by="0"), SlurmStep(job_id="7", cancelled_by="0")])
def test_a_number_of_this_host_is_a_name(row: Row) -> None:
    assert getattr(named(row), "cancelled_by") == pwd.getpwuid(0).pw_name  # noqa: B009


@pytest.mark.parametrize("who", [None, "olga", "4294967294", "99999999999999999999", ""])
def test_what_is_no_number_of_this_host_stays(who: str | None) -> None:
    row = SlurmJob(job_id="7", cancelled_by=who)
    assert named(row) is row


def test_other_rows_stay() -> None:
    row = SlurmNodeState(node="n1", state="DOWN")
    assert named(row) is row
