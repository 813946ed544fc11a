"""The list of past days: what is looked up in it is what the manifests say, and what changes goes off it before."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import Reader, Writer, day_index, day_marks, manifest
from store.catalog import QueryInfo
from store.compact import compact
from store.doctor import doctor
from store.lake import Lake, replace_json
from store.retain import retain
from store.rows import HostEvent, LogLine, Row, SlurmNodeSample, SlurmNodeState
from store.snapshot import DAY_US, Snapshots, Window

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
DAYS = [f"2026-03-0{d}" for d in range(1, 5)]
TABLES = ("host_event", "log_line", "slurm_node_sample", "slurm_node_state")
COUNT = QueryInfo("counted", "", ("slurm_node_sample",), (), (), "", "SELECT count(*) FROM slurm_node_sample", {})


def rows(day: int, node: str, job: str | None) -> Iterator[Row]:
    ts = T + timedelta(days=day)
    yield HostEvent(node=node, ts=ts, job_id=job)
    yield LogLine(ts=ts, job_id=job, text="x")
    yield SlurmNodeSample(node=node, ts=ts, cpus=day)
    yield SlurmNodeState(node=node, ts=ts, end_ts=ts + timedelta(days=2) if job else None, state="IDLE")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake", durable=False)
    for day in range(4):
        for node in ("n1", "n2", "n3"):
            for job in ("1", "2", None) if node == "n1" else ("1",):
                Writer(made).append(rows(day, node, job), batch=f"{day}{node}{job}")
    many = [HostEvent(node="n2", ts=T, job_id=str(n)) for n in range(manifest.MAX_JOBS + 1)]
    Writer(made).append([*many, LogLine(text="undated")], batch="many")
    return made


def files(snapshots: Snapshots, window: Window) -> dict[str, list[str]]:
    found = snapshots.take(TABLES, dict.fromkeys(TABLES, window))
    return {table: [str(path) for path, _ in opened] for table, opened in found.items()}


def listed(lake: Lake, table: str = "slurm_node_sample") -> list[str]:
    return sorted(day_marks.valid(lake, table, day_marks.newest(lake)))


def windows(seed: int) -> Iterator[Window]:
    rng = random.Random(seed)
    at = int(T.timestamp()) * 1_000_000
    for _ in range(300):
        first = rng.choice([None, at + rng.randrange(-2, 5) * DAY_US])
        yield Window(
            jobs=rng.choice([None, frozenset({"1"}), frozenset({"2", "77"}), frozenset[str](), frozenset({"64"})]),
            node=rng.choice([None, None, "n1", "n4"]),
            nodes=rng.choice([None, frozenset({"n-n1"}), frozenset({"n-n2", "n-n9"}), frozenset[str]()]),
            either=rng.random() < 0.3,
            start=first,
            end=rng.choice([None, (first or at) + rng.randrange(-1, 4) * DAY_US]),
        )


def test_what_is_looked_up_is_what_the_manifests_say_in_their_order(lake: Lake) -> None:
    assert day_index.build(lake) == 4
    looked_up, walked = Snapshots(lake), Snapshots(lake)
    walked.distrust()
    narrowed = 0
    for window in windows(1):
        found = files(looked_up, window)
        assert found == files(walked, window), window
        narrowed += 0 < sum(map(len, found.values())) < 50
    assert narrowed > 100
    assert not any("2026-03" in name for name in looked_up._manifests), "no manifest of a listed day was read"  # pyright: ignore


def test_a_day_that_changes_is_off_the_list_at_once_and_back_on_it_after_a_compaction(lake: Lake) -> None:
    assert compact(lake, settle_s=0, grace_s=0).listed == 4
    assert listed(lake) == DAYS
    with Reader(lake) as reader:
        assert reader.run(COUNT, {}, 1).rows == ((20,),)
        Writer(lake).append([SlurmNodeSample(node="n9", ts=T + timedelta(days=1), cpus=1)], batch="late")
        assert listed(lake) == [d for d in DAYS if d != "2026-03-02"]
        assert listed(lake, "host_event") == DAYS, "what nobody wrote stays on it"
        assert reader.run(COUNT, {}, 1).rows == ((21,),)
        assert compact(lake).listed == 1
        assert listed(lake) == DAYS
        assert reader.run(COUNT, {}, 1).rows == ((21,),)
        assert retain(lake, by_table={"slurm_node_sample": 1}, now=T + timedelta(days=4)).rows == 16
        assert reader.run(COUNT, {}, 1).rows == ((5,),)
        compact(lake)
        assert reader.run(COUNT, {}, 1).rows == ((5,),)
    assert doctor(lake).findings == []
    assert len(list(day_marks.folder(lake).glob("*.sqlite"))) == 1


def test_today_is_not_listed_and_the_list_is_not_made_anew_for_nothing(lake: Lake) -> None:
    assert day_index.build(lake, today=T + timedelta(days=2)) == 2
    generation = day_marks.newest(lake)
    assert listed(lake) == DAYS[:2]
    assert day_index.build(lake, today=T + timedelta(days=2)) == 0
    assert day_marks.newest(lake) == generation
    assert day_index.build(lake) == 2
    assert listed(lake) == DAYS


def test_a_writer_waits_until_a_day_is_listed(lake: Lake) -> None:
    """Else a manifest could change between its reading and the mark that vouches for it."""
    done = threading.Event()

    def write() -> None:
        Writer(lake).append([SlurmNodeSample(node="n1", ts=T, cpus=9)], batch="late")
        done.set()

    with day_marks.still(lake):
        writer = threading.Thread(target=write)
        writer.start()
        assert not done.wait(0.3)
    assert done.wait(20)
    writer.join()


def test_nobody_lists_a_day_while_its_manifest_is_replaced(lake: Lake) -> None:
    day_index.build(lake)
    partition = lake.tables / "host_event" / DAYS[0] / "n-n1"
    with day_marks.changing(partition, durable=True):
        assert DAYS[0] not in listed(lake, "host_event")
        fd = os.open(day_marks.folder(lake) / "lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(fd)


@pytest.mark.parametrize("damage", ["garbage", "empty", "unreadable", "no table"])
def test_a_list_that_cannot_be_read_is_done_without_and_made_anew(lake: Lake, damage: str) -> None:
    day_index.build(lake)
    (path,) = day_marks.folder(lake).glob("*.sqlite")
    if damage == "garbage":
        path.write_bytes(os.urandom(4096))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "unreadable":
        path.unlink()
        path.mkdir()
    else:
        con = sqlite3.connect(path)
        con.execute("DROP TABLE segment")
        con.close()
    walked = Snapshots(lake)
    walked.distrust()
    assert files(Snapshots(lake), Window()) == files(walked, Window())
    assert day_index.build(lake) == 4, "nothing of it can be taken over"
    assert listed(lake) == DAYS
    found = Snapshots(lake)
    assert files(found, Window()) == files(walked, Window())
    assert not any("2026-03" in name for name in found._manifests)  # pyright: ignore


def test_what_died_while_it_made_the_list_leaves_no_mark_that_counts(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as m:
        m.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            day_index.build(lake)
    assert list(day_marks.folder(lake).glob("*/2026-*"))
    assert (day_marks.newest(lake), listed(lake)) == ("", [])
    assert day_index.build(lake) == 4
    assert len(list(day_marks.folder(lake).glob("*/2026-*"))) == 4 * len(TABLES)


def test_files_taken_away_by_hand_are_found_out(lake: Lake) -> None:
    day_index.build(lake)
    for path in (lake.tables / "slurm_node_sample" / DAYS[1]).rglob("*"):
        if path.is_file():
            path.unlink()
    with Reader(lake) as reader:
        assert reader.run(COUNT, {}, 1).rows == ((15,),)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave behind what another user cannot open")
def test_a_compaction_by_root_leaves_nothing_that_the_lake_s_owner_cannot_open(lake: Lake) -> None:
    shutil.rmtree(day_marks.folder(lake), ignore_errors=True)
    nobody = 65534
    for path in (lake.root, *lake.root.rglob("*")):
        os.chown(path, nobody, nobody)
    compact(lake)
    home = day_marks.folder(lake)
    made = [home, home / "lock", home / "building", home / "host_event", *lake.root.rglob("compact.lock")]
    assert len(made) > 10
    assert {p: p.stat().st_uid for p in made if p.stat().st_uid != nobody} == {}
    theirs = lake.root.parent / "of root"
    theirs.touch()
    (home / "building").unlink()
    (home / "building").symlink_to(theirs)
    Writer(lake).append([SlurmNodeSample(node="n1", ts=T, cpus=9)], batch="late")
    compact(lake)
    assert theirs.stat().st_uid == 0, "what a link leads to is given to nobody"


def test_doctor_tells_of_a_list_that_is_not_true(lake: Lake) -> None:
    """As one that knows nothing of lists would leave it, which writes a manifest without taking its day off."""
    day_index.build(lake)
    assert doctor(lake).findings == []
    path = lake.tables / "slurm_node_sample" / DAYS[1] / "n-n2"
    have = manifest.load(path)
    assert have is not None
    manifest.save(path, manifest.Manifest([replace(s, ts_max=None) for s in have.segments]), durable=False)
    raw = (path / "manifest.json").read_bytes()
    day_index.build(lake)
    replace_json(path / "manifest.json", json.loads(raw.replace(b'"ts_max":null', b'"ts_max":1')), False)
    (found,) = doctor(lake).findings
    assert (found.kind, found.serious, found.where) == ("stale index", True, f"slurm_node_sample/{DAYS[1]}/n-n2")
    assert "delete" in found.remedy and "compact" in found.remedy
