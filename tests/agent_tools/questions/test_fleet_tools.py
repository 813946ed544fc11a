"""The tools that look beyond one job and into one measure: what they find, and that a repeat is not asked again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from agent_tools.agent import undetermined
from agent_tools.evidence import Ledger
from agent_tools.tools.base import Deps
from agent_tools.tools.find_jobs import find_jobs
from agent_tools.tools.gpu_health import gpu_health
from agent_tools.tools.history import history
from agent_tools.tools.metric import metric
from agent_tools.tools.nodes import node_states
from agent_tools.tools.processes import processes
from agent_tools.tools.ranks import collectives, compare_ranks
from agent_tools.tools.timeline import timeline
from store import Reader, Writer
from store.rows import (
    CgroupSample,
    CudaSample,
    GpuEvent,
    GpuSample,
    HostSample,
    NcclSample,
    Process,
    Row,
    SlurmJob,
    SlurmNodeState,
    SourceHealth,
    Verdict,
)

pytestmark = pytest.mark.anyio
T = datetime(2026, 3, 1, 10, tzinfo=UTC)
END = T + timedelta(hours=1)


def job(number: str, state: str, start: datetime, **fields: Any) -> SlurmJob:
    end = start + timedelta(hours=1)
    values: dict[str, Any] = {"attempt": 1, "name": "pretrain", "user": "ada", "node_list": "gpu-01,gpu-02"}
    values |= {"node_count": 2, "gpus": 4, "elapsed_s": 3600.0, "exit_code": int(state == "FAILED"), "exit_signal": 0}
    values |= {"job_id": number, "state": state, "start_ts": start, "end_ts": end, "ts": end}
    return SlurmJob(**{**values, **fields})


def rows() -> list[Row]:
    made: list[Row] = [
        job("7", "FAILED", T),
        job("5", "NODE_FAIL", T - timedelta(days=3)),
        job("6", "COMPLETED", T - timedelta(days=1), node_list="gpu-09", node_count=1),
        job("8", "COMPLETED", T - timedelta(days=2), user="bob", name="other", node_list="gpu-02"),
        Verdict(
            job_id="5", attempt=1, ts=T, family="F1", attribution="infrastructure", confidence=0.9, gpu_hours_wasted=2.5
        ),
        SlurmNodeState(
            node="gpu-02", ts=T - timedelta(days=3), end_ts=T - timedelta(days=2), state="DOWN", reason="no | ping"
        ),
        SlurmNodeState(node="gpu-02", ts=T, state="ALLOCATED"),
        GpuEvent(
            node="gpu-02",
            gpu=1,
            ts=T + timedelta(minutes=50),
            event="xid",
            xid=79,
            message="GPU has fallen off the bus",
        ),
        CgroupSample(job_id="7", attempt=1, node="gpu-01", ts=T, memory_current_bytes=10, memory_max_bytes=20),
        Process(
            job_id="7",
            attempt=1,
            node="gpu-01",
            rank=1,
            pid=11,
            comm="python",
            ts=T,
            end_ts=END,
            exit_signal=9,
            signal_sender="kernel-oom",
        ),
    ]
    for minute in range(60):
        ts = T + timedelta(minutes=minute)
        made.append(HostSample(node="gpu-01", ts=ts, psi_io_full=float(minute)))
        for rank in range(4):
            node = f"gpu-0{rank // 2 + 1}"
            made.append(
                GpuSample(job_id="7", attempt=1, node=node, gpu=rank % 2, ts=ts, temp_c=60.0 + rank, sm_active=0.5)
            )
            slow = rank == 3
            made.append(
                CudaSample(
                    job_id="7",
                    attempt=1,
                    node=node,
                    rank=rank,
                    ts=ts,
                    launches=50 if slow else 100,
                    sync_time_s=1.0 if slow else 20.0,
                )
            )
            made.append(
                NcclSample(job_id="7", attempt=1, node=node, rank=rank, ts=ts, enqueued=10, completed=9 if slow else 10)
            )
    return made


@pytest.fixture
def ctx(tmp_path: Path):
    Writer(tmp_path / "lake", durable=False).append(rows(), batch="b")
    draft = undetermined("Nothing yet.")
    with Reader(tmp_path / "lake") as reader:
        yield SimpleNamespace(deps=Deps(reader, Ledger(), "7", None, (), draft, lake=reader.lake))


async def test_jobs_are_found_by_node_state_and_verdict(ctx: Any):
    text = await find_jobs(ctx, node="gpu-02")
    assert "find_jobs: 3 rows" in text
    assert "NODE_FAIL" in await find_jobs(ctx, family="f1")
    assert "Empty: searched" in await find_jobs(ctx, user="eve")
    assert "find_jobs: 1 rows" in await find_jobs(ctx, since="2026-03-01T00:00:00Z")
    said = await find_jobs(ctx, since="last month")
    assert "failed, which is not the same as empty" in said
    assert "'last month' is no time: write a time as" in said


async def test_jobs_are_counted_by_user_and_by_node(ctx: Any):
    assert "fleet_tally: " in await find_jobs(ctx, by="node", since="2026-01-01T00:00:00Z")
    nodes = {r["value"]: r for r in ctx.deps.ledger.all()[-1].dicts()}
    assert set(nodes) >= {"gpu-01", "gpu-02"}
    await find_jobs(ctx, by="all", family="F1")
    (whole,) = ctx.deps.ledger.all()[-1].dicts()
    assert (whole["examined"], whole["gpu_hours_wasted"]) == (1, 2.5)


async def test_the_wasted_hours_of_a_family_are_a_cell(ctx: Any):
    await find_jobs(ctx, node="gpu-02", family="F1")
    counted = next(e for e in ctx.deps.ledger.all() if e.query == "find_jobs_summary")
    assert counted.dicts()[0]["gpu_hours_wasted"] == 2.5


async def test_runs_alike_and_a_node_s_past(ctx: Any):
    alike = await history(ctx)
    assert "similar_jobs: 3 rows" in alike
    past = await history(ctx, node="gpu-02")
    assert 'DOWN | - | - | - | - | - | "no | ping"' in past, "text with a column mark in it is quoted"
    assert " | 79 | 1 | " in past
    assert "NODE_FAIL | - | - | 5 | F1 | infrastructure" in past


async def test_a_measure_in_buckets_of_gpus_hosts_and_ranks(ctx: Any):
    gpus = await metric(ctx, "temp_c", gpu=1, bucket_s=1800)
    assert "gpu_metric: 4 rows" in gpus
    assert "gpu_metric: 16 rows" in await metric(ctx, "temp_c", together=True)
    assert ctx.deps.ledger.all()[-1].cell("high").unit == "C"
    assert "high = 59" in await metric(ctx, "psi_io_full", node="gpu-01", bucket_s=7200)
    ranks = await metric(ctx, "launches", rank=3, bucket_s=7200)
    assert "total = 3000" in ranks
    assert "Of hosts: load1" in await metric(ctx, "nonsense")
    with pytest.raises(ModelRetry, match="write a time as"):
        await metric(ctx, "temp_c", since="yesterday")


async def test_the_rank_that_differs_most_comes_first(ctx: Any):
    await compare_ranks(ctx)
    compared = next(e for e in ctx.deps.ledger.all() if e.query == "rank_compare")
    first = compared.dicts()[0]
    assert (first["rank"], first["behind"], first["launches_of_median"], first["sync_of_median"]) == (3, 60, 0.5, 0.05)


async def test_events_of_a_gpu_come_with_their_meaning(ctx: Any):
    text = await gpu_health(ctx)
    assert "XID 79: the GPU is no longer on the PCIe bus" in text
    assert "gpu_summary: 4 rows" in text


async def test_the_card_that_something_was_seen_of_is_shown_among_a_thousand(tmp_path: Path):
    """It behaves like the others, and stands where no answer's first rows reach."""
    nodes = [f"gpu-{n:03}" for n in range(128)]
    ill = ("gpu-127", 6)
    made: list[Row] = [job("7", "FAILED", T, node_list=",".join(nodes), node_count=128, gpus=1024)]
    for node, gpu, at in ((n, g, m) for n in nodes for g in range(8) for m in (10, 50)):
        errors = int((node, gpu) == ill and at == 50)
        busy = 0.9 if gpu or at == 10 else 0.8 + int(node[-2:]) / 1000
        made.append(
            GpuSample(
                job_id="7", node=node, gpu=gpu, gpu_uuid=f"GPU-{node[4:]}-{gpu}", ts=T + timedelta(minutes=at),
                engine_active=busy, ecc_dbe_total=errors,
            )
        )  # fmt: skip
    Writer(tmp_path / "lake", durable=False).append(made, batch="b")
    with Reader(tmp_path / "lake") as reader:
        ctx: Any = SimpleNamespace(deps=Deps(reader, Ledger(), "7", None, (), undetermined("."), lake=reader.lake))
        use = (await gpu_health(ctx)).split("gpu_summary")[1]
        assert "1024 rows, 8 shown" in use
        assert "GPU-127-6" in use
        there = (await gpu_health(ctx, node="gpu-003")).split("gpu_summary")[1]
        assert {f"GPU-003-{gpu}" for gpu in range(8)} == set(re.findall(r"GPU-\d+-\d", there))


