"""What the driver keeps between two looks, asked for after an alarm, over the real pynvml and the software GPU's buffers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collector.gpu.binding import nvml
from collector.gpu.finer import ORIGIN, Finer, thinned
from collector.node.tiers import AFTER_S, FINER, Tiers
from collector.sources.nvml import FINER_S
from collector.topology.owners import Owner
from store.rows import GpuDetail, GpuEvent
from tests.collector.livekit import Kept
from tests.collector.sources.softgpu import Node
from tests.software_gpu.driver import MEMORY_CLOCK, MEMORY_UTILISATION, POWER, SM_CLOCK, UTILISATION

KINDS = (POWER, UTILISATION, MEMORY_UTILISATION, SM_CLOCK, MEMORY_CLOCK)


class Watched:
    """A node whose samples go through the two tiers, as in the collector."""

    def __init__(self, count: int = 1) -> None:
        self.node, self.kept = Node(count), Kept()
        self.gpus, self.clock = self.node.gpus, self.node.clock
        self.tiers = Tiers(lambda row: self.kept.add(row, every_s=0), self.clock)
        self.node.here.alarm, self.node.here.finer = self.tiers.trigger, self.tiers.finer
        self.node.source.open()
        self.looks(3)

    def looks(self, n: int = 1) -> None:
        for _ in range(n):
            for row in self.node.source.rows():
                self.tiers.add(row, every_s=1.0)
            self.tiers.tick()
            self.clock.passes(1)

    def keeps(self, kind: int, values: Iterable[int], apart_ms: float, *, gpu: int = 0, value_type: int = 1) -> None:
        """The driver's newest sample is of this moment, the others lie before it."""
        values = list(values)
        now = self.micros()
        times = [now - round((len(values) - 1 - i) * apart_ms * 1000) for i in range(len(values))]
        self.gpus.keeps(gpu, kind, list(zip(times, values, strict=True)), value_type)

    def micros(self) -> int:
        return round(self.clock.now().timestamp() * 1_000_000)

    def asked(self, gpu: int = 0) -> int:
        return sum(s.asked for s in self.gpus.gpu(gpu).samples)

    def xid(self) -> None:
        self.gpus.xid(0, 79)
        self.looks()

    @property
    def finer(self) -> list[GpuDetail]:
        return [d for d in self.kept.of(GpuDetail) if d.origin == ORIGIN]

    def told(self, column: str) -> list[Any]:
        return [getattr(d, column) for d in self.finer if getattr(d, column) is not None]


def test_a_power_peak_and_a_clock_dip_between_two_samples_are_in_the_detail_of_an_xid() -> None:
    """Fifty milliseconds of 912 W and one dip of the clock, which no sample of a second saw."""
    watched = Watched()
    watched.keeps(POWER, [640_000] * 90 + [912_000] * 3 + [640_000] * 26, 20)
    watched.keeps(SM_CLOCK, [1980] * 60 + [345] + [1980] * 20, 21)
    watched.looks(30)
    assert not watched.finer and watched.asked() == 0, "in quiet times nobody asks"
    watched.keeps(POWER, [640_000] * 90 + [912_000] * 3 + [640_000] * 26, 20)
    watched.keeps(SM_CLOCK, [1980] * 60 + [345] + [1980] * 20, 21)
    at = watched.clock.now()
    watched.xid()
    peak = max(watched.finer, key=lambda d: d.power_w or 0.0)
    dip = min(watched.finer, key=lambda d: d.sm_clock_mhz or 9e9)
    assert (peak.power_w, peak.sm_clock_mhz, peak.engine_active, peak.fb_used_bytes) == (912.0, None, None, None)
    assert peak.ts is not None and 0.5 < (at - peak.ts).total_seconds() < 0.6
    assert (dip.sm_clock_mhz, dip.ts) == (345.0, at - timedelta(milliseconds=420))
    assert {round(d.interval_s or 0, 6) for d in watched.finer} == {0.02, 0.021}
    assert (peak.node, peak.cluster, peak.gpu, peak.gpu_uuid) == (
        "node1",
        "lab",
        0,
        "GPU-00000000-1111-2222-3333-444455556666",
    )
    whole = [d for d in watched.kept.of(GpuDetail) if d.origin == "nvml"]
    assert {d.power_w for d in whole} == {640.0} and {d.sm_clock_mhz for d in whole} == {1980.0}


def test_measures_that_the_driver_takes_together_share_a_row() -> None:
    watched = Watched()
    watched.keeps(UTILISATION, [97, 12, 100], 167)
    watched.keeps(MEMORY_UTILISATION, [40, 1, 55], 167)
    watched.xid()
    rows = [(d.engine_active, d.dram_active, d.activity_source, d.interval_s) for d in watched.finer]
    assert rows == [(0.97, 0.4, "nvml", 0.167), (0.12, 0.01, "nvml", 0.167), (1.0, 0.55, "nvml", 0.167)]


