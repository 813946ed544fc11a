"""Coarse rows always, every sample around a trigger."""

from __future__ import annotations

from datetime import timedelta

from collector.node.here import Here
from collector.node.tiers import RULES, Tiers
from store.rows import GpuDetail, GpuEvent, GpuSample, LinkEvent, Process, Row, columns
from tests.collector.livekit import Kept, SetClock


class Node:
    """A node with one GPU that is sampled once a second."""

    def __init__(self, **settings: float) -> None:
        self.clock, self.kept = SetClock(), Kept()
        self.alarms: list[str] = []
        keep = lambda row: self.kept.add(row, every_s=0)  # noqa: E731
        self.tiers = Tiers(keep, self.clock, urgent=self.alarms.append, **settings)
        self.here = Here(clock=self.clock)

    def seconds(self, n: int, **values: object) -> None:
        for _ in range(n):
            row = GpuSample(node="node1", ts=self.clock.now(), gpu_uuid="GPU-a", gpu=0, **values)  # type: ignore[arg-type]
            self.tiers.add(row, every_s=1.0)
            self.tiers.tick()
            self.clock.passes(1)

    def event(self, row: Row) -> None:
        self.tiers.add(row, every_s=0)


def test_a_coarse_row_sums_up_its_samples() -> None:
    """Means of rates, the highest memory, the last count and throttle reasons; how long it covers stands in it.

    Reasons of any sample would make one second of throttling in fifteen look like a GPU that always throttles.
    """
    node = Node()
    node.seconds(10, engine_active=1.0, fb_used_bytes=100, throttle_reasons=4, ecc_sbe_total=1)
    node.seconds(5, engine_active=0.3, fb_used_bytes=50, throttle_reasons=8, ecc_sbe_total=7)
    (row,) = node.kept.of(GpuSample)
    assert row.engine_active is not None and abs(row.engine_active - (10 + 5 * 0.3) / 15) < 1e-9
    assert (row.fb_used_bytes, row.throttle_reasons, row.ecc_sbe_total) == (100, 8, 7)
    assert (row.interval_s, row.power_w) == (15.0, None)


def test_a_minute_without_a_trigger_is_four_rows_and_no_detail() -> None:
    node = Node()
    node.seconds(60, engine_active=1.0)
    assert len(node.kept.of(GpuSample)) == 4
    assert not node.kept.of(GpuDetail)


def test_one_xid_between_two_samples_keeps_the_minutes_around_it() -> None:
    """Every sample of the two minutes before and of the seconds after, once each, beside the unchanged coarse rows."""
    node = Node()
    node.seconds(300, engine_active=1.0)
    node.event(GpuEvent(event="xid", xid=79))
    node.seconds(100, engine_active=0.0)
    detail = node.kept.of(GpuDetail)
    assert len(detail) == 121 + 21 and len({d.ts for d in detail}) == len(detail)
    assert len(node.kept.of(GpuSample)) == 400 // 15
    assert node.alarms == ["gpu_event: xid"]


def test_calm_events_trigger_nothing() -> None:
    node = Node()
    node.event(LinkEvent(event="up"))
    node.event(Process(pid=1, end_ts=node.clock.now(), exit_code=0))
    assert not node.alarms


def test_an_old_event_triggers_nothing() -> None:
    """At the start the kernel's log tells of all since the boot."""
    node = Node()
    node.event(GpuEvent(event="xid", xid=79, ts=node.clock.now() - timedelta(hours=1)))
    assert not node.alarms and len(node.kept.of(GpuEvent)) == 1


def test_a_rank_that_ends_abnormally_is_a_trigger() -> None:
    node = Node()
    node.event(Process(pid=1, end_ts=node.clock.now(), exit_signal=9))
    assert len(node.alarms) == 1


def test_a_storm_of_triggers_writes_a_bounded_share_of_all_samples() -> None:
    """An XID a second for an hour does not turn the lake into a full-rate store."""
    node = Node()
    for _ in range(3600):
        node.seconds(1, engine_active=1.0)
        node.event(GpuEvent(event="xid", xid=31))
    assert 0 < len(node.kept.of(GpuDetail)) < 0.3 * 3600


def test_a_slow_source_passes_as_it_is() -> None:
    node = Node()
    row = GpuSample(gpu_uuid="GPU-a")
    node.tiers.add(row, every_s=30.0)
    assert node.kept.rows == [row]


def test_what_is_no_longer_there_gets_its_last_coarse_row() -> None:
    """A GPU that is lost must not take its last seconds with it."""
    node = Node()
    node.seconds(3, engine_active=1.0)
    node.clock.passes(60)
    node.tiers.tick()
    (row,) = node.kept.of(GpuSample)
    assert row.interval_s == 3.0


def test_every_rule_names_a_column() -> None:
    assert RULES
    for kind, rules in RULES.items():
        assert set(rules) <= {c.name for c in columns(kind)}


def finer(node: Node, n: int, gpu: str = "GPU-a") -> None:
    for _ in range(n):
        node.event(GpuDetail(origin="nvml:samples", gpu_uuid=gpu, ts=node.clock.now(), power_w=900.0))


def test_finer_rows_have_room_after_a_trigger_only_and_the_samples_of_a_second_come_first() -> None:
    node = Node()
    node.seconds(300)
    assert node.tiers.finer() == (0, 0)
    node.event(GpuEvent(event="xid", xid=79))
    assert node.tiers.finer() == (1, 199), "two hundred, of which the ring's 121st sample took one"
    for gpu in ("GPU-a", "GPU-b"):
        finer(node, 60, gpu)
    assert node.tiers.finer() == (1, 139), "so many of each GPU"
    finer(node, 140)
    node.seconds(100)
    assert node.tiers.finer() == (1, 0)
    assert len([d for d in node.kept.of(GpuDetail) if d.origin is None]) == 121 + 21
    node.event(GpuEvent(event="xid", xid=79))
    assert node.tiers.finer() == (2, 0), "earned so far is not even what the ring takes"


def test_finer_rows_count_as_a_share_of_all_time() -> None:
    node = Node()
    for _ in range(40):
        node.seconds(100)
        node.event(GpuEvent(event="xid", xid=79))
        finer(node, node.tiers.finer()[1])
    assert len(node.kept.of(GpuDetail)) < 0.2 * 4000 + 340 + 120
