"""Leaving segments out changes no answer."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from store import Reader, Writer
from store.catalog import QueryInfo, catalog
from store.rows import (
    CHECKPOINT_NAMES,
    EVENT_KINDS,
    GpuDevice,
    GpuEvent,
    GpuMinute,
    Row,
    SlurmJob,
    SlurmNodeState,
    TrainStep,
    columns,
    tables,
)

T = datetime(2026, 3, 1, 22, tzinfo=UTC)
WORDS = ("a", "train", "eval", "n1", "FAILED", "TIMEOUT", "7", *EVENT_KINDS, *CHECKPOINT_NAMES)


def row(row_type: type[Row], rng: random.Random, **fixed: Any) -> Row:
    """A row with most of its fields filled with something of their type."""
    values: dict[str, Any] = {}
    for c in columns(row_type):
        if c.name in fixed:
            values[c.name] = fixed[c.name]
        elif rng.random() < 0.8:
            values[c.name] = {
                str: lambda: rng.choice(WORDS),
                int: lambda: rng.randint(0, 40),
                float: lambda: rng.random() * 100,
                bool: lambda: rng.random() < 0.5,
                datetime: lambda: T + timedelta(seconds=rng.randint(-9000, 90000)),
            }[c.python_type]()
    return row_type(**values)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pruned") / "lake"
    writer = Writer(folder, durable=False)
    rng = random.Random(3)
    for job in ("7", "8", None):
        for node in ("n1", "n2", None):
            for hours in (0, 4, 30):
                rows: list[Row] = []
                for row_type in tables().values():
                    if row_type is not GpuMinute:
                        ts = T + timedelta(hours=hours, seconds=rng.randint(0, 900))
                        rows += [row(row_type, rng, job_id=job, node=node, ts=ts) for _ in range(2)]
                writer.append(rows, batch=f"{job} {node} {hours}")
    return folder


@pytest.fixture(scope="module")
def readers(lake: Path) -> Iterator[tuple[Reader, Reader]]:
    """One that leaves segments out, and one that opens all of a table."""
    with Reader(lake) as pruned, Reader(lake, prune=False) as whole:
        yield pruned, whole


def questions(info: QueryInfo) -> Iterator[dict[str, Any]]:
    """Ways to ask: with each optional parameter that leaves segments out left out and given, and with none of any kind."""
    values: dict[str, Any] = {"job_id": "7", "job": "7", "node": "n1", "nodes": "n1,n3", "attempt": 3}
    values |= {"from_ts": "2026-03-02T01:00:00Z", "to_ts": "2026-03-02T03:00:00Z"}
    others = {"VARCHAR": "a", "BIGINT": 5, "DOUBLE": 0.5, "BOOLEAN": True, "TIMESTAMP": "2026-03-02T00:00:00Z"}
    full = {p.name: values.get(p.name, others[p.sql_type]) for p in info.params}
    yield full
    prunes = {name for limits in info.prunes.values() for name in limits.params}
    for p in info.params:
        if p.optional and p.name in prunes:
            yield {k: v for k, v in full.items() if k != p.name}
    yield {p.name: full[p.name] for p in info.params if not p.optional}


def test_a_gpu_s_address_is_known_from_long_before_the_event(tmp_path: Path) -> None:
    own, other = "GPU-1", "GPU-2"
    with_address = [
        GpuDevice(node="n1", gpu=n, gpu_uuid=u, pci_bus_id=f"00000000:{n}B:00.0", ts=T - timedelta(days=9))
        for n, u in ((1, own), (2, other))
    ]
    writer = Writer(tmp_path / "lake")
    writer.append(with_address, batch="inventory")
    writer.append([GpuEvent(node="n1", ts=T, event="xid", xid=79, pci_bus_id="00000000:2B:00.0")], batch="events")
    unknown = GpuEvent(node="n1", ts=T, event="xid", xid=48, pci_bus_id="00000000:9B:00.0")
    writer.append([unknown], batch="more events")
    asked = {"job_id": "7", "nodes": "n1", "from_ts": "2026-03-01T21:00:00Z", "to_ts": "2026-03-01T23:00:00Z"}
    with Reader(tmp_path / "lake") as reader:
        assert [r["gpu_uuid"] for r in reader.ask("gpu_events", **asked).dicts() if r["xid"] == 79] == [other]
        assert reader.ask("gpu_events", gpus=own, **asked).rows == (), "neither is an address of the job's own GPU"
        assert [r["xid"] for r in reader.ask("gpu_events", gpus=f"{own},GPU-3", **asked).dicts()] == [48]


@pytest.mark.parametrize(
    "name", sorted(n for n, i in catalog().items() if i.alone or any(limits.params for limits in i.prunes.values()))
)
def test_a_query_answers_the_same_with_every_segment_open(name: str, readers: tuple[Reader, Reader]) -> None:
    info, (pruned, whole) = catalog()[name], readers
    for params in questions(info):
        found, expected = pruned.ask(name, **params), whole.ask(name, **params)
        assert found.rows == expected.rows, params
        assert dataclasses.replace(found, coverage=()) == dataclasses.replace(expected, coverage=())


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Many jobs, each with a batch of its own, as the import of its output leaves it: such segments are not merged."""
    folder = tmp_path_factory.mktemp("crowded") / "lake"
    writer, rng = Writer(folder, durable=False), random.Random(5)
    every = [row_type for row_type in tables().values() if row_type is not GpuMinute]
    for n in range(20):
        rows = [row(row_type, rng, job_id=f"{n}", node=f"n{n}", ts=T, name=f"a{n}", user="a") for row_type in every]
        writer.append(rows, batch=f"import {n}", replaces=f"file {n}")
    with Reader(folder) as reader:
        yield reader