def test_there_are_never_more_than_the_room_and_each_peak_is_among_them() -> None:
    """Ten seconds of all measures, renewed all the time: the highest of 512 stays, and a trigger brings two hundred rows at most."""
    watched = Watched()
    for number, kind in enumerate(KINDS):
        watched.keeps(kind, [50] * (100 + number) + [99] + [50] * (411 - number), 20)
    watched.xid()
    first = len(watched.finer)
    assert first <= FINER // 2 + len(KINDS)
    assert max(watched.told("engine_active")) == max(watched.told("dram_active")) == 0.99
    assert max(watched.told("sm_clock_mhz")) == max(watched.told("memory_clock_mhz")) == 99.0
    assert max(watched.told("power_w")) == 0.099
    for _ in range(60):
        for kind in KINDS:
            watched.keeps(kind, [50, 60] * 256, 20)
        watched.looks()
    assert first < len(watched.finer) <= FINER + len(KINDS)
    last = max(d.ts for d in watched.finer if d.ts is not None)
    assert (watched.clock.now() - last).total_seconds() > 60 - AFTER_S - 6


def test_it_is_asked_again_while_the_driver_still_holds_what_came_since() -> None:
    """A buffer of two seconds is read every two, one of sixteen every five; after the trigger's seconds never."""
    counts: list[int] = []
    for apart_ms in (20, 160):
        watched = Watched()
        watched.gpus.xid(0, 79)
        for _ in range(60):
            watched.keeps(POWER, [640_000] * 100, apart_ms)
            watched.looks()
        counts.append(watched.gpus.gpu(0).samples[POWER].asked)
    assert counts[0] in (10, 11, 12) and counts[1] == 5


def test_two_alarms_bring_no_sample_twice() -> None:
    watched = Watched()
    times = [watched.micros() + 20_000 * i for i in range(400)]
    for _ in range(8):
        now = watched.micros()
        watched.gpus.keeps(0, POWER, [(at, 640_000 + at % 7) for at in times if at <= now])
        watched.gpus.xid(0, 31)
        watched.looks()
    seen = [d.ts for d in watched.finer]
    assert len(seen) == len(set(seen)) > 50 and seen == sorted(seen)


def test_a_gpu_that_answered_with_an_error_in_between_brings_none_twice() -> None:
    watched = Watched(2)
    watched.keeps(POWER, [640_000] * 30, 20)
    watched.xid()
    watched.gpus.gpu(0).error = nvml.NVML_ERROR_UNKNOWN
    watched.looks()
    assert "gpu 0" in watched.node.source.missing
    watched.gpus.gpu(0).error = 0
    watched.looks(8)
    seen = [d.ts for d in watched.finer]
    assert len(seen) == len(set(seen)) == 30


@pytest.mark.parametrize(
    ("at_s", "value"),
    [
        (None, 640_000),  # a slot that was never filled
        (2.0, 640_000),  # of a time to come
        (-121.0, 640_000),  # older than the ring
        (-1.0, 0xFFFFFFFF),
        (-1.0, 30_000_000),
    ],
)
def test_what_cannot_be_is_no_row(at_s: float | None, value: int) -> None:
    watched = Watched()
    now = watched.micros()
    strange = 0 if at_s is None else now + round(at_s * 1_000_000)
    watched.gpus.keeps(0, POWER, [(now - 40_000, 640_000), (strange, value), (now - 20_000, 641_000)])
    watched.xid()
    assert watched.told("power_w") == [640.0, 641.0]


@pytest.mark.parametrize(
    ("value_type", "told"),
    [
        (nvml.NVML_VALUE_TYPE_DOUBLE, [640.0]),
        (nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, [640.0]),
        (nvml.NVML_VALUE_TYPE_SIGNED_INT, [640.0]),
        (99, []),
    ],
)
def test_a_value_is_read_as_what_the_driver_says_it_is(value_type: int, told: list[float]) -> None:
    watched = Watched()
    watched.keeps(POWER, [640_000], 20, value_type=value_type)
    watched.xid()
    assert watched.told("power_w") == told


def test_a_negative_value_is_none() -> None:
    watched = Watched()
    watched.keeps(POWER, [2**64 - 5], 20, value_type=nvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG)
    watched.xid()
    assert not watched.finer


def test_what_a_gpu_does_not_keep_is_named_and_asked_for_once() -> None:
    """vGPUs keep no power; that nothing is newer is no lack."""
    watched = Watched()
    watched.gpus.gpu(0).samples[POWER].error = nvml.NVML_ERROR_NOT_SUPPORTED
    watched.keeps(UTILISATION, [97, 98], 167)
    watched.xid()
    assert watched.told("engine_active") == [0.97, 0.98] and not watched.told("power_w")
    lacks = [name for name in watched.node.source.missing if "finer" in name]
    assert lacks == ["power_w finer than a second"]
    watched.gpus.gpu(0).samples[POWER].error = 0
    watched.keeps(POWER, [640_000], 20)
    watched.xid()
    assert not watched.told("power_w")


