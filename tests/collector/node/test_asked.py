"""What a node is asked for in the lake: new requests are found once, stale and hostile ones cost nothing, a hanging lake nobody."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.node import hand_over
from collector.node.asked import APART_S, LOOK_S, Asked
from collector.node.collect import Collector, Settings
from collector.node.hand_over import HandOver
from collector.node.here import Here
from collector.node.spool_out import SpoolOut
from collector.node.tiers import AFTER_S, BEFORE_S
from store import triggers
from store.lake import Lake
from store.rows import GpuDetail, GpuSample
from store.triggers import Mark, Request
from tests.collector.livekit import Scripted, SetClock


class Node:
    """A node that looks for requests, and a watcher whose clock a test can set."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.lake = Lake(folder / "lake", durable=False)
        self.lake.create()
        self.names = set(names or ("gpu01",))
        self.clock = SetClock()
        self.found: list[Request] = []
        self.asked = Asked(self.lake, lambda: self.names, self.clock, self.found.append)

    def looks(self, n: int = 1) -> list[str]:
        """The jobs for whose sake it was asked."""
        before = len(self.found)
        for _ in range(n):
            self.asked.look()
            self.clock.passes(LOOK_S)
        return [r.job for r in self.found[before:]]

    def put(self, job: str = "4812", *, node: str = "gpu01", off_s: float = 0.0, name: str | None = None) -> None:
        """A request whose writer's clock is off by so much; `name` is the node that it says it is for."""
        path = triggers.place(self.lake, node)
        path.parent.mkdir(exist_ok=True)
        ts = (self.clock.now() + timedelta(seconds=off_s)).isoformat()
        told = {"id": os.urandom(6).hex(), "ts": ts, "node": name or node, "job": job, "kinds": ["hang"]}
        path.with_suffix(".new").write_text(json.dumps(told))
        path.with_suffix(".new").rename(path)


def test_a_request_is_found_once_at_the_next_look(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert node.looks(3) == []
    node.put("4812")
    assert node.looks(10) == ["4812"]
    node.put("4813")
    assert node.looks(10) == ["4813"]


def test_what_is_there_at_the_first_look_is_of_nobody_knows_when(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.put()
    assert node.looks(5) == []
    node.put("4813")
    assert node.looks(5) == ["4813"]


@pytest.mark.parametrize(("off_s", "taken"), [(-500, True), (500, True), (-APART_S - 1, False), (86_400, False)])
def test_the_watcher_s_clock_may_differ_but_not_by_more_than_slurm_itself_bears(
    tmp_path: Path, off_s: float, taken: bool
) -> None:
    """A request says little of when it was made; a copy from last week, or of next year, is told by it all the same."""
    node = Node(tmp_path)
    node.looks()
    node.put(off_s=off_s)
    assert bool(node.looks()) is taken


def test_a_clock_that_is_set_meanwhile_is_no_matter(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.looks()
    node.clock.is_set_by(-300)
    node.put()
    assert node.looks() == ["4812"]


def test_a_request_for_another_node_is_none_of_ours(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.looks()
    node.put(node="gpu02")
    node.put(name="gpu02")
    assert node.looks(2) == []


def test_a_host_is_found_under_each_name_of_the_pods_on_it(tmp_path: Path) -> None:
    node = Node(tmp_path, "host1", "slurm-pod-1")
    node.looks()
    node.put(node="slurm-pod-1")
    assert node.looks() == ["4812"]
    node.names.add("slurm-pod-2")
    node.put("4813", node="slurm-pod-2")
    assert node.looks(2) == [], "a name that is new here: what lies there is of nobody knows when"


def test_what_came_while_the_lake_was_away_for_longer_than_the_ring_is_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path)
    node.looks()
    real = triggers.mark

    def away(_path: Path) -> Mark | None:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(triggers, "mark", away)
    node.put("4812")
    node.looks(round(BEFORE_S / LOOK_S) + 1)
    monkeypatch.setattr(triggers, "mark", real)
    assert node.looks(3) == []
    monkeypatch.setattr(triggers, "mark", away)
    node.put("4813")
    node.looks(5)
    monkeypatch.setattr(triggers, "mark", real)
    assert node.looks(3) == ["4813"]


def test_a_look_that_hung_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path)
    node.looks()
    node.put()
    real = triggers.mark

    def hung(path: Path) -> Mark | None:
        node.clock.passes(BEFORE_S)
        return real(path)

    monkeypatch.setattr(triggers, "mark", hung)
    assert node.looks() == []


def test_thousands_of_requests_are_one_in_twenty_seconds(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.looks()
    for number in range(2000):
        node.put(str(number), node=f"gpu{number:04d}")  # of other nodes: never looked at
    for number in range(40):
        node.put(str(number))
        node.looks()
    assert 1 < len(node.found) <= 40 * LOOK_S / AFTER_S + 1


def test_the_same_request_under_a_new_time_is_no_new_one(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.looks()
    node.put()
    assert node.looks(10) == ["4812"]
    os.utime(triggers.place(node.lake, "gpu01"))
    assert node.looks(10) == []


def test_what_is_broken_or_huge_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path)
    node.looks()
    path = triggers.place(node.lake, "gpu01")
    path.parent.mkdir()
    path.write_text("{")
    assert node.looks() == []
    path.write_bytes(b" " * 100_000_000)
    read: list[Path] = []
    monkeypatch.setattr(triggers, "read", read.append)
    assert node.looks() == [] and not read


def test_a_lake_that_hangs_in_the_look_is_told_as_one_that_hangs_in_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look is the lake's thread's: the collector goes on, and says that nothing gets through."""
    monkeypatch.setattr(hand_over, "LOOK_S", 0.01)
    node = Node(tmp_path)
    spool = SpoolOut(tmp_path / "spool")
    spool.open()
    inside, free = threading.Event(), threading.Event()

    def hang(_path: Path) -> Mark | None:
        inside.set()
        free.wait(60)
        return None

    monkeypatch.setattr(triggers, "mark", hang)
    it = HandOver(spool, node.lake.root, "gpu01", node.clock, asked=node.asked)
    it.begin()
    assert inside.wait(30)
    it.start()
    assert not it.poll() and it.problem is None
    node.clock.passes(301)
    assert not it.poll() and "no answer" in (it.problem or "")
    free.set()
    assert it.wait(60)


def test_a_request_has_the_collector_keep_its_minutes_in_full_and_take_the_stacks_of_a_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand_over, "LOOK_S", 0.05)
    lake = Lake(tmp_path / "lake", durable=False)
    lake.create()
    here = Here(node="gpu01")
    source = Scripted("gpus", lambda: [GpuSample(node="gpu01", gpu_uuid="GPU-a", gpu=0, ts=datetime.now(UTC))])
    collector = Collector([source], here, Settings(tmp_path / "spool", lake.root))
    kept: list[object] = []
    real = collector.tiers._keep  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(collector.tiers, "_keep", lambda row: (kept.append(row), real(row)))
    thread = threading.Thread(target=collector.run, kwargs={"signals": False})
    thread.start()
    try:
        time.sleep(0.5)
        assert not any(isinstance(row, GpuDetail) for row in kept)
        triggers.put(lake, "gpu01", "4812", ["hang"])
        _until(lambda: any(isinstance(row, GpuDetail) for row in kept))
    finally:
        collector.loop.stop()
        thread.join(60)
    assert list(here.hung) == ["4812"]


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
