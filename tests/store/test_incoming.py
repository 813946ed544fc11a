"""What nodes hand over: it arrives whole and once, is in every answer at once, and is taken in once by whoever comes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collector.node.spool_out import encoded
from store import commits, free_sql, incoming, overlay
from store import take_in as taking
from store.catalog import QueryInfo
from store.compact import compact
from store.doctor import doctor
from store.incoming import Chunk, put, waiting
from store.lake import Lake
from store.reader import Reader
from store.result import StoreError
from store.retain import retain
from store.rows import GpuSample, HostEvent, Row
from store.snapshot import Snapshots
from store.take_in import take_in
from store.writer import Writer

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
PIDS = QueryInfo("pids", "", ("host_event",), (), (), "", "SELECT pid FROM host_event ORDER BY pid", {})


def event(n: int, **more: Any) -> HostEvent:
    return HostEvent(node="node1", ts=NOW + timedelta(seconds=n), origin="test", event="storage", pid=n, **more)


def spooled(folder: Path, rows: list[Row]) -> Path:
    """A chunk as a node's spool has it."""
    folder.mkdir(parents=True)
    for row in rows:
        with (folder / f"{row.TABLE}.csv").open("ab") as file:
            file.write(encoded(row))
    (folder / incoming.COLUMNS).write_text(incoming.own_layout())
    return folder


def handed(lake: Path, n: int, *rows: Row, node: str = "node1") -> Chunk:
    """A chunk in the lake, with event `n` where no rows are given."""
    source = spooled(lake.parent / f"spool-{node}-{n}", list(rows) or [event(n)])
    return put(Lake(lake), node, f"20260301T10{n:04d}-{n:012x}", source)


def pids(lake: Path) -> list[int]:
    """What a reader that has just come sees."""
    with Reader(lake) as reader:
        return seen(reader)


def seen(reader: Reader) -> list[int]:
    return [int(str(row[0])) for row in reader.run(PIDS, {}, 10_000).rows]


def test_what_was_handed_over_is_in_answers_before_anybody_takes_it_in(tmp_path: Path) -> None:
    """In a question's, in free SQL, in what is derived; and the reader leaves nothing behind and changes nothing."""
    lake = tmp_path / "lake"
    handed(lake, 1)
    handed(lake, 2, GpuSample(node="node1", ts=NOW, gpu=0, gpu_uuid="GPU-0", power_w=300.0))
    before = sorted(str(p) for p in lake.rglob("*"))
    with Reader(lake) as reader:
        assert seen(reader) == [1]
        assert {c.table for c in reader.coverage() if c.rows} == {"host_event", "gpu_sample", "gpu_minute"}
        assert reader.lacks == ""
    found = free_sql.run(lake, "SELECT (SELECT count(*) FROM host_event), power_max_w FROM gpu_minute")
    assert (found.rows, found.caveat) == (((1, 300.0),), "")
    assert sorted(str(p) for p in lake.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else needs root")
def test_a_reader_that_may_not_write_the_lake_sees_it_too() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        lake = Path(folder) / "lake"
        handed(lake, 1)
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.setgid(65534)
                os.setuid(65534)
                assert not os.access(lake, os.W_OK)
                os.write(tells, repr(pids(lake)).encode())
            os._exit(0)
        os.close(tells)
        assert os.read(told, 100) == b"[1]"
        os.waitpid(child, 0)


def test_a_reader_that_stays_open_sees_each_chunk_once_whatever_becomes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Handed over, taken in, merged by compaction: after each step, and with chunks of both kinds beside each other."""
    monkeypatch.setattr(overlay, "SURE_S", 0.0)  # compaction does not wait here, either
    lake = tmp_path / "lake"
    Lake(lake).create()
    with Reader(lake) as reader:
        assert seen(reader) == []
        for n in range(1, 4):
            handed(lake, n)
            assert seen(reader) == list(range(1, n + 1))
        assert take_in(lake).chunks == 3
        assert seen(reader) == [1, 2, 3]
        handed(lake, 4)
        assert seen(reader) == [1, 2, 3, 4]
        compact(lake, min_segments=1, settle_s=0)
        take_in(lake)
        compact(lake, min_segments=2, settle_s=0)
        assert seen(reader) == [1, 2, 3, 4]
    assert doctor(lake, deep=True).findings == []


def test_a_picture_that_comes_long_after_the_look_at_what_waits_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a host that stood still, what waited was published and merged meanwhile: nothing in the picture says which chunks it has."""
    lake = tmp_path / "lake"
    handed(lake, 1)
    handed(lake, 2)
    late = [0.0]
    monkeypatch.setattr(overlay, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + late[0], time=time.time))
    taken = Snapshots._picture

    def picture(self: Snapshots, *args: Any) -> Any:
        if not late[0]:
            late[0] = overlay.SLOW_S + 1
            assert take_in(lake).chunks == 2
            Writer(lake).append([event(0)], batch="beside")
            compact(lake, min_segments=2, settle_s=0)
        return taken(self, *args)

    monkeypatch.setattr(Snapshots, "_picture", picture)
    assert pids(lake) == [0, 1, 2]


