"""The node's spool and the child that seals it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.node.seal import seal
from collector.node.spool_out import SpoolOut, SpoolTaken, whole
from store.rows import GpuDetail, GpuSample, HostEvent, Row
from tests.collector.livekit import asked

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)


def event(n: int, message: str = "plain") -> HostEvent:
    return HostEvent(node="node1", ts=NOW, origin="test", event="storage", pid=n, message=message)


def spooled(folder: Path, rows: list[Row]) -> None:
    spool = SpoolOut(folder)
    spool.open()
    for row in rows:
        spool.add(row)
    spool.close()


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    """NULL, the empty text, quotes, line feeds, a lone surrogate and every type."""
    texts = ["", 'say "no"', "two\nlines", "comma,", "\udcff", "é"]
    rows: list[Row] = [event(n, t) for n, t in enumerate(texts)]
    rows += [GpuSample(node="node1", ts=NOW, gpu=0, engine_active=0.5, remap_pending=False, fb_used_bytes=2**40)]
    spooled(tmp_path / "spool", rows)
    done = seal(tmp_path / "spool", tmp_path / "lake", "node1")
    assert (done.error, done.chunks, done.rows) == (None, 1, 7)
    found = asked(tmp_path / "lake", "SELECT message, job_id FROM host_event ORDER BY pid")
    assert found == [(t.replace("\udcff", "\\udcff"), None) for t in texts]
    found = asked(tmp_path / "lake", "SELECT engine_active, remap_pending, fb_used_bytes, power_w, ts FROM gpu_sample")
    assert found[0][:4] == (0.5, False, 2**40, None)
    assert not list((tmp_path / "spool").glob("*-*"))


def test_two_collectors_do_not_share_a_spool(tmp_path: Path) -> None:
    first = SpoolOut(tmp_path)
    first.open()
    with pytest.raises(SpoolTaken, match="--spool"):
        SpoolOut(tmp_path).open()
    first.close()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b'1,"a"\n2,"b"\n', b'1,"a"\n2,"b"\n'),
        (b'1,"a"\n2,"b', b'1,"a"\n'),
        (b'1,"a"\n2,"b\nstill', b'1,"a"\n'),
        (b'1,"a"\n2,"b\n\n', b'1,"a"\n'),
        (b'1,"a"\n\0\0\0\0', b'1,"a"\n'),
        (b'1,"a', b""),
        (b'1,"a ""quoted"" text"\n2', b'1,"a ""quoted"" text"\n'),
    ],
)
def test_a_torn_end_is_cut(tmp_path: Path, text: bytes, kept: bytes) -> None:
    """A record that a death or a power cut left half written goes; a line feed within a text ends no record."""
    path = tmp_path / "host_event.csv"
    path.write_bytes(text)
    assert whole(path) is bool(kept)
    assert path.read_bytes() == kept


def test_a_file_that_cannot_be_read_is_laid_aside_and_delays_nobody(tmp_path: Path) -> None:
    spooled(tmp_path / "spool", [event(1), GpuSample(node="node1", ts=NOW, gpu=0)])
    (chunk,) = (tmp_path / "spool").glob("ready-*")
    (chunk / "host_event.csv").write_text("this,is,no,row\n")
    done = seal(tmp_path / "spool", tmp_path / "lake", "node1")
    assert (done.error, done.rows) == (None, 1)
    assert done.laid_aside == [f"n-node1@{chunk.name.removeprefix('ready-')}/host_event.csv"]
    assert [p.read_text() for p in (tmp_path / "lake/incoming/bad").iterdir()] == ["this,is,no,row\n"]


@pytest.mark.parametrize("left", [None, "", '{"host_event": ["clu'])
def test_a_chunk_whose_columns_were_lost_is_sealed_all_the_same(tmp_path: Path, left: str | None) -> None:
    """Death can come before that file is whole, or while a sealed chunk is being removed."""
    spooled(tmp_path / "spool", [event(1)])
    (layout,) = (tmp_path / "spool").glob("ready-*/columns.json")
    layout.unlink() if left is None else layout.write_text(left)
    done = seal(tmp_path / "spool", tmp_path / "lake", "node1")
    assert (done.error, done.rows) == (None, 1)


def test_a_lake_that_cannot_be_written_keeps_what_waits(tmp_path: Path) -> None:
    """Nothing is lost or laid aside while the lake is away, and all of it is there once it is back."""
    spooled(tmp_path / "spool", [event(1)])
    (tmp_path / "lake").write_text("a file where the folder should be")
    done = seal(tmp_path / "spool", tmp_path / "lake", "node1")
    assert done.error and not done.laid_aside
    (tmp_path / "lake").unlink()
    assert seal(tmp_path / "spool", tmp_path / "lake", "node1").rows == 1


def test_a_seal_that_is_repeated_publishes_nothing_twice(tmp_path: Path) -> None:
    """A seal that died after it had published and before it had tidied up."""
    spooled(tmp_path / "spool", [event(1), event(2)])
    (chunk,) = (tmp_path / "spool").glob("ready-*")
    saved = {p.name: p.read_bytes() for p in chunk.iterdir()}
    seal(tmp_path / "spool", tmp_path / "lake", "node1")
    chunk.mkdir()
    for name, data in saved.items():
        (chunk / name).write_bytes(data)
    done = seal(tmp_path / "spool", tmp_path / "lake", "node1")
    assert (done.duplicates, done.chunks, done.rows) == (1, 0, 0)
    assert asked(tmp_path / "lake", "SELECT count(*) FROM host_event") == [(2,)]


def test_over_budget_detail_goes_first_and_events_last(tmp_path: Path) -> None:
    dropped: list[int] = []
    spool = SpoolOut(tmp_path, budget_bytes=20_000, reserve_bytes=0, on_drop=dropped.append)
    spool.open()
    for n in range(200):
        spool.add(GpuDetail(node="node1", ts=NOW, gpu=n))
        spool.add(GpuSample(node="node1", ts=NOW, gpu=n))
    spool.add(event(1))
    spool.rotate()
    spool.add(event(2))
    spool.write()
    left = {p.stem for p in tmp_path.glob("ready-*/*.csv")}
    assert "gpu_detail" not in left and "host_event" in left
    assert sum(dropped) >= 200
    spool.close()


def test_memory_is_bounded_while_the_disk_cannot_be_written(tmp_path: Path) -> None:
    """A vanished disk: events stay in memory at the expense of detail, and are written once it is back."""
    dropped: list[int] = []
    folder = tmp_path / "spool"
    spool = SpoolOut(folder, buffer_bytes=20_000, reserve_bytes=0, on_drop=dropped.append)
    spool.open()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("no folder any more")
    for n in range(500):
        spool.add(GpuDetail(node="node1", ts=NOW, gpu=n))
        if n % 50 == 0:
            spool.add(event(n))
            assert spool.write() is False
    assert spool.problem
    folder.unlink()
    assert spool.write() is True and spool.problem is None
    assert sum(dropped) > 0
    spool.rotate()
    seal(folder, tmp_path / "lake", "node1")
    assert asked(tmp_path / "lake", "SELECT count(*) FROM host_event") == [(10,)]


def test_a_full_disk_takes_nothing_twice(tmp_path: Path) -> None:
    """On a real file system of 256 KiB: the collector goes on, and no row is there twice once there is room again."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    try:
        spool = SpoolOut(disk / "spool", reserve_bytes=0, buffer_bytes=1 << 20)
        spool.open()
        (disk / "ballast").write_bytes(b"x" * 150_000)
        outcomes: list[bool] = []
        for n in range(2000):
            spool.add(event(n, "m" * 60))
            if n % 100 == 0:
                outcomes.append(spool.write())
        assert outcomes[0] is True and outcomes[-1] is False
        assert "No space" in (spool.problem or "")
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        assert spool.write() is True
        spool.close()
        assert seal(disk / "spool", tmp_path / "lake", "node1").error is None
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
    found = asked(tmp_path / "lake", "SELECT count(*), count(DISTINCT pid) FROM host_event")
    assert found == [(2000, 2000)]


