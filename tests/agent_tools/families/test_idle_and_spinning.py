"""c3_idle_gpu, and c2_collective_hang where GPUs spin: what their counters say when nothing else speaks."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import c2_collective_hang as c2
from agent_tools.families import c3_idle_gpu as c3
from store.rows import CudaSample, GpuSample, Process
from tests.agent_tools.families.logkit import among
from tests.agent_tools.families.test_hangs import LOSSES
from tests.agent_tools.families.world import JOB, T, World, judge


def idle(folder: Path, active: float, minutes: int = 60) -> World:
    world = World(folder).job("CANCELLED", minutes, gpus=1, node_count=1, node_list="n1")
    times = [T + timedelta(minutes=m) for m in range(minutes)]
    world.add(
        *(
            GpuSample(node="n1", gpu=0, ts=t, engine_active=active, sm_active=active, fb_used_bytes=1 << 30)
            for t in times
        )
    )
    return world.add(
        *(CudaSample(job_id=JOB, node="n1", pid=7, ts=t, interval_s=60.0, launches=int(active * 100)) for t in times)
    )


def test_a_gpu_that_is_held_and_not_used(tmp_path: Path) -> None:
    assert judge(idle(tmp_path, 0.0), c3.assess).status == "confirmed"
    assert judge(idle(tmp_path, 0.8), c3.assess).status == "ruled_out"
    assert judge(idle(tmp_path, 0.0, minutes=5), c3.assess).status == "ruled_out"


@pytest.mark.parametrize(
    ("state", "gib", "traced", "status"),
    [
        ("RUNNING", 40, True, "confirmed"),
        ("RUNNING", 40, False, "confirmed"),
        ("RUNNING", 0, False, "ruled_out"),
        ("CANCELLED", 40, False, "ruled_out"),
    ],
)
def test_a_job_is_as_old_as_the_samples_of_its_own_gpu(
    state: str, gib: int, traced: bool, status: str, tmp_path: Path
) -> None:
    """Accounting that was asked in the job's first minute, and metrics of the hour after it: its memory is still in use."""
    world = World(tmp_path).job(state, 1, gpus=1, node_count=1, node_list="n1")
    for minute in range(60):
        ts = T + timedelta(minutes=minute)
        world.add(GpuSample(node="n1", gpu=0, ts=ts, engine_active=0.0, sm_active=0.0, fb_used_bytes=gib << 30))
        if traced:
            world.add(CudaSample(job_id=JOB, node="n1", pid=7, ts=ts, interval_s=60.0, launches=0))
    assert judge(world, c3.assess).status == status


@pytest.mark.parametrize(("every_s", "samples"), [(1.0, 1), (60.0, 9), (300.0, 4), (720.0, 8)])
def test_a_gpu_that_was_looked_at_too_seldom_is_not_said_to_stand_idle(
    every_s: float, samples: int, tmp_path: Path
) -> None:
    """Any GPU stands idle for a moment between two bursts."""
    times = [T + timedelta(seconds=every_s * n) for n in range(samples)]
    world = World(tmp_path).add(*(GpuSample(job_id=JOB, node="n1", gpu=0, ts=t, engine_active=0.0) for t in times))
    assert judge(world, c3.assess).status == "undecidable"


def test_launches_that_were_counted_for_a_moment_do_not_say_that_a_gpu_stood_idle(tmp_path: Path) -> None:
    world = World(tmp_path).add(CudaSample(job_id=JOB, node="n1", pid=7, ts=T, interval_s=60.0, launches=0))
    assert judge(world, c3.assess).status == "undecidable"


def test_a_stack_of_the_stuck_process_is_told(tmp_path: Path) -> None:
    stuck = Process(job_id=JOB, node="n1", pid=7, ts=T, host_stack="futex_wait at lock.c:3")
    assert any("stands in" in c.text for c in judge(idle(tmp_path, 0.0).add(stuck), c3.assess).speaks_for)


def test_without_samples_an_idle_gpu_cannot_be_seen(tmp_path: Path) -> None:
    world = idle(tmp_path, 0.0).without(GpuSample, CudaSample)
    assert judge(world, c3.assess).status == "undecidable"