def test_many_chunks_are_one_batch(tmp_path: Path) -> None:
    """One segment of each table and node, not one a chunk; and each chunk is known by its own key."""
    lake = tmp_path / "lake"
    chunks = [handed(lake, n) for n in range(1, 6)] + [handed(lake, 1, node="node2")]
    done = take_in(lake)
    assert (done.chunks, done.rows, done.error) == (6, 6, None)
    assert waiting(Lake(lake)) == []
    assert len(list(lake.rglob("*.parquet"))) == 1, "both nodes' rows name node1"
    assert all(commits.published(Lake(lake), chunk.key) for chunk in chunks)
    assert pids(lake) == [1, 1, 2, 3, 4, 5]


def test_a_chunk_that_comes_again_is_taken_in_once(tmp_path: Path) -> None:
    """Its node died after it had handed it over, before it had removed its own copy."""
    lake = tmp_path / "lake"
    chunk = handed(lake, 1)
    take_in(lake)
    shutil.rmtree(tmp_path / "spool-node1-1")
    again = handed(lake, 1)
    assert (again, pids(lake)) == (chunk, [1])
    assert take_in(lake).duplicates == 1
    assert (waiting(Lake(lake)), pids(lake)) == ([], [1])


class Killed(BaseException):
    """Nothing catches it."""


def dies_at(monkeypatch: pytest.MonkeyPatch, where: list[tuple[Any, str]], step: int) -> Callable[[], int]:
    """Let the `step`th call of any of these end it all; gives how many calls there were."""
    calls = [0]

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            calls[0] += 1
            if calls[0] == step:
                raise Killed
            return real(*args, **more)

        return call

    for home, name in where:
        monkeypatch.setattr(home, name, wrapped(getattr(home, name)))
    return lambda: calls[0]


@pytest.mark.parametrize("step", range(1, 12))
def test_killed_while_handing_over_and_again_it_arrives_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """At each step of the copy: nobody sees half of it, and the next try brings all of it."""
    lake = tmp_path / "lake"
    source = spooled(tmp_path / "spool", [event(1), GpuSample(node="node1", ts=NOW, gpu=0)])
    where = [(shutil, "copyfile"), (Path, "rename"), (Path, "write_text"), (incoming, "sync_file"), (Path, "mkdir")]
    Lake(lake).create()
    with monkeypatch.context() as patched:
        calls = dies_at(patched, where, step)
        try:
            put(Lake(lake), "node1", "id", source)
            assert calls() < step
        except Killed:
            assert all(len(chunk.files()) == 2 for chunk in waiting(Lake(lake)))
    put(Lake(lake), "node1", "id", source)
    assert pids(lake) == [1]
    assert take_in(lake).rows == 2
    assert [p.name for p in (lake / "incoming").iterdir()] == []


@pytest.mark.parametrize("step", range(1, 16))
def test_a_taker_that_is_killed_at_any_step_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """What a reader sees is the same before, after, when compaction has merged what was published, and when the next has come."""
    monkeypatch.setattr(overlay, "SURE_S", 0.0)  # compaction does not wait here, either
    lake = tmp_path / "lake"
    for n in (1, 2):
        handed(lake, n, event(n), GpuSample(node="node1", ts=NOW, gpu=n))
    where = [(Path, "rename"), (commits, "write"), (shutil, "rmtree")]
    with Reader(lake) as reader:
        assert seen(reader) == [1, 2]
        with monkeypatch.context() as patched:
            calls = dies_at(patched, where, step)
            try:
                take_in(lake)
                assert calls() < step
            except Killed:
                pass
        assert pids(lake) == [1, 2]
        Writer(lake).append([event(0)], batch="beside")
        compact(lake, min_segments=2, settle_s=0)
        assert seen(reader) == [0, 1, 2] == pids(lake)
        handed(lake, 3)
        assert take_in(lake).error is None
        assert seen(reader) == [0, 1, 2, 3]
    assert waiting(Lake(lake)) == []
    compact(lake, min_segments=2, settle_s=0, grace_s=0)
    assert pids(lake) == [0, 1, 2, 3]
    assert [f for f in doctor(lake, deep=True).findings if f.serious] == []


