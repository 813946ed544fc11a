"""What is alike to an order has one all the same: an answer asked again, of the same rows, is the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

import pytest

from store import Reader, Writer
from store.rows import CudaSample, HostEvent, LogEvent, LogLine, NcclSample, Process, Row
from tests.store.test_pruning import T, row

KINDS: tuple[type[Row], ...] = (CudaSample, HostEvent, LogEvent, LogLine, NcclSample, Process)
QUESTIONS = ("process_exits", "host_events", "log_search", "log_events", "log_extent", "rank_compare")


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Reader]]:
    """The same rows in three orders: few times, places and numbers, so that much is alike."""
    rng = random.Random(4)
    rows = [
        row(kind, rng, job_id="7", attempt=1, ts=T + timedelta(minutes=rng.randint(0, 2)), node="n1", file="a.out",
            line_no=rng.randint(1, 3), pid=rng.randint(1, 3), rank=rng.randint(0, 2), end_ts=T, kind="slurm", name="x")
        for kind in KINDS for _ in range(40)
    ]  # fmt: skip
    orders = [rows, rows[::-1], rng.sample(rows, len(rows))]
    found: list[Reader] = []
    for order in orders:
        folder = tmp_path_factory.mktemp("ties") / "lake"
        Writer(folder, durable=False).append(order, batch="x")
        found.append(Reader(folder))
    yield found
    for reader in found:
        reader.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_order_of_rows_in_the_lake_decides_nothing(readers: list[Reader], name: str) -> None:
    asked = {"pattern": "."} if name == "log_search" else {"nodes": "n1"} if name == "host_events" else {}
    first, *others = [repr(r.ask(name, job_id="7", **asked).rows) for r in readers]
    assert len(first) > 2
    assert all(other == first for other in others)
