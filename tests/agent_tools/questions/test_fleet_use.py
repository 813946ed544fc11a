"""What is answered without a model over many jobs from their own telemetry: how busy GPUs were, which nodes are slow, what logs say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.questions.fleet import of_many
from agent_tools.questions.fleet_use import logged
from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import GpuSample, LogEvent, LogLine, Row
from tests.agent_tools.questions.lookupkit import T, asked, job


def samples(
    node: str, day: int, *, gpu: int = 0, minutes: int = 10, named: str | None = None, **fields: Any
) -> list[Row]:
    values: dict[str, Any] = {
        "engine_active": 0.95,
        "sm_active": 0.6,
        "sm_clock_mhz": 1980.0,
        "throttle_reasons": 0,
        **fields,
    }
    start = T + timedelta(days=day, minutes=1)
    return [
        GpuSample(node=node, gpu=gpu, gpu_uuid=f"GPU-{node}-{gpu}", job_id=named, ts=start + timedelta(minutes=m), **values)
        for m in range(minutes)
    ]  # fmt: skip


def said(number: str, day: int, kind: str, name: str, message: str, **fields: Any) -> LogEvent:
    return LogEvent(
        job_id=number, ts=T + timedelta(days=day, minutes=30), ts_kind="embedded", file=f"slurm-{number}.out", line_no=7,
        kind=kind, name=name, message=message, severity="error", **fields,
    )  # fmt: skip


def rows() -> list[Row]:
    """Job 1 waits for the GPU of n2, whose clocks are held; job 2 leaves its GPU idle; of job 3 nothing is measured; 4 and 5 share n9."""
    held: dict[str, Any] = {"sm_clock_mhz": 1100.0, "throttle_reasons": 0x40}
    return [
        job("1", 0, "FAILED", "n1,n2,n3", gpus=3),
        job("2", 1, "COMPLETED", "n1", user="lin", gpus=1),
        job("3", 2, "COMPLETED", "n3", gpus=1),
        job("4", 3, "COMPLETED", "n9", gpus=1),
        job("5", 3, "COMPLETED", "n9", user="lin", gpus=1),
        *samples("n1", 0, sm_active=0.2), *samples("n2", 0, sm_active=0.8, **held), *samples("n3", 0, sm_active=0.2),
        *samples("n1", 1, engine_active=0.0, sm_active=0.0, named="2"),
        *samples("n9", 3),
        said("1", 0, "nccl_watchdog", "collective_timeout", "Watchdog caught collective operation timeout", rank=1),
        said("2", 1, "exception", "ModuleNotFoundError", "No module named 'apex'"),
        LogLine(job_id="2", ts=T, file="slurm-2.out", line_no=3, text="loading shard 17 of 64"),
        LogEvent(job_id="3", ts=T, ts_kind="embedded", file="slurm-3.out", line_no=2, kind="warning", name="cuda_error", message="ECC error"),
        said("3", 2, "nccl_watchdog", "collective_timeout", "Watchdog caught collective operation timeout", rank=0),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("use") / "lake"
    Writer(lake, durable=False).append(rows(), batch="b")
    with Reader(lake) as opened:
        yield opened


def test_gpu_time_is_counted_for_whoever_was_alone_on_the_node_and_for_nobody_else(reader: Reader):
    by_job = {r["value"]: r for r in reader.ask("gpu_use", by="job").dicts()}
    assert {k: r["measured"] for k, r in by_job.items()} == {"1": 1, "2": 1, "3": 0, "4": 0, "5": 0}
    assert (by_job["1"]["engine_mean"], by_job["1"]["sm_mean"], by_job["1"]["idle_share"]) == (0.95, 0.4, 0.0)
    assert (by_job["2"]["idle_share"], by_job["2"]["gpu_hours_idle"]) == (1.0, by_job["2"]["gpu_hours"])
    (whole,) = reader.ask("gpu_use", by="all").dicts()
    assert (whole["attempts"], whole["measured"], whole["user"]) == (5, 2, None)
    assert [r["value"] for r in reader.ask("gpu_use", by="user").dicts()] == ["lin", "mira"]
    assert reader.ask("gpu_use", by="colour").dicts() == []


def test_more_gpus_on_a_node_than_a_job_held_are_not_taken_for_its_own(tmp_path: Path):
    idle = samples("n1", 0, gpu=1, engine_active=0.0)
    Writer(tmp_path, durable=False).append([job("1", 0, "FAILED", "n1", gpus=1), *samples("n1", 0), *idle], batch="b")
    with Reader(tmp_path) as opened:
        assert opened.ask("gpu_use", by="job").dicts()[0]["measured"] == 0
        assert asked(opened, "which jobs had a low GPU utilization?")[1].startswith("No GPU of such a job was measured")


def test_how_busy_gpus_were_is_told_lowest_first_and_over_all_where_that_is_asked(reader: Reader):
    _, short, more = asked(reader, "which jobs had a low GPU utilization?")
    assert short.startswith("Job 2 of lin (COMPLETED): mean engine activity 0 %")
    assert more[0].startswith("Job 1 of mira (FAILED): mean engine activity 95 %, SM activity 40 %")
    assert asked(reader, "what is the average GPU utilization of all jobs?")[1].startswith(
        "In all, 2 of 5 attempts measured"
    )
    assert asked(reader, "which jobs were the busiest?")[1].startswith("Job 1 of mira")
    assert asked(reader, "what's the busiest node?")[1].startswith("n")
    assert asked(reader, "which user left GPUs idle?")[1].startswith("lin, 1 of 2 attempts measured")
    assert asked(reader, "who wastes GPUs?")[1].startswith("lin, 1 of 2 attempts measured")


def test_a_node_is_slow_beside_the_other_nodes_of_its_jobs(reader: Reader):
    _, short, more = asked(reader, "which nodes are slow?")
    assert short.startswith("Node n2: its clocks at work were clearly below the other nodes' in 1 of 1 attempts")
    assert "(job 1: 55.6 % of theirs)" in short
    assert "held them back in 1 of 1 attempts (job 1: 100 % of the time)" in short
    assert "one of its GPUs worked while the others waited (job 1: 4 times as much)" in short
    assert more == []
    assert asked(reader, "[[E1.x]] which nodes are slow?")[1] == short, "a reference is no node"


def test_no_node_is_called_slow_where_none_is_and_it_is_said_where_nothing_was_measured(tmp_path: Path):
    Writer(tmp_path / "a", durable=False).append(
        [job("1", 0, "FAILED", "n1,n2", gpus=2), *samples("n1", 0), *samples("n2", 0)], batch="b"
    )
    with Reader(tmp_path / "a") as opened:
        assert asked(opened, "is any node slower than the others?")[1].startswith("No node stands out")
    Writer(tmp_path / "b", durable=False).append([job("1", 0, "FAILED", "n1,n2", gpus=2)], batch="b")
    with Reader(tmp_path / "b") as opened:
        assert asked(opened, "which nodes are slow?")[1].startswith("No GPU of such a job was measured")


def test_what_logs_say_is_looked_for_in_all_of_them(reader: Reader):
    _, short, more = asked(reader, "which jobs had an NCCL timeout?")
    assert short == "Jobs whose logs say so: 2."
    assert more[0].startswith(
        "Job 3 of mira (COMPLETED): collective_timeout, events: 1, the last at 2026-03-11 10:30:00 UTC"
    )
    _, last, others = asked(reader, "when was the last NCCL time-out?")
    assert last.startswith("Job 3 of mira") and others == []
    assert asked(reader, "which jobs raised a ModuleNotFoundError?")[2][0].startswith(
        "Job 2 of lin (COMPLETED): ModuleNotFoundError"
    )
    _, short, more = asked(reader, 'which jobs printed "Loading Shard"?')
    assert short == "Jobs whose logs say so: 1."
    assert more[0].startswith(
        "Job 2 of lin (COMPLETED): lines: 1 in the log of an attempt that ended at 2026-03-10 11:00"
    )
    assert asked(reader, 'which jobs printed "shard .*"?')[1].startswith("No line that was kept")
    assert asked(reader, "did any job see a CUDA error?")[2][0].startswith("Job 3 of mira (COMPLETED): cuda_error")
    assert asked(reader, "which jobs had a segfault?")[1].startswith("Nothing of that kind was recognised")


def test_a_user_learns_of_own_jobs_and_of_no_node(reader: Reader):
    mine = Investigation(Guarded(reader, Viewer("lin")))
    assert "mira" not in str(mine.ask("which jobs had a low GPU utilization?").model_dump())
    assert mine.ask("which jobs had an NCCL timeout?").short.startswith("Nothing of that kind was recognised")
    assert mine.ask("which nodes are slow?").short == "Only an operator may ask about the nodes of a whole cluster."


def test_of_an_open_job_its_own_nodes_are_asked_about():
    assert not of_many("which nodes are slow?", opened=True) and of_many("which nodes are slow?", opened=False)
    assert of_many("which nodes of the cluster are slow?", opened=True)
    assert not of_many("is there an NCCL time-out?", opened=True)
    assert logged("did any job print nothing at all?") is None
    assert logged("which of bo's and lin's jobs had errors?") is None, "an apostrophe quotes nothing"
