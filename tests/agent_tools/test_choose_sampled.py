"""Which job a folder is about that holds nothing but the samples of GPUs: the one that their exporter labels them with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tools.choose import Candidate, candidates, meant
from store import Reader, Writer
from store.rows import GpuSample, LogLine, Row

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def sampled(job: str | None, gpu: int) -> list[Row]:
    return [GpuSample(node="n1", gpu=gpu, ts=T + timedelta(minutes=n), temp_c=60.0, job_id=job) for n in range(3)]


@pytest.mark.parametrize(
    ("rows", "found", "chosen"),
    [
        ([*sampled("6008", 0), *sampled("6008", 1), *sampled(None, 2)], ["6008"], "6008"),
        ([*sampled("6008", 0), *sampled("6011", 1)], ["6008", "6011"], None),
        ([*sampled("6008", 0), LogLine(job_id="7", attempt=1, file="slurm-7.out", line_no=1, text="x")], ["7"], "7"),
        (sampled(None, 0), [], None),
    ],
)
def test_a_label_names_the_job_where_nothing_else_does(
    tmp_path: Path, rows: list[Row], found: list[str], chosen: str | None
) -> None:
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    with Reader(tmp_path / "lake", threads=1) as reader:
        jobs = candidates(reader)
    assert sorted(c.job_id for c in jobs) == found
    assert (one.job_id if (one := meant(jobs)) else None) == chosen


@pytest.mark.parametrize(("submitted", "lines", "chosen"), [(1, 0, "7"), (2, 0, None), (0, 0, None), (1, 5, None)])
def test_beside_the_queues_listing_the_job_of_which_more_is_told_is_meant(
    submitted: int, lines: int, chosen: str | None
) -> None:
    """Two logs say as much as two records: then it has to be named."""
    jobs = [Candidate(str(7 + n), lines, submit_ts="2026-03-01" if n < submitted else "") for n in range(3)]
    assert (one.job_id if (one := meant(jobs)) else None) == chosen


@pytest.mark.parametrize(
    ("waiting", "chosen"),
    [
        ([("PENDING", "QOSGrpGRES"), ("PENDING", "QOSGrpGRES")], "7"),
        ([("PENDING", "ReqNodeNotAvail, UnavailableNodes:n3"), ("PENDING", "ReqNodeNotAvail")], "7"),
        ([("PENDING", "QOSGrpGRES"), ("PENDING", "Dependency")], None),
        ([("PENDING", "QOSGrpGRES"), ("RUNNING", "None")], None),
        ([("PENDING", ""), ("PENDING", "")], None),
    ],
)
def test_of_jobs_that_all_wait_for_one_reason_any_is_meant(waiting: list[tuple[str, str]], chosen: str | None) -> None:
    jobs = [Candidate(str(7 + n), 0, state=state, reason=reason) for n, (state, reason) in enumerate(waiting)]
    assert (one.job_id if (one := meant(jobs, one_file=True)) else None) == chosen
    assert meant(jobs) is None
