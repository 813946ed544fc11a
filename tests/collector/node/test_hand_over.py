"""When a node's chunks are handed over, what happens where the lake is not there, and who takes in what nobody else does."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from collector.node import hand_over
from collector.node.clock import SystemClock
from collector.node.hand_over import BURST, GAP_S, REFILL_S, HandOver
from collector.node.spool_out import SpoolOut
from store import incoming
from store.lake import Lake
from store.rows import HostEvent
from store.take_in import take_in
from tests.collector.livekit import SetClock, asked


@pytest.fixture
def spool(tmp_path: Path) -> SpoolOut:
    found = SpoolOut(tmp_path / "spool")
    found.open()
    return found


def waiting(lake: Path) -> int:
    return len(incoming.waiting(Lake(lake)))


def passed_until_due(it: HandOver, clock: SetClock) -> float:
    begun = clock.steady()
    while not it.due:
        clock.passes(0.5)
    return clock.steady() - begun


def handed(it: HandOver, spool: SpoolOut | None = None, n: int = 1) -> None:
    """One round, of one chunk where there is a spool."""
    if spool is not None:
        spool.add(HostEvent(node="node1", event="storage", pid=n))
        spool.rotate()
    it.start()
    assert it.wait(60)


def test_now_and_then(tmp_path: Path, spool: SpoolOut) -> None:
    clock = SetClock()
    it = HandOver(spool, tmp_path / "lake", "node1", clock)
    for _ in range(3):
        assert passed_until_due(it, clock) == 300
        handed(it)


def storm(it: HandOver, clock: SetClock, rounds: int) -> list[float]:
    """Alarms without end: how long each round took to come."""
    waits: list[float] = []
    for _ in range(rounds):
        it.hurry("XID 31")
        waits.append(passed_until_due(it, clock))
        handed(it)
    return waits


def test_soon_after_an_alarm_but_not_for_each_of_a_storm(tmp_path: Path, spool: SpoolOut) -> None:
    """The first alarms bring what there is within seconds; alarms without end bring a chunk a minute."""
    clock = SetClock()
    it = HandOver(spool, tmp_path / "lake", "node1", clock)
    waits = storm(it, clock, 2 * BURST)
    assert waits[0] == 2
    assert set(waits[1:BURST]) == {GAP_S}
    assert waits[-1] == pytest.approx(REFILL_S)
    clock.passes(200)
    it.hurry("XID 79")
    assert passed_until_due(it, clock) == 2


def test_a_clock_that_is_set_back_changes_nothing(tmp_path: Path, spool: SpoolOut) -> None:
    clock = SetClock()
    it = HandOver(spool, tmp_path / "lake", "node1", clock, own_s=1000)
    handed(it, spool)
    clock.is_set_by(-86400)
    assert passed_until_due(it, clock) == 300
    handed(it, spool, 2)
    assert (it.problem, waiting(tmp_path / "lake")) == (None, 2)
    assert asked(tmp_path / "lake", "SELECT pid FROM host_event ORDER BY pid") == [(1,), (2,)]


def test_the_engine_is_loaded_only_where_nobody_takes_in(tmp_path: Path, spool: SpoolOut) -> None:
    """A taker that comes in time spares the node its child; without one the child takes in all that waits at once."""
    lake, clock = tmp_path / "lake", SetClock()
    it = HandOver(spool, lake, "node1", clock, own_s=1800)
    for n in range(20):  # somebody comes every ten minutes
        handed(it, spool, n)
        if n % 2:
            assert take_in(lake).chunks == 2
        clock.passes(300)
    assert not (spool.folder / "seal.json").exists()
    for n in range(6):
        handed(it, spool, 100 + n)
        assert waiting(lake) == n + 1
        clock.passes(300)
    handed(it)
    assert (it.problem, waiting(lake)) == (None, 0)
    assert (spool.folder / "seal.json").exists()
    assert asked(lake, "SELECT count(*), count(DISTINCT pid) FROM host_event") == [(26, 26)]


def test_very_much_is_taken_in_at_once(tmp_path: Path, spool: SpoolOut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand_over, "OWN_BYTES", 10)
    handed(HandOver(spool, tmp_path / "lake", "node1", SetClock()), spool)
    assert waiting(tmp_path / "lake") == 0


def test_what_the_lake_holds_of_one_node_is_bounded(
    tmp_path: Path, spool: SpoolOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where even the child cannot take it in the rest stays in the spool, which keeps to its budget, and it is told."""
    monkeypatch.setattr(hand_over, "HELD_BYTES", 10)
    it = HandOver(spool, tmp_path / "lake", "node1", SetClock())
    handed(it, spool)
    handed(it, spool, 2)
    assert (waiting(tmp_path / "lake"), len(spool.waiting)) == (1, 1)
    assert "nobody takes them in" in (it.problem or "")
    take_in(tmp_path / "lake")
    handed(it)
    assert (waiting(tmp_path / "lake"), len(spool.waiting), it.problem) == (1, 0, None)