def test_while_one_takes_a_chunk_in_another_goes_on_with_the_rest(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = handed(lake, 1)
    handed(lake, 2)
    with commits.holding(Lake(lake), first.key):
        done = take_in(lake)
    assert (done.busy, done.chunks) == (1, 1)
    assert pids(lake) == [1, 2]
    assert take_in(lake).chunks == 1


def test_a_chunk_that_is_taken_in_while_a_reader_looks_is_not_seen_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at what waits and the picture of what is published; of two chunks that are read together one."""
    lake = tmp_path / "lake"
    with commits.holding(Lake(lake), handed(lake, 1).key):
        handed(lake, 2)
        with Reader(lake) as reader:
            picture = reader.snapshots._picture  # pyright: ignore[reportPrivateUsage]
            took: list[int] = []

            def late(*args: Any) -> Any:
                if not took:
                    took.append(take_in(lake).chunks)
                return picture(*args)

            monkeypatch.setattr(reader.snapshots, "_picture", late)
            assert seen(reader) == [1, 2]
            assert took == [1]


def test_a_chunk_that_vanishes_between_two_looks_at_it_holds_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another taker removes it between the look whether it is there and the look into it."""
    monkeypatch.setattr(Path, "is_dir", lambda self: True)
    assert Chunk(tmp_path / "n1@gone").files() == []


def test_where_time_is_short_a_taker_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "lake"
    for n in range(1, 4):
        handed(lake, n)
    monkeypatch.setattr(taking, "MOST", 1)
    done = take_in(lake, limit_s=0.0)
    assert done.chunks + done.left == 3 and done.left > 0
    assert pids(lake) == [1, 2, 3]


def test_only_the_chunks_of_a_node_are_taken_in(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    handed(lake, 1, node="node1")
    other = handed(lake, 2, node="node10")
    assert take_in(lake, node="node1").chunks == 1
    assert waiting(Lake(lake)) == [other]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=False)


def test_a_lake_that_is_full_or_read_only_gets_it_later(tmp_path: Path, small_disk: Path) -> None:
    """Handing over and taking in fail whole, leave nothing half done, and succeed once there is room and leave."""
    lake = small_disk / "lake"
    handed(lake, 1)
    source = spooled(tmp_path / "big", [event(n, message="m" * 1000) for n in range(2, 2002)])
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while ballast.write(bytes(4096)) == 4096:
            pass
    with pytest.raises(OSError, match="No space"):
        put(Lake(lake), "node1", "big", source)
    assert [p.name[0] for p in (lake / "incoming").iterdir()] == ["n"]
    assert take_in(lake).error
    (small_disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises((OSError, StoreError), match="Read-only"):
        put(Lake(lake), "node1", "big", source)
    assert "Read-only" in (take_in(lake).error or "")
    assert pids(lake) == [1]
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    put(Lake(lake), "node1", "big", source)
    assert take_in(lake).error is None
    assert pids(lake) == list(range(1, 2002))


def test_the_record_of_a_chunk_goes_with_its_days(tmp_path: Path) -> None:
    """Else a lake would keep a small file for each chunk for ever."""
    lake = tmp_path / "lake"
    key = handed(lake, 1).key
    take_in(lake)
    for path in commits.paths(Lake(lake)):
        path.write_text(json.dumps({**json.loads(path.read_text()), "at": 0.0}))
    retain(lake, days=1, now=NOW + timedelta(days=30))
    assert commits.read(Lake(lake), key) is None
    assert list(commits.paths(Lake(lake))) == []


def test_an_old_seals_chunk_is_known_by_its_id(tmp_path: Path) -> None:
    """A batch of its own, under the same id: as versions published chunks that took each one in by itself."""
    lake = tmp_path / "lake"
    Writer(lake).append([event(1)], batch="collect/node1/20260301T100001-000000000001")
    handed(lake, 1)
    assert pids(lake) == [1]
    assert take_in(lake).duplicates == 1
    assert pids(lake) == [1]


def test_what_killed_readers_left_is_removed_by_the_next_and_what_living_ones_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    lake = tmp_path / "lake"
    handed(lake, 1)
    left = tmp_path / "tmp/inquest-waiting-left"
    left.mkdir()
    with Reader(lake) as living:
        assert seen(living) == [1]
        for folder in (tmp_path / "tmp").iterdir():
            os.utime(folder, (0, 0))
        assert pids(lake) == [1]
        assert not left.exists()
        handed(lake, 2)
        assert seen(living) == [1, 2]
    assert list((tmp_path / "tmp").iterdir()) == []