_WRITER = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from collector.node.hand_over import HandOver
from collector.node.clock import SystemClock
from collector.node.spool_out import SpoolOut
from store.rows import HostEvent
spool = SpoolOut(Path(sys.argv[1])); spool.open()
lake = HandOver(spool, Path(sys.argv[2]), "node1", SystemClock(), every_s=0.1, own_s=0.5)
n = int(sys.argv[3])
while True:
    for _ in range(20):
        spool.add(HostEvent(node="node1", ts=datetime.now(UTC), event="storage", pid=n, message="two\\nlines"))
        n += 1
    spool.write()
    print(n, flush=True)
    lake.poll()
    if lake.due:
        spool.rotate()
        lake.start()
    time.sleep(0.005)
"""


@pytest.mark.crash
def test_killed_at_any_moment_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    """kill -9 of the collector (with its seal) again and again: every row that was written is in the lake once."""
    spool, lake = tmp_path / "spool", tmp_path / "lake"
    first = 0
    for turn in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(spool), str(lake), str(first)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.4 + 0.17 * turn)
        os.killpg(child.pid, signal.SIGKILL)
        written = [int(line) for line in child.stdout.read().splitlines() if line.isdigit()]
        child.wait()
        first = (max(written) if written else first) + 1000
    left = SpoolOut(spool)
    left.open()
    left.close()
    for _ in range(200):  # the last seal was killed too, but it is not our child: its end cannot be waited for
        done = seal(spool, lake, "node1")
        if done.error != "another seal is at work":
            break
        time.sleep(0.05)
    assert done.error is None
    rows, different = asked(lake, "SELECT count(*), count(DISTINCT pid) FROM host_event")[0]
    assert rows == different > 0
    # Within a turn the numbers run on: one that is missing below a turn's last was lost.
    gaps = asked(
        lake,
        "SELECT count(*) FROM (SELECT pid - lag(pid) OVER (ORDER BY pid) AS d FROM host_event) WHERE d BETWEEN 2 AND 900",
    )
    assert gaps == [(0,)]
    assert json.loads((spool / "seal.json").read_text())["laid_aside"] == []
