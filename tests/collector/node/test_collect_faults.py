"""The whole collector while something goes wrong beside it: a GPU that hangs, a lake that is away, a kill, a full disk, a clock."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from collector.node.clock import SystemClock
from collector.node.collect import Collector, Settings
from collector.node.here import Here
from tests.collector.livekit import Scripted, asked, sample
from tests.software_gpu.driver import SoftwareGpus, why_not

ROOT = Path(__file__).resolve().parents[3]
REASON = why_not()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    # Five thousand processes beside it would make any cluster late.
    pytest.mark.xdist_group("live_slurm"),
]


def until(true: Callable[[], bool], what: str, limit_s: float = 90) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class Node:
    """A node with two software GPUs and the command beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gpus = SoftwareGpus(folder, count=2)
        self.lake, self.spool = folder / "lake", folder / "spool"
        self.child: subprocess.Popen[str] | None = None

    def start(self, *options: str, sources: tuple[str, ...] = ("nvml", "host", "ourselves")) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "inquest", "collect", "--lake", str(self.lake), "--spool", str(self.spool)]
        words += [w for name in sources for w in ("--source", name)] + ["--node", "node1", *options]
        self.child = subprocess.Popen(
            words, cwd=ROOT, env=self.gpus.environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        calls = self.gpus.state.calls
        until(lambda: self.gpus.state.calls > calls + 60, "the collector does not look at the GPUs")
        return self.child

    def stop(self) -> tuple[int, str]:
        assert self.child is not None
        self.child.send_signal(signal.SIGTERM)
        _, told = self.child.communicate(timeout=60)
        return self.child.returncode, told

    def end(self) -> None:
        if self.child is not None and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    found = Node(tmp_path)
    yield found
    found.end()


def test_a_gpu_that_hangs_stops_neither_the_others_nor_the_end(node: Node) -> None:
    """A driver call that does not return: the host is looked at on, source_health tells, SIGTERM ends the process."""
    child = node.start("--interval", "0.2")
    node.gpus.gpu(1).hang_ms = 120_000
    time.sleep(12)
    assert child.poll() is None
    status, told = node.stop()
    assert status == 1 and "nvml hangs and was left behind" in told
    (said,) = asked(node.lake, "SELECT DISTINCT message FROM source_health WHERE source = 'nvml' AND NOT ok")
    assert "hangs" in said[0]
    gap = "SELECT min(ts) FROM source_health WHERE source = 'nvml' AND NOT ok"
    assert asked(node.lake, f"SELECT count(*) > 0 FROM host_sample WHERE ts > ({gap})") == [(True,)]


def test_a_lake_that_is_away_gets_everything_when_it_is_back(node: Node) -> None:
    """The chunks wait in the spool; after the return all of them arrive, and how long it was away is told."""
    node.lake.write_text("a file where the lake should be")
    node.start("--seal", "2")
    until(lambda: len(list(node.spool.glob("ready-*"))) >= 2, "no chunk waits")
    node.lake.unlink()
    until(lambda: not list(node.spool.glob("ready-*")), "the chunks were not handed over")
    status, told = node.stop()
    first, *_, last = told.splitlines()
    assert status == 0 and "File exists" in first and "again" in last, "whoever looks after the node is told"
    assert asked(node.lake, "SELECT count(DISTINCT gpu) FROM gpu_sample") == [(2,)]
    assert asked(node.lake, "SELECT bool_or(NOT ok) FROM source_health WHERE source = 'spool'") == [(True,)]


def test_a_collector_that_is_killed_and_started_again_doubles_nothing(node: Node) -> None:
    """kill -9 while it hands over every half second; the next one takes the spool over."""
    for _ in range(3):
        node.start("--seal", "0.5")
        time.sleep(2.3)
        node.end()
    node.start("--seal", "0.5")
    assert node.stop() == (0, "")
    found = asked(node.lake, "SELECT count(*), count(DISTINCT (ts, gpu)) FROM gpu_sample")
    assert found[0][0] == found[0][1] > 0
    device = asked(node.lake, "SELECT count(*) FROM gpu_device")
    assert device[0][0] >= 2


def test_a_spool_that_is_deleted_under_it_is_made_again(node: Node) -> None:
    """Somebody cleans up too much, or the disk is mounted anew: what is seen from then on is in the lake."""
    node.start("--seal", "600")
    until(lambda: any(node.spool.glob("open-*")), "nothing was written")
    shutil.rmtree(node.spool)
    until(lambda: any(node.spool.glob("open-*")), "the spool was not made again")
    assert node.stop()[0] == 0
    assert asked(node.lake, "SELECT count(DISTINCT gpu) FROM gpu_sample") == [(2,)]


def test_a_full_disk_is_told_and_what_comes_after_it_is_in_the_lake(node: Node, tmp_path: Path) -> None:
    """A real file system of 80 MB that somebody fills: the GPUs are looked at on, and the gap is in source_health."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    try:
        node.spool = disk / "spool"
        child = node.start("--seal", "2", "--interval", "0.2")
        until(lambda: any((node.lake / "incoming").glob("n-*")), "nothing was handed over before")
        with (disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(bytes(4096)) == 4096:
                pass
        calls = node.gpus.state.calls
        time.sleep(12)
        assert child.poll() is None and node.gpus.state.calls > calls + 100
        (disk / "ballast").unlink()
        freed = time.time()
        until(lambda: not list(node.spool.glob("ready-*")), "the chunks were not handed over")
        time.sleep(8)
        status, told = node.stop()
        assert status == 0 and "No space" in told and "again" in told.splitlines()[-1]
    finally:
        node.end()
        subprocess.run(["umount", "-l", str(disk)], check=False)
    gaps = asked(node.lake, "SELECT message FROM source_health WHERE source = 'spool' AND NOT ok")
    assert any("No space" in (message or "") for (message,) in gaps)
    assert asked(node.lake, f"SELECT count(*) > 0 FROM gpu_sample WHERE epoch(ts) > {freed}") == [(True,)]


def test_a_reader_that_has_seen_enough_ends_the_printing() -> None:
    """`inquest collect --print | head -1` ends, with nothing on standard error."""
    words = [sys.executable, "-m", "inquest", "collect", "--print", "--source", "host", "--interval", "0.1"]
    child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stderr is not None
        assert "host_sample" in child.stdout.readline()
        child.stdout.close()
        assert child.wait(60) == 0 and child.stderr.read() == ""
    finally:
        child.kill()


class Standing(SystemClock):
    """A time of day that can be stopped and set."""

    def __init__(self) -> None:
        self.stands: datetime | None = None
        self.off_s = 0.0

    def now(self) -> datetime:
        return self.stands or super().now() + timedelta(seconds=self.off_s)


def test_a_clock_that_stands_still_and_is_set_stops_nothing(tmp_path: Path) -> None:
    """The whole collector: cadence goes on, steps are events with how far, no window of a source's health ends before it begins."""
    clock = Standing()
    here, looks = Here(node="node1", clock=clock), Scripted("looks", lambda: [replace(sample(), ts=clock.now())], 0.1)
    settings = Settings(spool=tmp_path / "spool", lake=tmp_path / "lake", seal_s=600)
    collector = Collector([looks], here, settings)  # pyright: ignore[reportArgumentType]
    wrong: list[str] = []
    running = threading.Thread(target=lambda: wrong.extend(collector.run(signals=False)))
    running.start()
    try:
        task = collector.loop.tasks[0]
        until(lambda: task.rounds > 5, "nobody looks")
        clock.stands = clock.now()
        rounds = task.rounds
        until(lambda: task.rounds > rounds + 25, "a clock that stands stops the looks")
        clock.stands = None
        clock.off_s = -7200.0
        rounds = task.rounds
        until(lambda: task.rounds > rounds + 25, "a clock that was set back stops the looks")
    finally:
        collector.loop.stop()
        running.join(60)
    assert wrong == []
    steps = [m for (m,) in asked(tmp_path / "lake", "SELECT message FROM host_event WHERE event = 'clock_step'")]
    assert len(steps) >= 2 and any("-7" in step for step in steps)
    assert asked(tmp_path / "lake", "SELECT count(*) FROM source_health WHERE end_ts < ts") == [(0,)]


def test_five_thousand_processes_and_a_kill_leave_the_gap_to_be_seen(node: Node) -> None:
    """Killed beside 5,000 strangers and started again: health windows end before the gap and begin after it."""
    crowd = subprocess.Popen(
        [sys.executable, "-c", CROWD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert crowd.stdout is not None
        assert crowd.stdout.readline() == "5000\n"
        sources = ("nvml", "topology", "ourselves", "host")
        node.start("--seal", "2", sources=sources)
        until(lambda: (node.lake / "lake.json").exists() and bool(asked_health(node)), "no health was told")
        node.end()
        killed = time.time()
        time.sleep(3)
        began = time.time()
        node.start("--seal", "2", sources=sources)
        time.sleep(3)
        assert node.stop() == (0, "")
    finally:
        os.killpg(crowd.pid, signal.SIGKILL)
        crowd.wait()
    looking = "SELECT count(*) FROM source_health WHERE source = 'topology' AND ok AND epoch("
    assert asked(node.lake, f"{looking}end_ts) < {killed}")[0][0] > 0
    assert asked(node.lake, f"{looking}ts) < {began} AND epoch(end_ts) > {killed}") == [(0,)]
    assert asked(node.lake, f"{looking}ts) > {began}")[0][0] > 0


CROWD = """
import os, signal, sys
for n in range(5000):
    if os.fork() == 0:
        signal.pause()
print(5000, flush=True)
sys.stdin.read()
"""


def asked_health(node: Node) -> list[object]:
    return asked(node.lake, "SELECT 1 FROM source_health WHERE source = 'topology' AND ok")
