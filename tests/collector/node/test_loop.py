"""The loop that drives live sources."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.node.clock import StepWatch
from collector.node.here import Here
from collector.node.lanes import Lane
from collector.node.loop import Loop
from collector.node.survey_sources import survey
from collector.sources.base import SourceUnavailable
from store.rows import HostEvent, HostSample, Row, SourceHealth
from tests.collector.livekit import Kept, Scripted, SetClock, asked, sample

ROOT = Path(__file__).resolve().parents[3]


def until(true: Callable[[], bool], limit_s: float = 20.0) -> None:
    """Wait for something that comes in its own time."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class Running:
    """A loop in a thread of its own."""

    def __init__(self, *sources: Scripted) -> None:
        self.kept = Kept()
        self.loop = Loop(sources, self.kept, Here(node="node1"), shared_bound_s=0.5, tick_s=0.05)
        self.left: list[str] = []
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.left = self.loop.run()

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.stop()
        self._thread.join(20)
        assert not self._thread.is_alive()

    def seen(self, origin: str) -> int:
        return sum(1 for r in self.kept.of(HostSample) if r.origin == origin)


def raising(error: Exception) -> list[Row]:
    raise error


def test_a_source_that_raises_stops_nobody_and_is_recorded() -> None:
    """Whatever goes wrong in one source, the others look on, and the failure stands in source_health with its words."""
    bad, good = Scripted("bad", lambda: raising(ValueError("odd"))), Scripted("good", lambda: [sample("good")])
    with Running(bad, good) as run:
        until(lambda: run.seen("good") >= 5)
    health = run.kept.of(SourceHealth)
    assert {(h.source, h.ok) for h in health} == {("bad", False), ("good", True)}
    assert {h.message for h in health if h.source == "bad"} == {"ValueError: odd"}
    assert sum(h.rows or 0 for h in health if h.source == "good") == run.seen("good")
    assert good.closed == 1 and bad.closed >= 1


def test_a_source_that_hangs_stops_nobody_and_comes_back() -> None:
    """Its thread is left to it; the others go on in another; when it answers after all, it is looked at again."""
    release, hanging = threading.Event(), threading.Event()

    def hang() -> list[Row]:
        if not release.is_set():
            hanging.set()
            release.wait(60)
        return [sample("slow")]

    slow, good = Scripted("slow", hang), Scripted("good", lambda: [sample("good")])
    with Running(slow, good) as run:
        until(hanging.is_set)
        before = run.seen("good")
        until(lambda: run.seen("good") > before + 5)
        assert run.seen("slow") == 0
        run.loop.tell_health()
        until(lambda: any(h.source == "slow" and h.ok is False for h in run.kept.of(SourceHealth)))
        release.set()
        until(lambda: run.seen("slow") > 3)
    told = [h for h in run.kept.of(SourceHealth) if h.source == "slow"]
    assert "hangs" in (told[0].message or "")
    assert told[-1].ok and told[-1].rows
    assert run.left == []


def test_a_source_that_hangs_for_good_does_not_keep_the_loop_from_ending() -> None:
    release = threading.Event()

    def hang() -> list[Row]:
        release.wait(60)
        return []

    good = Scripted("good", lambda: [sample("good")])
    try:
        with Running(Scripted("stuck", hang), good) as run:
            until(lambda: run.seen("good") > 3)
        assert run.left == ["stuck"]
        assert good.closed == 1
    finally:
        release.set()


def test_one_look_does_not_wait_for_a_source_that_hangs() -> None:
    """`--once` and `doctor` end although a file server is dead; the others are looked at."""
    release = threading.Event()

    def hang() -> list[Row]:
        release.wait(60)
        return []

    stuck, kept = Scripted("stuck", hang), Kept()
    stuck.doing = "statvfs /mnt/dead"  # type: ignore[attr-defined]
    try:
        Loop([stuck, Scripted("good", lambda: [sample("good")])], kept, Here()).once()
        assert [r.origin for r in kept.of(HostSample)] == ["good"]
        (told,) = [h for h in kept.of(SourceHealth) if not h.ok]
        assert (told.source, told.message) == ("stuck", "no answer within 0.3 s: it hangs in statvfs /mnt/dead")
        found = survey(stuck, 0.2)
        assert not found.works and "statvfs /mnt/dead" in (found.why_not or "")
    finally:
        release.set()


def test_an_unavailable_source_says_why_and_is_opened_again() -> None:
    """A driver that is loaded later is found without a restart."""
    source = Scripted("gpu", lambda: [sample("gpu")])
    source.refuse = SourceUnavailable("no driver", "modprobe nvidia")
    with Running(source) as run:
        until(lambda: source.opened >= 1)
        run.loop.tell_health()
        source.refuse = None
        until(lambda: run.seen("gpu") > 0)
    told = [h for h in run.kept.of(SourceHealth) if h.ok is False]
    assert told and told[0].message == "no driver (remedy: modprobe nvidia)"


