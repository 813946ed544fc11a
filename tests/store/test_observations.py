"""Several rows that tell of one thing read as one: the latest word on each column."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from store import Reader, Writer, free_sql
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmNodeState

DAY = datetime(2026, 3, 1, 10, tzinfo=UTC)


def asked(lake: Path, sql: str) -> list[tuple[object, ...]]:
    return list(free_sql.run(lake, sql).rows)


def filled(lake: Path, *batches: list[Row]) -> Path:
    for number, rows in enumerate(batches):
        Writer(lake).append(rows, batch=f"b{number}")
    return lake


def test_a_running_job_that_ended_is_one_row_with_what_either_row_knew(tmp_path: Path) -> None:
    lake = filled(
        tmp_path / "lake",
        [SlurmJob(job_id="7", attempt=1, ts=DAY, state="RUNNING", restarts=2, origin="a")],
        [SlurmJob(job_id="7", attempt=1, ts=DAY.replace(hour=11), state="FAILED", exit_code=1, origin="b")],
    )
    assert asked(lake, "SELECT state, exit_code, restarts FROM slurm_job") == [("FAILED", 1, 2)]


def test_attempts_and_clusters_stay_apart(tmp_path: Path) -> None:
    """Two attempts are two rows, and so are two clusters that use the same job id."""
    lake = filled(
        tmp_path / "lake",
        [
            SlurmJob(cluster="x", job_id="7", attempt=1, ts=DAY, origin="a"),
            SlurmJob(cluster="x", job_id="7", attempt=2, ts=DAY, origin="a"),
            SlurmJob(cluster="y", job_id="7", attempt=1, ts=DAY, origin="b"),
        ],
    )
    assert asked(lake, "SELECT count(*) FROM slurm_job") == [(3,)]


def test_a_row_without_a_cluster_belongs_to_the_one_that_knows_the_job(tmp_path: Path) -> None:
    lake = filled(
        tmp_path / "lake",
        [SlurmJob(cluster="x", job_id="7", attempt=1, ts=DAY, name="sft", origin="a")],
        [SlurmJob(job_id="7", attempt=1, ts=DAY, restarts=1, origin="b")],
    )
    assert asked(lake, "SELECT cluster, name, restarts FROM slurm_job") == [("x", "sft", 1)]


@pytest.mark.parametrize(("first", "late_s"), [("REVOKED", 0), ("REVOKED", 1), ("PENDING", 0), ("RUNNING", 0)])
def test_of_one_submission_that_two_clusters_know_the_one_where_it_ran_is_shown(
    tmp_path: Path, first: str, late_s: int
) -> None:
    """A sibling of a federation that lost the race, or a record from before the cluster was renamed."""
    mine = {"job_id": "67108871", "attempt": 1, "submit_ts": DAY}
    late = DAY.replace(second=late_s)
    sibling = SlurmJob(
        **{**mine, "submit_ts": late}, cluster="x", ts=DAY.replace(hour=14), state=first, origin="slurm_queue:9"
    )
    ran = SlurmJob(
        **mine,
        cluster="w",
        ts=DAY.replace(hour=11),
        start_ts=DAY,
        end_ts=DAY.replace(hour=11),
        state="FAILED",
        origin="a",
    )
    other = SlurmJob(
        cluster="x", job_id="67108871", attempt=1, submit_ts=DAY.replace(month=2), state="FAILED", origin="b"
    )
    assert asked(filled(tmp_path / "lake", [sibling], [ran]), "SELECT cluster, state FROM slurm_job") == [
        ("w", "FAILED")
    ]
    assert asked(filled(tmp_path / "two", [ran], [other]), "SELECT count(*) FROM slurm_job") == [(2,)]


def test_an_event_that_two_files_tell_is_told_once(tmp_path: Path) -> None:
    lake = filled(
        tmp_path / "lake",
        [SlurmJobEvent(job_id="7", attempt=1, ts=DAY, event="requeued", origin=o) for o in ("a", "b")],
    )
    assert asked(lake, "SELECT event, count(*) FROM slurm_job_event GROUP BY event") == [("requeued", 1)]


def test_rows_of_no_job_are_never_merged(tmp_path: Path) -> None:
    lake = filled(tmp_path / "lake", [SlurmJob(ts=DAY, name=n, origin=n) for n in ("a", "b")])
    with Reader(lake) as reader:
        assert next(c.rows for c in reader.coverage() if c.table == "slurm_job") == 2
    assert asked(lake, "SELECT count(*) FROM slurm_job") == [(2,)]


def test_a_node_state_that_events_and_a_snapshot_tell_is_told_once(tmp_path: Path) -> None:
    lake = filled(
        tmp_path / "lake",
        [
            SlurmNodeState(node="n1", ts=DAY, state="DOWN", reason="psu", reason_user=u, origin=u)
            for u in ("root", "root(0)")
        ],
        [SlurmNodeState(node="n2", ts=DAY, state="DOWN", origin="a")],
    )
    assert asked(lake, "SELECT node, reason FROM slurm_node_state ORDER BY node") == [("n1", "psu"), ("n2", None)]


@pytest.mark.parametrize(("queue", "accounting"), [("queue", "accounting"), ("a", "b")])
def test_a_job_that_ended_in_the_second_in_which_it_was_seen_running_has_ended(
    queue: str, accounting: str, tmp_path: Path
) -> None:
    """Both rows have the same time, and the name of their source must not decide."""
    seen = SlurmJob(job_id="7", attempt=1, ts=DAY, start_ts=DAY, state="RUNNING", state_flags="X", origin=queue)
    ended = SlurmJob(
        job_id="7", attempt=1, ts=DAY, start_ts=DAY, end_ts=DAY, state="FAILED", exit_code=3, origin=accounting
    )
    lake = filled(tmp_path / "lake", [seen], [ended])
    sql = "SELECT state, state_flags, exit_code, end_ts IS NOT NULL FROM slurm_job"
    assert asked(lake, sql) == [("FAILED", None, 3, True)]
