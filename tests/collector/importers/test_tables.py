"""tables: CSV and Parquet with the columns of the schema."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.tables import Tables, table_of


def read(path: Path) -> tuple[list[Any], ImportContext]:
    ctx = ImportContext(path.name, timezone(timedelta(hours=1)), size=path.stat().st_size)
    return list(Tables().rows(path, ctx)), ctx


def test_csv_is_typed_and_what_does_not_fit_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "gpu_sample-node1.csv"
    path.write_text(
        "ts,node,gpu,fb_used_bytes,sm_active,remap_pending,colour\n"
        "2026-03-01T10:00:00,n1,0,100,0.5,true,red\n"
        "2026-03-01T10:00:00Z,n1,x,1.5,,false,red\n"
        "1772359200,n1,1,1e3,nan,maybe,red\n"
    )
    rows, ctx = read(path)
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert [r.ts for r in rows] == [ten] * 3, "the schema's columns are UTC, wherever the cluster is"
    assert (rows[0].gpu, rows[0].fb_used_bytes, rows[0].sm_active, rows[0].remap_pending) == (0, 100, 0.5, True)
    assert (rows[1].gpu, rows[1].fb_used_bytes, rows[1].sm_active) == (None, None, None)
    assert (rows[2].fb_used_bytes, rows[2].remap_pending) == (1000, None)
    assert ctx.problem_count == 4
    assert "colour" in ctx.problems[0]


def test_parquet_reads_through_a_locked_engine(tmp_path: Path) -> None:
    path = tmp_path / "slurm_job.parquet"
    duckdb.sql(
        "SELECT '4812' AS job_id, 1 AS attempt, TIMESTAMP '2026-03-01 10:00:00' AS ts, "
        "TIMESTAMPTZ '2026-03-01 10:00:00+00' AS end_ts, 'FAILED' AS state, 8::HUGEINT AS gpus, 3 AS nonsense"
    ).write_parquet(str(path))
    (row,), ctx = read(path)
    assert (row.job_id, row.attempt, row.state, row.gpus) == ("4812", 1, "FAILED", 8)
    assert row.ts == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert row.end_ts == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert "nonsense" in ctx.problems[0]


def test_a_table_with_none_of_the_columns_fails(tmp_path: Path) -> None:
    path = tmp_path / "log_event.csv"
    path.write_text("a,b\n1,2\n")
    assert Tables().claims(path, path.read_bytes()) == 0
    with pytest.raises(ImportFailed, match="none of its columns"):
        read(path)


def test_broken_parquet_fails_cleanly(tmp_path: Path) -> None:
    path = tmp_path / "slurm_job.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 50 + b"PAR1")
    with pytest.raises(ImportFailed, match="Parquet"):
        read(path)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("gpu_sample.csv", "gpu_sample"),
        ("gpu_sample-n1.parquet", "gpu_sample"),
        ("gpu_samples.csv", None),
        ("gpu_sample.txt", None),
    ],
)
def test_the_name_says_which_table(name: str, table: str | None) -> None:
    assert table_of(Path(name)) == table