def test_what_a_source_cannot_fill_is_named_with_its_reason() -> None:
    source = Scripted("gpu", lambda: [sample()])
    source.missing = {"power_w": "not supported by this GPU"}  # type: ignore[attr-defined]
    kept, clock = Kept(), SetClock()
    loop = Loop([source], kept, Here(node="node1", clock=clock))
    loop.tasks[0].round()
    clock.passes(5)
    loop.tell_health()
    (told,) = kept.of(SourceHealth)
    assert (told.missing_fields, told.message, told.rows) == ("power_w", "power_w: not supported by this GPU", 1)
    assert (told.ts, told.end_ts) == (datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 10, 0, 5, tzinfo=UTC))


def test_what_was_left_out_for_a_while_is_named_in_its_window_and_no_longer() -> None:
    source = Scripted("gpu", lambda: [sample()])
    kept, clock = Kept(), SetClock()
    loop = Loop([source], kept, Here(node="node1", clock=clock))
    for missing in ({}, {"gpu 1": "NVML: Unknown Error"}, {}):
        source.missing = missing  # type: ignore[attr-defined]
        loop.tasks[0].round()
        clock.passes(5)
    loop.tell_health()
    clock.passes(5)
    loop.tell_health()
    assert [told.message for told in kept.of(SourceHealth)] == ["gpu 1: NVML: Unknown Error", None]


def test_a_table_of_which_a_source_sees_nothing_was_not_looked_at() -> None:
    """Its other table was; when it sees again a new window says so."""
    clock, kept = SetClock(), Kept()
    source = Scripted("half", list)
    source.covers = ("gpu_sample", "host_sample")  # type: ignore[misc]
    source.blind = {"gpu_sample": "no probe can be attached"}  # type: ignore[attr-defined]
    loop = Loop([source], kept, Here(node="node1", clock=clock))
    loop.tasks[0].round()
    clock.passes(5)
    loop.tell_health()
    clock.passes(5)
    source.blind = {}  # type: ignore[attr-defined]
    loop.tasks[0].round()
    clock.passes(5)
    loop.tell_health()
    told = [(h.covers, h.ok, h.message, (h.end_ts - h.ts).seconds) for h in kept.of(SourceHealth) if h.end_ts and h.ts]
    assert told == [
        ("gpu_sample", False, "no probe can be attached", 5),
        ("host_sample", True, None, 5),
        ("gpu_sample", False, "no probe can be attached", 5),
        ("host_sample", True, None, 5),
        ("gpu_sample", True, None, 5),
        ("host_sample", True, None, 5),
    ]


def test_while_a_source_gets_ready_nobody_looks() -> None:
    """Probes take seconds to compile: what happened meanwhile was not seen."""
    clock, kept = SetClock(), Kept()
    begun = clock.now()
    source = Scripted("slow to open", list)
    source.open = lambda: clock.passes(15)  # type: ignore[method-assign]
    loop = Loop([source], kept, Here(node="node1", clock=clock))
    loop.tasks[0].round()
    clock.passes(5)
    loop.tell_health()
    (told,) = kept.of(SourceHealth)
    assert told.ok and told.ts is not None and (told.ts - begun).seconds == 15


def test_a_clock_that_is_set_is_an_event_and_no_window_spans_it() -> None:
    """Cadence follows the steady clock; the step, its size and the time before it are recorded."""
    source, kept, clock = Scripted("host", lambda: [sample()]), Kept(), SetClock()
    loop = Loop([source], kept, Here(node="node1", clock=clock))
    loop.tasks[0].round()
    clock.passes(10)
    due = loop.tasks[0].due
    clock.is_set_by(-3600)
    loop.look()
    clock.passes(1)
    loop.tell_health()
    assert loop.tasks[0].due == due
    (event,) = kept.of(HostEvent)
    assert event.event == "clock_step" and "-3600.000 s" in (event.message or "")
    first, second = kept.of(SourceHealth)
    assert (first.end_ts, second.ts) == (
        datetime(2026, 3, 1, 10, 0, 10, tzinfo=UTC),
        datetime(2026, 3, 1, 9, 0, 10, tzinfo=UTC),
    )


