"""A block is stored as its rows are one by one: the same values in the same order, partitions and manifests."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import Writer, manifest
from store import writer as writing
from store.rows import Block, LogEvent, Process, Row, TrainStep, one_by_one

START = datetime(2026, 3, 25, 22, tzinfo=UTC)
TIMES = st.one_of(st.none(), st.integers(0, 60).map(lambda h: START + timedelta(hours=h)))
EASTERN = st.integers(0, 9).map(lambda h: datetime(2026, 3, 25, h, tzinfo=timezone(timedelta(hours=-5))))
TEXTS = st.one_of(st.none(), st.text(alphabet='a",%\r\n\udc80é', max_size=4))
FLOATS = st.one_of(st.none(), st.floats(allow_nan=False))
KINDS: dict[str, Any] = {
    "ts": st.one_of(TIMES, EASTERN),
    "node": TEXTS,
    "job_id": TEXTS,
    "file": TEXTS,
    "metrics": TEXTS,
    "loss": FLOATS,
    "step": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "skipped": st.one_of(st.none(), st.booleans()),
}


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    count = draw(st.integers(1, 6))
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), unique=True, min_size=1))
    fixed = (
        draw(st.lists(st.sampled_from(sorted(set(KINDS) - set(names))), unique=True)) if len(names) < len(KINDS) else []
    )
    steady = draw(st.booleans())  # most often all times are of one day, and all of a column is of one kind
    kinds = {**KINDS, "ts": st.integers(0, 90).map(lambda m: START + timedelta(minutes=m))} if steady else KINDS
    columns = {name: draw(st.lists(kinds[name], min_size=count, max_size=count)) for name in names}
    return Block(TrainStep, count, {name: draw(kinds[name]) for name in fixed}, columns)


def held(lake: Path) -> dict[str, list[Any]]:
    """By partition: its rows in order, and what its manifest says."""
    found: dict[str, list[Any]] = {}
    for folder in sorted({p.parent for p in lake.rglob("*.parquet")}):
        have = manifest.load(folder)
        assert have is not None
        names = [str(folder / s.file) for s in have.segments]
        rows = [row for name in names for row in duckdb.sql(f"SELECT * FROM read_parquet('{name}')").fetchall()]
        told = [
            {**dataclasses.asdict(s), "file": "", "size": 0, "bytes": 0, "pub": "", "key": ""} for s in have.segments
        ]
        found[str(folder.relative_to(lake))] = [*rows, *told]
    return found


def written(folder: Path, rows: list[Row | Block] | Iterator[Row]) -> dict[str, list[Any]]:
    lake = folder / "lake"
    Writer(lake, durable=False).append(rows, batch="b")
    return held(lake)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(blocks(), st.builds(TrainStep, ts=TIMES, loss=FLOATS)), min_size=1, max_size=4))
def test_a_block_is_its_rows(tmp_path_factory: pytest.TempPathFactory, given_rows: list[Row | Block]) -> None:
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    together = written(one, given_rows)
    assert together
    assert together == written(two, one_by_one(iter(given_rows)))


def test_nothing_is_empty_text_and_no_zone_is_lost_in_a_column_that_begins_with_nothing(tmp_path: Path) -> None:
    eastern = datetime(2026, 3, 25, 9, tzinfo=timezone(timedelta(hours=-5)))
    columns = {"happened_ts": [None, eastern], "message": [None, ""]}
    (rows,) = written(tmp_path, [Block(LogEvent, 2, {"ts": START}, columns)]).values()
    assert {(None, None), (datetime(2026, 3, 25, 14), "")} == {(r[48], r[16]) for r in rows[:2]}


def test_a_row_that_lasts_is_open_until_its_end(tmp_path: Path) -> None:
    for end in (None, START):
        block = Block(Process, 2, {"end_ts": end, "job_id": "7"}, {"ts": [START, START], "pid": [1, 2]})
        (tmp_path / str(end)).mkdir()
        (tmp_path / f"{end}1").mkdir()
        assert written(tmp_path / str(end), [block]) == written(tmp_path / f"{end}1", block.rows())


def test_a_spool_is_sealed_when_blocks_fill_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(TrainStep, 700, {"job_id": "7", "ts": START}, {"step": list(range(700)), "metrics": ["x" * 99] * 700})
    monkeypatch.setattr(writing, "CHUNK_ROWS", 1000)
    assert Writer(tmp_path / "a").append([block] * 5, batch="b").segments == 3
    monkeypatch.setattr(writing, "CHUNK_ROWS", 10**9)
    monkeypatch.setattr(writing, "CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(writing, "LOOK_EVERY", 1000)
    assert Writer(tmp_path / "b").append([block] * 5, batch="b").segments == 3


def test_a_record_longer_than_the_readers_limit(tmp_path: Path) -> None:
    block = Block(TrainStep, 2, {"job_id": "7", "ts": START}, {"metrics": ['"' * 1_500_000, "b"], "step": [1, 2]})
    rows = written(tmp_path, [block])
    assert sum(len(v) for v in rows.values()) == 3