OF_JOBS = frozenset(
    [
        "log_event",
        "log_line",
        "log_run",
        "train_step",
        "process",
        "source_health",
        "captured_line",
        "cuda_sample",
        "nccl_sample",
        "io_wait",
    ]
)
"""Tables to which each job adds segments of its own."""


@pytest.mark.parametrize("name", sorted(n for n, i in catalog().items() if "job_id" in {p.name for p in i.params}))
def test_what_is_asked_of_a_job_does_not_open_every_other_s_output(name: str, crowded: Reader) -> None:
    """A cluster has tens of thousands of them in a month."""
    info = catalog()[name]
    asked = next(questions(info)) | {"nodes": "n7", "node": "n7"}
    found = crowded.ask(name, **{k: v for k, v in asked.items() if k in {p.name for p in info.params}})
    opened = {c.table: c.segments for c in found.coverage if c.table in OF_JOBS}
    assert info.alone or max(opened.values(), default=0) <= 2, opened


def test_what_is_asked_before_lets_in_the_rows_that_the_answer_needs(tmp_path: Path) -> None:
    """Each job has a batch of its own: of the run before, of jobs of the same name and of the job's nodes something is told all the same."""
    writer = Writer(tmp_path, durable=False)
    for n in range(8):
        begun = T + timedelta(days=n)
        account = SlurmJob(
            job_id=f"{n}", attempt=1, name="fit", user="ida", work_dir="/w", state="FAILED", ts=begun, start_ts=begun,
            end_ts=begun + timedelta(hours=1), node_list=f"n{n}", dependency="afterany:2" if n == 7 else None,
        )  # fmt: skip
        steps = [TrainStep(job_id=f"{n}", attempt=1, file="f", line_no=1, step=100 + n, loss=2.0)]
        down = SlurmNodeState(node=f"n{n}", ts=begun + timedelta(minutes=59), state="DOWN", observed=True)
        writer.append([account, *steps, down], batch=f"{n}", replaces=f"job {n}")
    with Reader(tmp_path) as reader:
        for job, before in (("5", "4"), ("7", "2")):
            (signs,) = reader.ask("resume_signs", job_id=job).dicts()
            assert (signs["parent_job"], signs["parent_last_step"]) == (before, 100 + int(before))
        alike = {r["job_id"]: r["last_step"] for r in reader.ask("similar_jobs", job_id="5").dicts()}
        assert alike == {f"{n}": 100 + n for n in range(8)}
        assert [r["node"] for r in reader.ask("node_failures", job_id="5").dicts()] == ["n5"]
        assert [c.segments for c in reader.ask("node_failures", job_id="5").coverage] == [1, 1]