@pytest.mark.parametrize("by_s", [-3600, 3600])
@pytest.mark.parametrize("end", ["health", "round"])
def test_a_step_is_noticed_by_whatever_ends_a_window_first(by_s: int, end: str) -> None:
    """The disk's thread tells the health, or a source begins to fail, before the loop has looked at the clock."""
    looks = [[sample()], [], RuntimeError("gone")]

    def look() -> list[Row]:
        seen = looks.pop(0)
        if isinstance(seen, RuntimeError):
            raise seen
        return list(seen)

    kept, clock = Kept(), SetClock()
    loop = Loop([Scripted("host", look)], kept, Here(node="node1", clock=clock))
    loop.tasks[0].round()
    clock.passes(10)
    loop.tasks[0].round()
    clock.is_set_by(by_s)
    clock.passes(0.5)
    if end == "round":
        loop.tasks[0].round()
    loop.tell_health()
    loop.look()
    clock.passes(5)
    loop.tell_health()
    assert len(kept.of(HostEvent)) == 1
    lengths = [(r.end_ts - r.ts).total_seconds() for r in kept.of(SourceHealth) if r.end_ts and r.ts]
    assert all(0 < length < 12 for length in lengths)
    assert sum(lengths) == pytest.approx(15.5, abs=0.6)


def test_slewing_is_no_step() -> None:
    clock = SetClock()
    watch = StepWatch(clock)
    for _ in range(100):
        clock.passes(1)
        clock.is_set_by(0.0005)
        assert watch.look() is None


def test_a_clock_that_stands_is_noticed_however_often_it_is_looked_at() -> None:
    clock = SetClock()
    watch = StepWatch(clock)
    told: list[float] = []
    for _ in range(50):
        clock.passes(0.1)
        clock.is_set_by(-0.1)
        told += [jump for jump in [watch.look()] if jump is not None]
    assert sum(told) == pytest.approx(-5, abs=0.3)
    told.clear()
    for _ in range(300):
        clock.passes(0.1)
        clock.is_set_by(0.00005)
        told += [jump for jump in [watch.look()] if jump is not None]
    assert [jump for jump in told if jump > 0] == []


def test_beats_that_passed_are_left_out() -> None:
    """After a round that took long, the next one is on the beat again; lost ones are not made up for."""
    kept, clock = Kept(), SetClock()
    source = Scripted("slow", lambda: [sample()], interval_s=10)
    loop = Loop([source], kept, Here(clock=clock))
    clock.passes(37)
    loop.tasks[0].round()
    assert loop.tasks[0].due == 1040.0


def test_no_source_of_a_node_loads_what_it_has_no_memory_for() -> None:
    """An engine, a framework, OpenSSL: each is megabytes that the process would keep for as long as the node is up."""
    code = """
import importlib, sys
import inquest.__main__, inquest.commands.collect
from collector.node import collect
from collector.sources.registry import OPTIONAL, SOURCES
for name in SOURCES.keys() - OPTIONAL.keys():
    importlib.import_module(f"collector.sources.{name}")
print(*sys.modules)
"""
    words = [sys.executable, "-c", code]
    loaded = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "collector.sources.ebpf" in loaded
    heavy = (
        "duckdb",
        "pydantic",
        "pyarrow",
        "httpx",
        "hyperscan",
        "_hashlib",
        "ssl",
        "http.client",
        "collector.parsers",
    )
    assert not [name for name in heavy if name in loaded]


def test_the_command_ends_cleanly_and_stays_out_of_the_engine(tmp_path: Path) -> None:
    """SIGTERM: what was seen is in the lake and nothing waits in the spool. DuckDB was never in the process."""
    lake, spool = tmp_path / "lake", tmp_path / "spool"
    words = [sys.executable, "-m", "inquest", "collect", "--lake", str(lake), "--spool", str(spool), "--node", "node7"]
    child = subprocess.Popen([*words, "--source", "ourselves"], cwd=ROOT, stderr=subprocess.PIPE)
    try:
        until(lambda: any(spool.glob("open-*")), 60)
        maps = Path(f"/proc/{child.pid}/maps").read_text()
        assert not [w for w in ("duckdb", "pydantic", "pyarrow", "httpx") if w in maps]
        child.send_signal(signal.SIGTERM)
        _, told = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, told) == (0, b"")
    assert not list(spool.glob("*-*"))
    assert asked(lake, "SELECT count(*) >= 1 FROM collector_sample WHERE node = 'node7'") == [(True,)]


class Step:
    """What a lane runs; a round lasts until `free` is set."""

    bound_s = 0.0

    def __init__(self, name: str, due: float) -> None:
        self.name, self.due, self.rounds, self.free = name, due, 0, threading.Event()

    def round(self) -> None:
        self.rounds += 1
        self.free.wait(20)
        self.due = float("inf")

    def finish(self) -> None:
        """Nothing is held."""


def test_what_is_taken_from_a_lane_is_begun_by_it_no_more_and_nothing_is_taken_from_one_that_goes_on() -> None:
    first, second = Step("first", 0.0), Step("second", 0.0)
    lane = Lane([first, second], Here(node="node1").clock)
    assert lane.part(first) == [], "it runs nothing"
    lane.start()
    until(lambda: first.rounds == 1)
    assert lane.part(second) == [], "that is not what runs"
    assert lane.part(first) == [second]
    first.free.set()
    until(lambda: lane.current is None)
    lane.stop()
    assert lane.join(20)
    assert second.rounds == 0