def test_gpus_that_spin_while_the_log_is_silent_are_a_hang_though_the_silence_is_short(tmp_path: Path) -> None:
    for sm, confidence in ((0.05, 0.82), (0.6, 0.45)):
        world = (
            World(tmp_path)
            .job("CANCELLED", 60, gpus=2, node_list="n1", node_count=1)
            .train([9.0 - n / 10 for n in range(50)], every_s=40.0)
        )
        times = [T + timedelta(minutes=m) for m in range(60)]
        samples = [GpuSample(node="n1", gpu=g, ts=t, engine_active=0.99, sm_active=sm) for t in times for g in (0, 1)]
        assert judge(world.add(*samples), c2.assess).confidence == confidence, sm


def test_gpus_that_computed_and_only_spin_at_the_end_are_a_hang_also_where_the_log_has_no_times(tmp_path: Path) -> None:
    def ended(folder: str, state: str, before: float, at_the_end: float) -> World:
        world = World(tmp_path / folder).job(state, 60, gpus=4, node_list="n1").train(LOSSES)
        for minute in range(2, 60):
            sm = before if minute < 35 else at_the_end
            now = T + timedelta(minutes=minute)
            world.add(*(GpuSample(node="n1", gpu=g, ts=now, engine_active=0.99, sm_active=sm) for g in range(4)))
        return world

    found = differential.draft(ended("a", "TIMEOUT", 0.6, 0.01).facts())
    assert (found.family, 0.5 < found.confidence < 0.8) == ("C2", True), found.headline
    found = differential.draft(ended("e", "TIMEOUT", 0.6, 0.08).facts())
    assert (found.family, 0.5 < found.confidence < 0.7) == ("C2", True), found.headline
    # a collective that waits on more channels holds more SMs, and still no half of what the run had
    found = differential.draft(ended("g", "TIMEOUT", 0.7, 0.15).facts())
    assert (found.family, 0.5 < found.confidence < 0.7) == ("C2", True), found.headline
    for folder, state, before, end in (
        ("b", "TIMEOUT", 0.6, 0.6),
        ("c", "TIMEOUT", 0.09, 0.09),
        ("d", "COMPLETED", 0.6, 0.01),
        ("f", "TIMEOUT", 0.16, 0.1),
        ("h", "TIMEOUT", 0.3, 0.18),
        ("i", "TIMEOUT", 0.7, 0.25),
    ):
        assert among(ended(folder, state, before, end).facts(), "C2", "F3", "G1").family != "C2", (state, before, end)


def without_sm(folder: Path, state: str, last: dict[str, float], first: dict[str, float] | None = None) -> World:
    """A log without times beside the counters that an exporter gives by default: none of them is SM activity."""
    world = World(folder).job(state, 60, gpus=4, node_list="n1").train(LOSSES)
    busy = {"dram_active": 0.4, "tensor_active": 0.35, "power_w": 600.0} if first is None else first
    for minute in range(2, 60):
        now = T + timedelta(minutes=minute)
        values = busy if minute < 25 else last
        world.add(*(GpuSample(node="n1", gpu=g, ts=now, engine_active=0.99, **values) for g in range(4)))
    return world


@pytest.mark.parametrize("state", ["TIMEOUT", "CANCELLED"])
def test_memory_tensor_cores_and_power_that_came_to_rest_tell_a_spin_where_no_sm_activity_is_measured(
    tmp_path: Path, state: str
) -> None:
    rests: list[dict[str, float]] = [
        {"dram_active": 0.005, "tensor_active": 0.0, "power_w": 160.0},
        {"dram_active": 0.0, "power_w": 160.0},
        {"dram_active": 0.01},
    ]
    for i, last in enumerate(rests):
        first = {k: v for k, v in (("dram_active", 0.4), ("tensor_active", 0.35), ("power_w", 600.0)) if k in last}
        found = among(without_sm(tmp_path / str(i), state, last, first).facts(), "C2", "F3", "F4")
        assert (found.family, 0.5 < found.confidence < 0.8) == ("C2", True), found.headline


def test_power_alone_tells_a_spin_from_work_where_an_exporter_gives_its_default_counters(tmp_path: Path) -> None:
    for folder, at_the_end, family in (("a", 170.0, "C2"), ("b", 560.0, "F3"), ("c", 420.0, "F3")):
        world = without_sm(tmp_path / folder, "TIMEOUT", {"power_w": at_the_end}, {"power_w": 600.0})
        assert differential.draft(world.facts()).family == family, at_the_end


