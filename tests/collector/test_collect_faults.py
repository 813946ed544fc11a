"""The whole collector while something goes wrong beside it: a GPU that hangs, a lake that is away, a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.collector.livekit import asked
from tests.software_gpu.driver import SoftwareGpus, why_not

ROOT = Path(__file__).resolve().parents[2]
REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


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
    """The seals fail, the chunks wait; after the return one seal brings all, and how long it was away is told."""
    node.lake.write_text("a file where the lake should be")
    node.start("--seal", "2")
    until(lambda: len(list(node.spool.glob("ready-*"))) >= 2, "no chunk waits")
    node.lake.unlink()
    until(lambda: not list(node.spool.glob("ready-*")), "the chunks were not sealed")
    assert node.stop() == (0, "")
    assert asked(node.lake, "SELECT count(DISTINCT gpu) FROM gpu_sample") == [(2,)]
    assert asked(node.lake, "SELECT bool_or(NOT ok) FROM source_health WHERE source = 'spool'") == [(True,)]


def test_a_collector_that_is_killed_and_started_again_doubles_nothing(node: Node) -> None:
    """kill -9 while it seals every half second; the next one takes the spool over."""
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
    assert node.stop() == (0, "")
    assert asked(node.lake, "SELECT count(DISTINCT gpu) FROM gpu_sample") == [(2,)]
