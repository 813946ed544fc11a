"""A measure over time says where finer samples are, and shows them to whoever asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tools.agent import undetermined
from agent_tools.evidence import Ledger
from agent_tools.tools.base import Deps
from agent_tools.tools.metric import metric
from store import Reader, Writer
from store.rows import GpuDetail, GpuSample, Row, SlurmJob

pytestmark = pytest.mark.anyio
START = datetime(2026, 3, 1, 10, tzinfo=UTC)


def at(seconds: float) -> dict[str, Any]:
    return {"node": "gpu01", "gpu": 0, "gpu_uuid": "GPU-a", "job_id": "7", "ts": START + timedelta(seconds=seconds)}


@pytest.fixture
def ctx(tmp_path: Path):
    rows: list[Row] = [
        SlurmJob(job_id="7", state="FAILED", start_ts=START, end_ts=START + timedelta(minutes=4), node_list="gpu01")
    ]
    rows += [GpuSample(**at(15 * i), power_w=640.0, interval_s=15.0) for i in range(16)]
    rows += [GpuDetail(**at(181 + i), power_w=650.0) for i in range(10)]
    rows += [GpuDetail(**at(184.5), power_w=912.0, interval_s=0.02, origin="nvml:samples")]
    rows += [GpuDetail(**at(184.51), sm_clock_mhz=345.0, interval_s=0.02, origin="nvml:samples")]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    with Reader(tmp_path / "lake") as reader:
        yield SimpleNamespace(deps=Deps(reader, Ledger(), "7", None, (), undetermined("Nothing."), lake=reader.lake))


def answer(ctx: Any) -> list[dict[str, Any]]:
    found = ctx.deps.ledger.all()[-1]
    return [dict(zip([c.name for c in found.columns], row, strict=True)) for row in found.rows]


async def test_the_coarse_answer_counts_the_finer_samples_and_is_not_moved_by_them(ctx: Any) -> None:
    await metric(ctx, "power_w", bucket_s=60)
    told = [(r["samples"], r["low"], r["mean"], r["high"], r["detail"]) for r in answer(ctx)]
    assert told == [(4, 640.0, 640.0, 640.0, n) for n in (0, 0, 0, 11)]


async def test_whoever_asks_for_detail_is_shown_the_peak(ctx: Any) -> None:
    await metric(ctx, "power_w", bucket_s=1, since="2026-03-01T10:03:03Z", until="2026-03-01T10:03:06Z", detail=True)
    told = [(r["samples"], r["low"], r["high"]) for r in answer(ctx)]
    assert told == [(1, 650.0, 650.0), (2, 650.0, 912.0), (1, 650.0, 650.0), (1, 650.0, 650.0)]
    await metric(ctx, "sm_clock_mhz", detail=True)
    assert [(r["samples"], r["low"]) for r in answer(ctx)] == [(1, 345.0)]


async def test_a_window_without_a_coarse_sample_says_that_there_are_finer_ones(ctx: Any) -> None:
    await metric(ctx, "power_w", since="2026-03-01T10:03:04Z", until="2026-03-01T10:03:05Z", bucket_s=60)
    assert [(r["samples"], r["high"], r["detail"]) for r in answer(ctx)] == [(0, None, 3)]
