"""What a run's GPUs did, summed once for all questions about them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store import Reader, Writer, rollup, views
from store.rows import GpuMinute, GpuSample

T = datetime(2026, 3, 1, 10, 0, 30, tzinfo=UTC)
Run = tuple[str, str | None, str | None, datetime | None]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        GpuSample(
            node=f"n{gpu % 2}",
            gpu=gpu,
            gpu_uuid=f"GPU-{gpu}",
            job_id=None if gpu == 2 else "7",
            ts=T + timedelta(seconds=7 * i),
            sm_active=gpu / 10,
        )
        for i in range(40)
        for gpu in range(3)
    ]
    folder = tmp_path_factory.mktemp("totals") / "lake"
    Writer(folder).append(rows, batch="a")
    return folder


def gpus(reader: Reader, run: Run) -> list[tuple[object, object]]:
    job, nodes, own, end = run
    found = reader.ask("gpu_summary", job_id=job, nodes=nodes, gpus=own, to_ts=end)
    return [(r["gpu"], r["samples"]) for r in found.dicts()]


def test_the_totals_of_one_run_are_not_another_s(lake: Path) -> None:
    """They are made once for each job, its nodes, its GPUs and its window, however the questions take turns."""
    runs: list[Run] = [
        ("7", None, None, None),
        ("7", "n0", None, None),
        ("7", "n0", "GPU-0", None),
        ("7", "n0", None, T + timedelta(seconds=90)),
        ("8", "n0", None, None),
        ("8", "n1", None, None),
    ]
    alone: list[list[tuple[object, object]]] = []
    for run in runs:
        with Reader(lake) as reader:
            alone.append(gpus(reader, run))
    assert [len(found) for found in alone] == [2, 3, 2, 3, 1, 0]
    assert len({repr(found) for found in alone}) == 5, "the second GPU of the third run is left out as in the first"
    with Reader(lake) as reader:
        for run, expected in [*zip(runs, alone, strict=True)] * 2:
            assert gpus(reader, run) == expected


def test_every_question_about_a_run_reads_the_same_totals(lake: Path) -> None:
    with Reader(lake) as reader:
        (row,) = reader.ask("gpu_spread", job_id="7", nodes="n0").dicts()
        by_gpu = {r["gpu"]: r["sm_mean"] for r in reader.ask("gpu_summary", job_id="7", nodes="n0").dicts()}
    assert by_gpu == {0: 0.0, 1: 0.1, 2: 0.2}
    assert (row["gpu"], row["sm_mean"], row["gpus"], row["peer_sm_max"]) == (2, 0.2, 3, 0.1)


def test_clocks_and_throttle_bits_from_two_files_are_told_together_by_the_minute(tmp_path: Path) -> None:
    """A query of Prometheus answers with one metric, so that no sample has both of what one file each was saved of."""
    told: dict[str, Callable[[int], dict[str, float]]] = {
        "bits.json": lambda i: {"throttle_reasons": 0x48 if i >= 41 else 0},
        "clocks.json": lambda i: {"sm_clock_mhz": 900.0 if i >= 41 else 1980.0},
        "util.json": lambda i: {"engine_active": 0.9},
    }
    for origin, values in told.items():
        rows = [
            GpuSample(node="n0", gpu=3, gpu_uuid="GPU-3", origin=origin, ts=T + timedelta(seconds=30 * i), **values(i))
            for i in range(1, 80)
        ]
        Writer(tmp_path).append(rows, batch=origin)
    with Reader(tmp_path) as reader:
        (row,) = reader.ask("gpu_summary", job_id="7", nodes="n0").dicts()
    assert (row["severe_throttle_share"], row["sm_clock_throttled_mhz"], row["sm_clock_free_mhz"]) == (0.494, 900, 1980)
    assert row["samples"] == 79, "a moment that three files tell of is one sample"


def test_a_gpu_whose_number_one_metric_alone_knows_is_one_gpu(tmp_path: Path) -> None:
    """nvidia_gpu_exporter labels with the UUID and gives the number as a metric: a file for each, and it was two GPUs."""
    told: dict[str, Callable[[int, int], dict[str, Any]]] = {
        "index.json": lambda gpu, i: {"gpu": gpu},
        "util.json": lambda gpu, i: {"engine_active": 0.9},
        "ecc.json": lambda gpu, i: {"ecc_dbe_total": int(gpu == 1 and i >= 30)},
        "clocks.json": lambda gpu, i: {"sm_clock_mhz": 700.0 if gpu == 1 and i >= 30 else 1900.0},
        # A bit a file: hardware slowdown, software thermal, hardware thermal. Those that are not set say nothing against it.
        "slow.json": lambda gpu, i: {"throttle_reasons": 0},
        "software.json": lambda gpu, i: {"throttle_reasons": 0},
        "hardware.json": lambda gpu, i: {"throttle_reasons": 0x40 if gpu == 1 and i >= 30 else 0},
    }
    rows = [
        GpuSample(node="n1", gpu_uuid=f"GPU-{g}", origin=origin, ts=T + timedelta(minutes=i), **values(g, i))
        for origin, values in told.items()
        for g in (0, 1)
        for i in range(60)
    ]
    Writer(tmp_path / "lake").append(rows, batch="a")
    with Reader(tmp_path / "lake") as reader:
        gpus = reader.ask("gpu_summary", job_id="7", nodes="n1").dicts()
        duty = reader.ask("gpu_duty", job_id="7", nodes="n1").dicts()
        risen = reader.ask("gpu_counter_rises", job_id="7", nodes="n1").dicts()
    assert [(r["gpu"], r["gpu_uuid"]) for r in gpus] == [(0, "GPU-0"), (1, "GPU-1")]
    assert [(r["severe_throttle_share"], r["sm_clock_throttled_mhz"]) for r in gpus] == [(0.0, None), (0.5, 700.0)]
    assert [(r["gpu"], r["engine_mean"]) for r in duty] == [(0, 0.9), (1, 0.9)]
    assert [(r["gpu"], r["counter"], r["rise"]) for r in risen] == [(1, "ecc_dbe_total", 1)]


def minute(draw: random.Random, at: int, gpu: int, origins: list[str | None]) -> dict[str, object]:
    """A row of a GPU's minute as one source has it: bits, clocks and activity together, or one of them alone."""
    count = draw.randint(1, 4)
    bits, clocks, busy = (count if draw.random() < 0.75 else 0 for _ in range(3))
    severe = draw.choice([0, 0, draw.randint(0, bits)])
    paired = bool(bits and clocks) and draw.random() < 0.5
    return {
        "node": "n1",
        "origin": draw.choice(origins),
        "job_id": "7",
        "gpu": gpu,
        "gpu_uuid": draw.choice(["GPU-1", None]) if gpu else "GPU-0",
        "ts": T.replace(minute=at, second=0),
        "first_ts": T.replace(minute=at, second=1),
        "last_ts": T.replace(minute=at, second=41),
        "samples": count,
        "engine_n": busy,
        "engine_sum": busy * draw.choice([0.0, 0.1, 0.3, 0.31, 0.9]) if busy else None,
        "throttle_n": bits,
        "severe_n": severe,
        "clock_n": clocks,
        "clock_sum_mhz": 1500.0 * clocks if clocks else None,
        "severe_clock_n": severe if paired else 0,
        "free_clock_n": draw.randint(0, count) if paired else 0,
    }


@pytest.mark.parametrize("origins", [["a"], [None], ["a", None], ["a", "b"]])
@pytest.mark.parametrize("seed", range(6))
def test_minutes_that_one_source_tells_whole_need_no_putting_together(
    seed: int, origins: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    con = duckdb.connect()
    for row in (GpuMinute, GpuSample):
        con.execute(f"CREATE TABLE {row.TABLE} ({views.definition(row.TABLE)})")
    for at in range(10):
        for gpu in range(3):
            for _ in range(draw.choice([1, 1, 2])):
                values = minute(draw, at, gpu, origins)
                marks = ", ".join("?" * len(values))
                con.execute(f"INSERT INTO gpu_minute ({', '.join(values)}) VALUES ({marks})", list(values.values()))
    con.execute(rollup.WINDOW)
    run: dict[str, object] = {"job_id": "7", "nodes": None, "gpus": None, "from_ts": None, "to_ts": None}
    found = con.execute(rollup.totals(*rollup.RUN), run).fetchall()
    monkeypatch.setattr(rollup, "_PIECED", "true")
    whole = con.execute(rollup.totals(*rollup.RUN), run).fetchall()
    assert sorted(map(repr, found)) == sorted(map(repr, whole)) and len(found) >= 3