def test_an_error_of_one_measure_costs_no_sample_of_a_second() -> None:
    watched = Watched()
    watched.gpus.gpu(0).samples[POWER].error = nvml.NVML_ERROR_UNKNOWN
    watched.keeps(SM_CLOCK, [1980], 20)
    watched.xid()
    assert watched.told("sm_clock_mhz") == [1980.0]
    watched.gpus.gpu(0).samples[POWER].error = 0
    watched.keeps(POWER, [640_000], 20)
    watched.looks(6)
    assert watched.told("power_w") == [640.0]
    assert not [name for name in watched.node.source.missing if name.startswith("gpu ")]


def test_a_gpu_that_is_lost_in_the_call_is_told_and_keeps_no_other_waiting() -> None:
    watched = Watched(2)
    watched.gpus.gpu(0).samples[POWER].error = nvml.NVML_ERROR_GPU_IS_LOST
    watched.keeps(POWER, [640_000], 20, gpu=1)
    watched.xid()
    assert [(d.gpu, d.power_w) for d in watched.finer] == [(1, 640.0)]
    assert [e.event for e in watched.kept.of(GpuEvent)] == ["fallen_off_bus"]
    assert "gpu 0" in watched.node.source.missing


def test_a_driver_that_is_slow_to_answer_is_asked_for_the_other_gpus_in_the_next_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched(3)
    for gpu in range(3):
        watched.keeps(POWER, [640_000], 20, gpu=gpu)
    real = Finer.look

    def slow(finer: Finer, *given: Any) -> dict[int, dict[str, Any]]:
        watched.clock.passes(FINER_S + 0.1)
        return real(finer, *given)

    monkeypatch.setattr(Finer, "look", slow)
    watched.gpus.xid(0, 79)
    told: list[list[int | None]] = []
    for _ in range(3):
        before = len(watched.finer)
        watched.looks()
        told.append([d.gpu for d in watched.finer[before:]])
    assert told == [[0], [1], [2]]


def test_a_divided_gpu_gives_what_it_has_as_a_whole() -> None:
    watched = Watched()
    watched.gpus.split(0, 1, 10 << 30, "1g.10gb")
    watched.looks(6)
    watched.keeps(POWER, [640_000], 20)
    watched.keeps(UTILISATION, [97], 20)
    watched.xid()
    assert [(d.power_w, d.engine_active, d.mig) for d in watched.finer] == [(640.0, None, None)]


def test_a_sample_belongs_to_the_job_that_had_the_gpu_then() -> None:
    """A process that ends abnormally is no longer the GPU's owner when its last moments are asked for."""
    watched = Watched()
    gpus, uuid = watched.node.here.owners.gpus, watched.node.here.owners.gpu_order[0]
    gpus[uuid] = Owner("4812", 1)
    watched.looks(5)
    gpus.pop(uuid)
    watched.looks(1)
    watched.keeps(POWER, [640_000, 640_000, 640_000], 1500)
    watched.xid()
    assert [(d.job_id, d.attempt) for d in watched.finer] == [("4812", 1), ("4812", 1), (None, None)]


@pytest.mark.parametrize("step_s", [-60.0, 30.0])
def test_what_was_stamped_before_the_clock_was_set_is_left_out(step_s: float) -> None:
    watched = Watched()
    watched.xid()
    watched.keeps(POWER, [640_000] * 20, 20)
    watched.looks(2)
    taken = len(watched.finer)
    watched.clock.is_set_by(step_s)
    watched.looks(1)
    watched.keeps(POWER, [700_000] * 100, 100)
    watched.xid()
    assert set(watched.told("power_w")[taken:]) == {700.0}
    after = min(d.ts for d in watched.finer[taken:] if d.ts is not None)
    assert (watched.clock.now() - after).total_seconds() < 2.5


def test_thinning_keeps_the_lowest_and_the_highest_of_every_stretch() -> None:
    samples = [(i, float(i % 10)) for i in range(1000)]
    samples[333], samples[777] = (333, 99.0), (777, -1.0)
    few = thinned(samples, 20)
    assert len(few) <= 20 and {(333, 99.0), (777, -1.0)} <= set(few)
    assert [at for at, _ in few] == sorted(at for at, _ in few)
    assert thinned(samples[:20], 20) == samples[:20]
    assert len(thinned(samples, 1)) == 2


def test_times_are_of_the_host_and_in_utc() -> None:
    watched = Watched()
    watched.gpus.keeps(0, POWER, [(watched.micros() - 123_456, 640_000)])
    watched.xid()
    (row,) = watched.finer
    assert row.ts == datetime(2026, 3, 1, 10, 0, 3, tzinfo=UTC) - timedelta(microseconds=123_456)