def test_after_a_restart_what_was_handed_over_before_is_looked_after(tmp_path: Path, spool: SpoolOut) -> None:
    lake, clock = tmp_path / "lake", SetClock()
    handed(HandOver(spool, lake, "node1", clock), spool)
    it = HandOver(spool, lake, "node1", clock, own_s=1800)
    handed(it)
    clock.passes(1800)
    handed(it)
    assert waiting(lake) == 0


def test_a_lake_that_is_away_is_told_and_gets_all_of_it_later(tmp_path: Path, spool: SpoolOut) -> None:
    lake, it = tmp_path / "lake", HandOver(spool, tmp_path / "lake", "node1", SetClock())
    lake.write_text("a file where the folder should be")
    handed(it, spool)
    assert it.problem and len(spool.waiting) == 1
    lake.unlink()
    handed(it)
    assert (it.problem, spool.waiting, waiting(lake)) == (None, [], 1)


def test_a_lake_that_vanished_is_not_made_anew_and_gets_all_of_it_when_it_is_back(
    tmp_path: Path, spool: SpoolOut
) -> None:
    """A file server that is not mounted leaves an empty folder behind: what is written there is hidden by the next mount."""
    lake, it = tmp_path / "lake", HandOver(spool, tmp_path / "lake", "node1", SetClock())
    handed(it, spool)
    assert (it.problem, waiting(lake)) == (None, 1), "the first lake is made"
    lake.rename(tmp_path / "mounted nowhere")
    lake.mkdir()
    again = HandOver(spool, lake, "node1", SetClock())  # the node was started anew meanwhile
    for n, each in enumerate((it, again)):
        handed(each, spool, 2 + n)
        assert "is gone" in (each.problem or "") and list(lake.iterdir()) == []
    lake.rmdir()
    (tmp_path / "mounted nowhere").rename(lake)
    handed(again)
    assert (again.problem, spool.waiting, waiting(lake)) == (None, [], 3)


def test_a_new_lake_is_begun_where_the_old_one_was_given_up_or_another_is_named(
    tmp_path: Path, spool: SpoolOut
) -> None:
    handed(HandOver(spool, tmp_path / "old", "node1", SetClock()), spool)
    handed(HandOver(spool, tmp_path / "new", "node1", SetClock()), spool)
    assert (waiting(tmp_path / "old"), waiting(tmp_path / "new")) == (1, 1)
    shutil.rmtree(tmp_path / "new")
    it = HandOver(spool, tmp_path / "new", "node1", SetClock())
    handed(it, spool)
    (spool.folder / hand_over.LAKE).unlink()  # as the problem says
    handed(it)
    assert (it.problem, waiting(tmp_path / "new")) == (None, 1)


def test_a_lake_that_hangs_holds_nobody_up(tmp_path: Path, spool: SpoolOut, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file server that does not answer: rows go into the spool on and on, it is told, and goes on once it is back."""
    back, clock = threading.Event(), SetClock()
    put = incoming.put

    def hangs(*args: Any) -> Any:
        assert back.wait(60)
        return put(*args)

    monkeypatch.setattr(incoming, "put", hangs)
    it = HandOver(spool, tmp_path / "lake", "node1", clock)
    spool.add(HostEvent(node="node1", event="storage", pid=1))
    spool.rotate()
    it.start()
    clock.passes(301)
    assert not it.wait(0.1) and not it.due
    assert "no answer within 300 s" in (it.problem or "")
    spool.add(HostEvent(node="node1", event="storage", pid=2))
    assert spool.write() and spool.rotate()
    back.set()
    assert it.wait(60)
    assert (it.problem, waiting(tmp_path / "lake")) == (None, 1)
    handed(it)
    assert (waiting(tmp_path / "lake"), spool.waiting) == (2, [])


def test_a_file_that_was_laid_aside_is_told_by_its_node(tmp_path: Path, spool: SpoolOut) -> None:
    """Whoever found that it is no table: the rest is in the lake, and the problem names the file until it is gone."""
    it = HandOver(spool, tmp_path / "lake", "node1", SystemClock())
    handed(it, spool)
    (chunk,) = incoming.waiting(Lake(tmp_path / "lake"))
    (chunk.path / "gpu_event.csv").write_text("this is no row\n")
    take_in(tmp_path / "lake")
    handed(it)
    assert "gpu_event.csv" in (it.problem or "")
    assert asked(tmp_path / "lake", "SELECT count(*) FROM host_event") == [(1,)]
    for path in incoming.laid_aside(Lake(tmp_path / "lake")):
        path.unlink()
    handed(it)
    assert it.problem is None


def test_a_chunk_whose_file_is_given_up_while_it_is_copied_arrives_without_it(tmp_path: Path, spool: SpoolOut) -> None:
    """The spool keeps to its budget meanwhile."""
    spool.add(HostEvent(node="node1", event="storage", pid=1))
    spool.rotate()
    (source,) = spool.waiting
    (source / "gpu_detail.csv").symlink_to(tmp_path / "gone")
    handed(HandOver(spool, tmp_path / "lake", "node1", SetClock()))
    assert take_in(tmp_path / "lake").rows == 1
