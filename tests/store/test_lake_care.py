"""Compaction, age, schema evolution, damage."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from store import Reader, Writer, commits, free_sql, manifest
from store.catalog import QueryInfo
from store.compact import compact
from store.doctor import doctor
from store.lake import Lake, locked
from store.pruning import Limits
from store.result import StoreError
from store.retain import retain
from store.rows import LogLine, SlurmNodeSample, SlurmNodeState

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
COUNT = QueryInfo("counted", "", ("slurm_node_sample",), (), (), "", "SELECT count(*) FROM slurm_node_sample", {})


def samples(count: int, node: str = "n1", start: datetime = T) -> list[SlurmNodeSample]:
    return [SlurmNodeSample(node=node, ts=start + timedelta(seconds=i), cpus=i) for i in range(count)]


def count(lake: Path) -> object:
    with Reader(lake) as reader:
        return reader.run(COUNT, {}, 1).rows[0][0]


def segments(lake: Path) -> list[Path]:
    return sorted((lake / "tables").rglob("*.parquet"))


def test_merged_segments_are_sorted_counted_once_and_the_old_ones_go_after_the_grace_period(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for i in reversed(range(5)):
        Writer(lake).append(samples(10, start=T + timedelta(minutes=i)), batch=f"b{i}")
    assert compact(lake).merged == 0, "commits younger than the settling time are left alone"
    done = compact(lake, settle_s=0, grace_s=3600)
    assert (done.merged, done.into, len(segments(lake))) == (5, 1, 6)
    assert count(lake) == 50
    assert compact(lake, settle_s=0, grace_s=0).removed == 5
    assert len(segments(lake)) == 1
    stored = duckdb.sql(f"SELECT ts FROM '{segments(lake)[0]}'").fetchall()
    assert stored == sorted(stored)
    assert Writer(lake).append(samples(10), batch="b0").duplicate, "a retry after the merge is still known"
    assert (count(lake), doctor(lake, deep=True).findings) == (50, [])


def test_a_batch_that_can_be_replaced_is_never_merged_into_others(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for i in range(4):
        Writer(lake).append(samples(3), batch=f"b{i}")
    Writer(lake).append(samples(7), batch="v1", replaces="file")
    compact(lake, settle_s=0, grace_s=0)
    Writer(lake).append(samples(9), batch="v2", replaces="file")
    assert count(lake) == 12 + 9
    compact(lake, settle_s=0, grace_s=0)
    compact(lake, settle_s=0, grace_s=0)
    assert (count(lake), len(segments(lake)), doctor(lake).findings) == (21, 2, [])


def test_what_a_dead_writer_left_is_never_counted_and_is_cleaned_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    Writer(lake).append(samples(3), batch="a")
    with monkeypatch.context() as m:
        m.setattr(commits, "write", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            Writer(lake).append(samples(5), batch="b")
    assert (count(lake), len(segments(lake))) == (3, 2)
    assert [f.kind for f in doctor(lake).findings] == ["leftovers"]
    Writer(lake).append(samples(5), batch="b")
    assert count(lake) == 8
    assert compact(lake).abandoned == 0, "until readers that know the older record are done"
    assert compact(lake, grace_s=0).abandoned == 1
    assert (count(lake), len(segments(lake)), doctor(lake).findings) == (8, 2, [])


def test_a_batch_that_is_being_published_is_not_taken_for_abandoned(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    Writer(lake).append(samples(3), batch="a")
    folder = next(lake.tables.glob("*/*/*"))
    have = manifest.load(folder)
    assert have is not None
    have.segments.append(replace(have.segments[0], key="b", pub="unfinished"))
    manifest.save(folder, have, durable=False)
    with commits.holding(lake, "b"):
        assert compact(lake).abandoned == 0
    assert compact(lake).abandoned == 1


def test_two_compactors_do_not_merge_the_same_partition(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for i in range(4):
        Writer(lake).append(samples(3), batch=f"b{i}")
    folder = next((lake / "tables").glob("*/*/*"))
    with locked(folder / "compact.lock"):
        assert compact(lake, settle_s=0).busy == 1
    assert compact(lake, settle_s=0).merged == 4


def test_any_number_of_writers_and_readers_run_at_once(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    Writer(lake).append([], batch="start")
    stop = threading.Event()
    seen: list[object] = []

    def look() -> None:
        with Reader(lake, threads=1) as reader:
            while not stop.is_set():
                seen.append(reader.run(COUNT, {}, 1).rows[0][0])

    looking = threading.Thread(target=look)
    looking.start()
    with ThreadPoolExecutor(4) as pool:  # each batch is sent twice, by different writers
        sent = [i % 6 for i in range(12)]
        done = list(pool.map(lambda i: Writer(lake, threads=1).append(samples(10, f"n{i % 2}"), batch=f"b{i}"), sent))
    stop.set()
    looking.join()
    assert sum(d.duplicate for d in done) == 6
    assert count(lake) == 60
    assert seen == sorted(seen, key=str) or all(isinstance(n, int) and n % 10 == 0 for n in seen)
    assert doctor(lake).healthy


def test_a_segment_of_another_version_reads_missing_columns_as_null_and_ignores_unknown_ones(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    Writer(lake).append(samples(2), batch="now")
    folder = next(lake.tables.glob("*/*/*"))
    have = manifest.load(folder)
    assert have is not None
    for name, sql, columns in (
        (
            "old",
            "SELECT 'n1' AS node, TIMESTAMP '2026-03-01 09:00:00' AS ts, 7::BIGINT AS cpus",
            ("node", "ts", "cpus"),
        ),
        ("new", "SELECT 'n1' AS node, TIMESTAMP '2026-03-01 11:00:00' AS ts, 5 AS quarks", ("node", "ts", "quarks")),
    ):
        duckdb.execute(f"COPY ({sql}) TO '{folder / name}.parquet'")
        have.segments.append(
            replace(have.segments[0], file=f"{name}.parquet", rows=1, columns=columns, key=None, pub=None)
        )
    manifest.save(folder, have, durable=False)
    found = free_sql.run(lake, "SELECT cpus, gpus FROM slurm_node_sample ORDER BY ts")
    assert found.rows == ((7, None), (0, None), (1, None), (None, None))
    compact(lake, min_segments=2, settle_s=0, grace_s=0)
    compact(lake, min_segments=2, settle_s=0, grace_s=0)
    assert len(segments(lake.root)) == 2, "a segment with columns that this version does not know is left as it is"
    assert free_sql.run(lake, "SELECT cpus, gpus FROM slurm_node_sample ORDER BY ts").rows == found.rows


def test_whole_days_age_out_and_the_rest_stays(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for day in range(4):
        Writer(lake).append(samples(10, start=T + timedelta(days=day)), batch=f"d{day}")
    Writer(lake).append([SlurmNodeSample(node="n1", cpus=1), LogLine(text="x", ts=T)], batch="undated")
    now = T + timedelta(days=3)
    done = retain(lake, by_table={"slurm_node_sample": 1}, now=now, grace_s=3600)
    assert (done.rows, done.removed, count(lake)) == (20, 0, 21)
    assert retain(lake, by_table={"slurm_node_sample": 1}, now=now, grace_s=0).removed == 2
    assert sorted(p.name for p in (lake / "tables" / "slurm_node_sample").iterdir()) == [
        "2026-03-03",
        "2026-03-04",
        "undated",
    ]
    assert doctor(lake).findings == []
    with pytest.raises(StoreError, match="no table nonsense"):
        retain(lake, by_table={"nonsense": 1})


def test_a_reader_with_an_old_manifest_asks_again_when_its_segments_are_gone(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for i in range(4):
        Writer(lake).append(samples(5), batch=f"b{i}")
    with Reader(lake) as reader:
        opened = reader.snapshots.take(["slurm_node_sample"])
        compact(lake, settle_s=0, grace_s=0)
        compact(lake, settle_s=0, grace_s=0)
        takes = [opened]
        real = reader.snapshots.take
        reader.snapshots.take = lambda *a: takes.pop() if takes else real(*a)  # pyright: ignore
        assert reader.run(COUNT, {}, 1).rows == ((20,),)


@pytest.mark.parametrize("damage", ["cut", "noise", "gone", "empty"])
def test_a_damaged_segment_is_named_with_what_to_do(damage: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    Writer(lake).append(samples(2000), batch="b")
    victim = segments(lake)[0]
    raw = victim.read_bytes()
    if damage == "gone":
        victim.unlink()
    else:
        victim.write_bytes({"cut": raw[: len(raw) // 2], "noise": os.urandom(len(raw)), "empty": b""}[damage])
    with Reader(lake) as reader, pytest.raises(StoreError, match=rf"counted: .*{victim.name}.*inquest doctor"):
        reader.run(QueryInfo(**{**fields(COUNT), "sql": "SELECT sum(cpus) FROM slurm_node_sample"}), {}, 1)
    kinds = {f.kind for f in doctor(lake).findings}
    assert kinds == ({"missing segment"} if damage == "gone" else {"corrupt segment"})
    assert not doctor(lake).healthy


def fields(info: QueryInfo) -> dict[str, object]:
    return {f: getattr(info, f) for f in QueryInfo.__dataclass_fields__}


def test_loss_and_doubling_are_detected(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    Writer(lake).append(samples(5), batch="a")
    Writer(lake).append(samples(5), batch="b")
    folder = next(lake.tables.glob("*/*/*"))
    have = manifest.load(folder)
    assert have is not None
    one, two = have.segments
    for kept, kind in (([one], "loss"), ([one, two, two], "doubling")):
        manifest.save(folder, manifest.Manifest(kept), durable=False)
        assert kind in {f.kind for f in doctor(lake).findings}


def test_pruning_by_time_keeps_what_lasted_into_the_window(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    Writer(lake).append(
        [SlurmNodeState(node="n1", ts=T - timedelta(days=9), end_ts=T, state="DOWN")], batch="ended at ten"
    )
    Writer(lake).append([SlurmNodeState(node="n2", ts=T - timedelta(days=9), state="DOWN")], batch="lasting")
    Writer(lake).append([SlurmNodeState(node="n3", ts=T + timedelta(days=9), state="DOWN")], batch="later")
    sql = "SELECT node FROM slurm_node_state WHERE ts <= $to_ts ORDER BY 1"
    info = QueryInfo(
        "down",
        "",
        ("slurm_node_state",),
        (),
        (),
        "",
        sql,
        {"slurm_node_state": Limits(frozenset({"from_ts", "to_ts"}))},
    )
    with Reader(lake) as reader:
        found = reader.run(info, {"to_ts": "2026-03-02T00:00:00Z"}, 9)
        assert (found.rows, found.coverage[0].segments) == ((("n1",), ("n2",)), 2)
        late = QueryInfo(
            **{**fields(info), "sql": "SELECT node FROM slurm_node_state WHERE $from_ts IS NOT NULL ORDER BY 1"}
        )
        assert reader.run(late, {"from_ts": "2026-03-02T00:00:00Z"}, 9).rows == (("n2",), ("n3",))