async def test_a_table_without_rows_that_a_source_watched_is_not_called_unwatched(tmp_path: Path):
    """Kernel logs were read and held nothing: that is an answer, and where nobody read them it is none."""
    read = SourceHealth(source="kernel_log", covers="host_event", node="gpu-01", ts=T, end_ts=END, ok=True, rows=0)
    for folder, more in (("watched", [read]), ("unwatched", [])):
        Writer(tmp_path / folder, durable=False).append([job("7", "FAILED", T), *more], batch="b")
        with Reader(tmp_path / folder) as reader:
            ctx: Any = SimpleNamespace(deps=Deps(reader, Ledger(), "7", None, (), undetermined("."), lake=reader.lake))
            kernel = (await node_states(ctx)).split("host_events")[1].split("link_events")[0]
            assert ("a source was looking for host_event and saw nothing" in kernel) is (folder == "watched")
            assert ("Unavailable" in kernel) is (folder == "unwatched")
            first: Any = SimpleNamespace(
                deps=Deps(reader, Ledger(), "7", None, (), undetermined("."), lake=reader.lake)
            )
            quiet = next(line for line in (await timeline(first)).splitlines() if "host_event" in line)
            assert ("nothing was looking" in quiet) is (folder == "unwatched"), "the first that is asked knows it, too"
            fleet: Any = SimpleNamespace(deps=Deps(reader, Ledger(), "", None, (), undetermined("."), lake=reader.lake))
            quiet = next(line for line in (await find_jobs(fleet)).splitlines() if line.startswith("No data at all"))
            assert "is told of an open job" in quiet and "nothing was looking" not in quiet


async def test_who_sent_the_signal_and_what_memory_was_allowed(ctx: Any):
    text = await processes(ctx)
    assert "signal_sender = kernel-oom" in text
    assert "cgroup_peaks" in text


async def test_nodes_in_the_run_and_before_it(ctx: Any):
    assert "DOWN" not in (await node_states(ctx)).split("host_events")[0]
    assert "DOWN" in await node_states(ctx, nodes="gpu-02", since="2026-02-26T00:00:00Z")
    assert "nccl_progress" in await collectives(ctx)


async def test_an_exact_repeat_is_answered_from_the_ledger(ctx: Any, monkeypatch: pytest.MonkeyPatch):
    first = await metric(ctx, "temp_c")
    held = len(ctx.deps.ledger.all())
    monkeypatch.setattr(ctx.deps.reader, "ask", None)
    assert (again := await metric(ctx, "temp_c")) in first
    assert again.splitlines()[0] == first.splitlines()[0]
    assert "Caveat" in first.removeprefix(again), "told once"
    assert len(ctx.deps.ledger.all()) == held
