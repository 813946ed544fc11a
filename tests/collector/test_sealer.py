"""When the spool is sealed."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.clock import SystemClock
from collector.sealer import BURST_S, GAP_S, SHARE, Sealer
from collector.spool_out import SpoolOut
from store.rows import HostEvent
from tests.collector.livekit import SetClock, asked


def sealer(tmp_path: Path, clock: SetClock) -> Sealer:
    """Over an empty spool: no child is ever started."""
    return Sealer(SpoolOut(tmp_path / "spool"), tmp_path / "lake", "node1", clock, seal_s=300)


def passed_until_due(it: Sealer, clock: SetClock) -> float:
    begun = clock.steady()
    while not it.due:
        clock.passes(0.5)
    return clock.steady() - begun


def test_now_and_then(tmp_path: Path) -> None:
    clock = SetClock()
    it = sealer(tmp_path, clock)
    assert passed_until_due(it, clock) == 300
    it.start()
    assert passed_until_due(it, clock) == 300


def test_less_often_where_a_seal_is_dear_but_at_least_every_second_time(tmp_path: Path) -> None:
    clock = SetClock()
    it = sealer(tmp_path, clock)
    for cost_s, wait in ((0.2, 300), (0.5, 500), (5.0, 600), (0.2, 300)):
        it.spent(cost_s)
        it.start()
        assert passed_until_due(it, clock) == wait


def storm(it: Sealer, clock: SetClock, seals: int, cost_s: float) -> list[float]:
    """Alarms without end: how long each seal took to come."""
    waits: list[float] = []
    for _ in range(seals):
        it.hurry("XID 31")
        waits.append(passed_until_due(it, clock))
        it.start()
        it.spent(cost_s)
    return waits


def test_soon_after_an_alarm_but_not_for_each_of_a_storm(tmp_path: Path) -> None:
    """The first alarms are sealed within seconds; alarms without end as often as their share of the CPU allows."""
    clock = SetClock()
    waits = storm(sealer(tmp_path, clock), clock, 40, cost_s=0.25)
    assert waits[0] == 2
    assert set(waits[1:6]) == {GAP_S}
    assert sum(waits) >= (40 * 0.25 - BURST_S - 0.25) / SHARE
    assert waits[-1] == pytest.approx(0.25 / SHARE)


def test_a_node_that_seals_slowly_still_tells_of_a_fault_and_of_the_end_after_it(tmp_path: Path) -> None:
    clock = SetClock()
    assert storm(sealer(tmp_path, clock), clock, 4, cost_s=1.0) == [2, GAP_S, GAP_S, GAP_S]


def test_a_storm_of_dear_seals_delays_none_beyond_the_usual(tmp_path: Path) -> None:
    clock = SetClock()
    assert max(storm(sealer(tmp_path, clock), clock, 10, cost_s=5.0)) == 600


def test_after_a_quiet_time_an_alarm_is_sealed_at_once_again(tmp_path: Path) -> None:
    clock = SetClock()
    it = sealer(tmp_path, clock)
    storm(it, clock, 24, cost_s=0.25)
    clock.passes(250)
    it.hurry("XID 79")
    assert passed_until_due(it, clock) == 2


def test_a_file_that_was_laid_aside_is_told(tmp_path: Path) -> None:
    """A real child over a chunk of which one file is no table: the rest is sealed, and the problem names the file."""
    spool = SpoolOut(tmp_path / "spool")
    spool.open()
    spool.add(HostEvent(node="node1", event="storage"))
    assert spool.rotate()
    (chunk,) = spool.waiting
    (chunk / "gpu_event.csv").write_text("this is no row\n")
    it = Sealer(spool, tmp_path / "lake", "node1", SystemClock())
    it.start()
    assert it.wait(60)
    assert "gpu_event.csv" in (it.problem or "")
    assert asked(tmp_path / "lake", "SELECT count(*) FROM host_event") == [(1,)]
    spool.close()
