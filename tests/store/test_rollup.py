"""Minutes say what the samples say."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import Reader, Writer, free_sql
from store.catalog import QueryInfo
from store.doctor import doctor
from store.rollup import COUNTERS, KEYS, MEASURES
from store.rows import GpuMinute, GpuSample, columns

T = datetime(2026, 3, 1, 23, 57, 12, 500_000, tzinfo=UTC)
END = T + timedelta(seconds=400)


def test_every_column_of_a_minute_is_measured_or_a_key() -> None:
    assert {c.name for c in columns(GpuMinute)} == {"ts", *KEYS, *MEASURES}


@pytest.fixture(scope="module")
def samples() -> list[GpuSample]:
    rng = random.Random(7)

    def maybe(value: float) -> float | None:
        return None if rng.random() < 0.1 else value

    rows = [
        GpuSample(
            node=f"n{gpu % 2}",
            gpu=gpu,
            gpu_uuid=f"GPU-{gpu}",
            job_id=None if gpu == 2 else "7",
            ts=T + timedelta(seconds=i),
            fb_used_bytes=10**9 * (2 if 0 <= i <= 400 else 9) + i,
            fb_total_bytes=10**11,
            engine_active=maybe(rng.choice((0.0, rng.random()))),
            sm_active=maybe(rng.random()),
            power_w=maybe(rng.random() * 700),
            sm_clock_mhz=maybe(rng.randint(300, 1980)),
            throttle_reasons=rng.choice((None, 0, 4, 8, 64)),
            ecc_sbe_total=0 if i < 137 or gpu != 1 else 3,
            ecc_dbe_total=5 if gpu == 0 else 0,
        )
        for i in range(-60, 500)
        for gpu in range(3)
    ]
    rng.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def lake(samples: list[GpuSample], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minutes") / "lake"
    done = Writer(folder).append(samples[:900], batch="a")
    assert done.rows == {"gpu_sample": 900}, "what the store derives is not counted as given"
    Writer(folder).append(samples[900:], batch="b")
    assert doctor(folder).findings == []
    return folder


def test_samples_without_a_job_are_counted_to_the_second_and_a_job_s_own_to_the_minute(lake: Path) -> None:
    sql = (
        "SELECT gpu, count(engine_active), min(ts), max(ts), round(max(fb_used_bytes) / 1073741824.0, 2), round(avg(engine_active), 3),"
        " round(avg(sm_active), 3), round(max(sm_active), 3), round(avg((engine_active < 0.02)::INT), 3), round(avg(power_w), 1),"
        " round(avg(((throttle_reasons & 232) <> 0)::INT), 3),"
        " round(avg(sm_clock_mhz) FILTER (WHERE (throttle_reasons & 232) <> 0))"
        f" FROM gpu_sample WHERE CASE WHEN job_id IS NULL THEN ts BETWEEN '{T:%F %T.%f}' AND '{END:%F %T.%f}'"
        f" ELSE ts BETWEEN '{T:%F %H:%M:00}' AND '{END:%F %H:%M:59.9}' END GROUP BY gpu ORDER BY gpu"
    )
    straight = QueryInfo("straight", "", ("gpu_sample",), (), (), "", sql, {})
    with Reader(lake) as reader:
        expected = reader.run(straight, {}, 10).rows
        found = reader.ask("gpu_summary", job_id="7", nodes="n0,n1", from_ts=T, to_ts=END)
    names = [
        "gpu",
        "samples",
        "first_ts",
        "last_ts",
        "peak_gib",
        "engine_mean",
        "sm_mean",
        "sm_max",
        "idle_share",
        "power_mean_w",
        "severe_throttle_share",
        "sm_clock_throttled_mhz",
    ]
    assert sorted(tuple(r[n] for n in names) for r in found.dicts()) == list(expected)
    assert {row[0]: row[1] for row in expected}[2] == 369


def test_a_job_s_own_samples_are_told_from_those_without_a_job(lake: Path) -> None:
    with Reader(lake) as reader:
        assert {r["gpu"] for r in reader.ask("gpu_summary", job_id="7").dicts()} == {0, 1}
        assert {r["gpu"] for r in reader.ask("gpu_summary", job_id="8", nodes="n0").dicts()} == {2}
        assert reader.ask("gpu_summary", job_id="8", nodes="n1").row_count == 0


def test_free_sql_can_ask_through_the_minutes(lake: Path) -> None:
    found = free_sql.run(lake, "SELECT sum(samples) FROM gpu_window(NULL, NULL)")
    assert found.rows == ((560 * 3,),)


def test_a_counter_that_rose_is_timed_to_the_sample(lake: Path) -> None:
    with Reader(lake) as reader:
        found = reader.ask("gpu_counter_rises", job_id="7", from_ts=T, to_ts=END).dicts()
    by_counter = {(r["gpu"], r["counter"]): r for r in found}
    rose = by_counter[(1, "ecc_sbe_total")]
    assert (rose["first_value"], rose["last_value"], rose["rise"]) == (0, 3, 3)
    assert rose["risen_ts"] == "2026-03-01T23:59:29.5Z"
    assert rose["before_end_s"] == 263
    flat = by_counter[(0, "ecc_dbe_total")]
    assert (flat["rise"], flat["risen_ts"], flat["serious"]) == (0, None, True)
    assert len(found) == 2


def test_absurd_counters_do_not_stop_an_import(tmp_path: Path) -> None:
    worst = {c: 2**63 - 1 for c in COUNTERS if not c.startswith("remap_")}
    rows = [
        GpuSample(gpu=0, ts=T + timedelta(seconds=i), **(worst if i else {"ecc_sbe_total": -(2**63)})) for i in range(3)
    ]
    assert Writer(tmp_path / "lake").append(rows, batch="b").rows == {"gpu_sample": 3}


def test_a_file_with_few_columns_has_minutes_too(tmp_path: Path) -> None:
    spool = tmp_path / "gpu.csv"
    spool.write_text("2026-03-01 10:00:00,0,0.5\n2026-03-01 10:00:30,0,0.25\n,0,1\n")
    Writer(tmp_path / "lake").append_csv(
        "gpu_sample", spool, ["ts", "gpu", "sm_active"], batch="b", constants={"job_id": "7"}
    )
    with Reader(tmp_path / "lake") as reader:
        (row,) = reader.ask("gpu_summary", job_id="7").dicts()
    assert (row["samples"], row["sm_mean"], row["engine_mean"], row["peak_gib"]) == (2, 0.375, None, None)


def test_minutes_are_the_same_however_many_segments_are_made_of_at_a_time(
    samples: list[GpuSample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = f"SELECT {', '.join(c.name for c in columns(GpuMinute))} FROM gpu_minute ORDER BY ALL"
    found = []
    for most in (1, 700, 100_000):
        monkeypatch.setattr("store.rollup.TOGETHER", most)
        Writer(tmp_path / str(most)).append(samples, batch="a")
        assert len(list((tmp_path / str(most)).rglob("gpu_minute/**/*.parquet"))) == 4, "two nodes on two days"
        found.append(free_sql.run(tmp_path / str(most), told, max_rows=10_000).rows)
    assert found[0] == found[1] == found[2] and len(found[0]) > 20
