"""Of rows of several nodes each segment holds the columns alone in which any of them has a value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import Writer, free_sql
from store.compact import compact
from store.rows import GpuSample, HostEvent

T = datetime(2026, 3, 1, tzinfo=UTC)


def columns_of(path: Path) -> set[str]:
    import duckdb

    return {
        r[0] for r in duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{path}', hive_partitioning = false)").fetchall()
    }


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    rows = [
        GpuSample(
            node=f"n{i % 3}", gpu=0, ts=T + timedelta(seconds=i), engine_active=0.5, power_w=300.0 if i == 7 else None
        )
        for i in range(30)
    ]
    Writer(tmp_path / "lake").append([*rows, HostEvent(ts=T, event="oom_kill")], batch="a")
    return tmp_path / "lake"


def test_a_column_without_a_value_is_in_no_segment_and_reads_as_null(lake: Path) -> None:
    found = [columns_of(p) for p in lake.rglob("gpu_sample/**/*.parquet")]
    assert len(found) == 3 and found[0] == found[1] == found[2], "nodes of one batch read as one"
    assert {"ts", "node", "job_id", "gpu", "engine_active", "power_w"} <= found[0] and "temp_c" not in found[0]
    asked = "SELECT count(*), count(temp_c), count(power_w), count(job_id) FROM gpu_sample"
    assert free_sql.run(lake, asked, max_rows=5).rows == ((30, 0, 1, 0),)


def test_a_later_batch_with_more_columns_stands_beside_it_and_is_merged_with_it(lake: Path) -> None:
    more = [GpuSample(node=f"n{i}", gpu=0, ts=T + timedelta(hours=1), temp_c=60.0 + i, job_id="7") for i in range(3)]
    Writer(lake).append(more, batch="b")
    asked = "SELECT node, count(engine_active), max(temp_c), max(job_id) FROM gpu_sample GROUP BY node ORDER BY node"
    wanted = [(f"n{i}", 10, 60.0 + i, "7") for i in range(3)]
    assert [tuple(r) for r in free_sql.run(lake, asked, max_rows=5).rows] == wanted
    compact(lake, min_segments=2, settle_s=0, grace_s=0)
    assert [tuple(r) for r in free_sql.run(lake, asked, max_rows=5).rows] == wanted