def test_a_sample_taken_after_the_end_by_a_clock_that_differs_does_not_hide_a_spin(tmp_path: Path) -> None:
    """With a sample every three minutes one that is idle is a quarter of the last ten minutes. Accounting tells of no GPUs."""
    world = World(tmp_path).job("TIMEOUT", 60).train(LOSSES)
    for minute in range(0, 61, 3):
        moment = T + timedelta(minutes=minute) - timedelta(seconds=1)
        sm = 0.6 if minute < 30 else 0.01
        values = (1.0, sm) if minute < 60 else (0.0, 0.0)
        world.add(
            *(GpuSample(node="n1", gpu=g, ts=moment, engine_active=values[0], sm_active=values[1]) for g in range(4))
        )
    world.say("signal", "dataloader_killed", "DataLoader worker is killed by signal: Killed.", rank=3, signal=9)
    found = differential.draft(world.facts())
    assert found.family == "C2", found.headline
    assert any(c.text.startswith("The log of rank") for c in found.shows)


def test_a_busy_engine_beside_work_of_any_kind_is_no_spin(tmp_path: Path) -> None:
    low = {"dram_active": 0.02, "tensor_active": 0.01, "power_w": 200.0}
    worlds: dict[str, World] = {
        "worked to the end": without_sm(tmp_path / "a", "TIMEOUT", {"dram_active": 0.4, "power_w": 600.0}),
        "never did more": without_sm(tmp_path / "b", "TIMEOUT", low, low),
        "computes without memory": without_sm(tmp_path / "c", "TIMEOUT", {"dram_active": 0.01, "tensor_active": 0.5}),
        "draws as much power": without_sm(tmp_path / "d", "TIMEOUT", {"dram_active": 0.01, "power_w": 590.0}),
        "completed": without_sm(tmp_path / "e", "COMPLETED", {"dram_active": 0.01, "power_w": 160.0}),
    }
    for what, world in worlds.items():
        assert among(world.facts(), "C2", "F3", "F4", "G1").family != "C2", what
    slow = differential.draft(worlds["worked to the end"].facts())
    assert (slow.family, slow.confidence > 0.8) == ("F3", True), "memory that works to the end says that the run moved"


@pytest.mark.parametrize(("late", "rests"), [(0.0, True), (0.6, False)])
def test_gpus_that_had_nothing_to_do_at_the_wall_were_not_slow(late: float, rests: bool, tmp_path: Path) -> None:
    """A session that was left, of several GPUs, some of which had worked."""
    world = World(tmp_path).job("TIMEOUT", 120, gpus=4, node_list="n1", node_count=1)
    for m in range(120):
        active = 0.5 if m < 20 else late
        world.add(*(GpuSample(node="n1", gpu=g, ts=T + timedelta(minutes=m), engine_active=active) for g in range(4)))
    draft = differential.draft(world.facts())
    assert (draft.family, "had nothing to do by then" in draft.headline) == ("F3", rests)


@pytest.mark.parametrize(("loading", "told"), [((3,), True), ((2, 3), False), ((), False)])
def test_a_stack_that_the_log_holds_names_the_rank_that_waits_for_its_data(
    loading: tuple[int, ...], told: bool, tmp_path: Path
) -> None:
    """hang_causes: one that stands elsewhere than all the others holds them up."""
    world = World(tmp_path).job("FAILED").train(LOSSES, every_s=60.0)
    for rank in range(4):
        stack = (
            "get (queue.py:180) < _try_get_data (dataloader.py:1275)" if rank in loading else "all_reduce (c10d.py:28)"
        )
        world.say("warning", "host_stack", stack, rank=rank, severity="info")
    world.say(
        "nccl_watchdog",
        "collective_timeout",
        "Watchdog caught collective operation timeout",
        elapsed_ms=600_000.0,
        rank=0,
    )
    found = judge(world, c2.assess)
    assert any("By the stacks in the log" in c.text for c in found.speaks_for)
    assert any("waits for its data" in c.text for c in found.implies) is told
