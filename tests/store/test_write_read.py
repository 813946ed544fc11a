from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import Reader, Writer, free_sql
from store.result import StoreError
from store.rows import GpuSample, LogLine, SlurmJob, SourceHealth

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_a_batch_is_written_once_and_answered(tmp_path: Path) -> None:
    rows = [
        SlurmJob(job_id="7", attempt=1, state="FAILED", ts=T, start_ts=T - timedelta(hours=1), end_ts=T),
        SlurmJob(job_id="8", attempt=1, state="COMPLETED", ts=T, start_ts=T - timedelta(hours=2), end_ts=T),
    ]
    first = Writer(tmp_path / "lake").append(rows, batch="b")
    assert (first.rows, first.duplicate) == ({"slurm_job": 2}, False)
    assert Writer(tmp_path / "lake").append(rows, batch="b").duplicate
    with Reader(tmp_path / "lake") as reader:
        found = reader.ask("job_attempts", job_id="7")
        assert [(r["state"], r["start_ts"]) for r in found.dicts()] == [("FAILED", "2026-03-01T09:00:00Z")]
        assert reader.ask("jobs").row_count == 2


@pytest.mark.parametrize("count", [3, 40, 20_500])
def test_an_answer_that_is_cut_says_how_long_it_is(tmp_path: Path, count: int) -> None:
    Writer(tmp_path / "lake").append(
        [SlurmJob(job_id=str(n), attempt=1, state="FAILED", ts=T) for n in range(count)], batch="b"
    )
    with Reader(tmp_path / "lake") as reader:
        found = reader.ask("jobs", max_rows=2)
        assert (len(found.rows), found.row_count, found.truncated) == (2, count, True)


def test_a_newer_state_of_a_source_replaces_the_older_one(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "lake")
    writer.append([LogLine(text="a", node=n) for n in ("n1", "n2")], batch="v1", replaces="file x")
    writer.append([LogLine(text=t, node="n2") for t in ("a", "b")], batch="v2", replaces="file x")
    found = free_sql.run(tmp_path / "lake", "SELECT node, text FROM log_line ORDER BY ALL")
    assert found.rows == (("n2", "a"), ("n2", "b"))


def test_nothing_is_published_when_the_rows_raise(tmp_path: Path) -> None:
    def rows():
        yield LogLine(text="a")
        raise ValueError("broken source")

    with pytest.raises(ValueError, match="broken source"):
        Writer(tmp_path / "lake").append(rows(), batch="b")
    with Reader(tmp_path / "lake") as reader:
        assert all(c.segments == 0 for c in reader.coverage())


def test_a_folder_that_is_no_lake_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no lake"):
        Reader(tmp_path)


def test_sources_show_what_looked_at_everything_as_well(tmp_path: Path) -> None:
    Writer(tmp_path / "lake").append([SourceHealth(source="sacct", covers="slurm_job", ok=True, ts=T)], batch="b")
    with Reader(tmp_path / "lake") as reader:
        assert reader.ask("sources", job_id="7").dicts()[0]["source"] == "sacct"


def test_a_time_with_a_zone_is_asked_for_in_utc(tmp_path: Path) -> None:
    rows = [GpuSample(node="n", gpu=0, job_id="7", ts=T + timedelta(minutes=i)) for i in range(10)]
    Writer(tmp_path / "lake").append(rows, batch="b")
    with Reader(tmp_path / "lake") as reader:
        for start in ("2026-03-01T12:05:00+02:00", "2026-03-01T10:05:00Z", T + timedelta(minutes=5)):
            assert reader.ask("gpu_summary", job_id="7", from_ts=start).dicts()[0]["samples"] == 5
        with pytest.raises(StoreError, match=r"from_ts: .*write a time as"):
            reader.ask("gpu_summary", job_id="7", from_ts="noon")
        with pytest.raises(StoreError, match="no parameter nonsense; it takes job_id"):
            reader.ask("gpu_summary", nonsense=1)
        with pytest.raises(StoreError, match=r"job_id .* is missing"):
            reader.ask("gpu_summary")
        with pytest.raises(StoreError, match="no query 'nonsense'"):
            reader.ask("nonsense")
