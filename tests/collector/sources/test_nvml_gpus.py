"""GPUs of one node that differ: one is lost, one answers with errors, one is divided, and divided anew."""

from __future__ import annotations

from store.rows import GpuDevice, GpuEvent, GpuSample
from tests.collector.sources.softgpu import Node, of


def test_a_lost_gpu_is_one_event_and_the_others_go_on() -> None:
    """It is looked for again, and found after a reset."""
    node = Node(3)
    node.source.open()
    node.look()
    node.gpus.lose(1)
    rows = node.look()
    assert [(e.event, e.gpu) for e in of(rows, GpuEvent)] == [("fallen_off_bus", 1)]
    assert [s.gpu for s in of(rows, GpuSample)] == [0, 2]
    rows = node.look(60)
    assert not of(rows, GpuEvent) and len(of(rows, GpuSample)) == 2
    node.gpus.gpu(1).error = 0
    node.look()
    assert [s.gpu for s in of(node.look(), GpuSample)] == [0, 1, 2]


def test_mig_counts_nothing_twice() -> None:
    """Memory and activity by instance; power, temperature and errors once, on the physical GPU's row."""
    node = Node()
    for slices, memory in ((1, 10 << 30), (2, 20 << 30)):
        part = node.gpus.split(0, slices, memory, f"{slices}g.{slices}0gb")
        part.memory_used = 1 << 30
        part.gpm[2] = 50.0
    node.source.open()
    node.look()
    whole, *parts = of(node.look(), GpuSample)
    assert (whole.mig, whole.power_w, whole.engine_active) == (None, 640.0, None)
    assert "engine_active" in node.source.missing
    assert [(p.mig, p.fb_total_bytes, p.sm_active) for p in parts] == [
        ("1g.10gb/7", 10 << 30, 0.5),
        ("2g.20gb/8", 20 << 30, 0.5),
    ]
    assert {(p.power_w, p.temp_c, p.ecc_sbe_total, p.gpu_uuid) for p in parts} == {(None, None, None, whole.gpu_uuid)}
    node.gpus.xid(0, 94, instance=8)
    (event,) = [e for _ in range(4) for e in of(node.look(), GpuEvent)]
    assert (event.xid, event.mig) == (94, "2g.20gb/8")


def test_a_gpu_that_is_divided_anew_is_noticed() -> None:
    node = Node()
    node.gpus.split(0, 1, 10 << 30, "1g.10gb")
    node.source.open()
    node.look(10)
    node.gpus.split(0, 2, 20 << 30, "2g.20gb")
    assert len(of(node.look(), GpuSample)) == 3


def test_a_gpu_that_answers_with_errors_blinds_nobody_for_the_others() -> None:
    """ "Unknown Error" of one GPU is no reload of the driver and no lost GPU; it is named in source_health until it answers."""
    node = Node(3)
    node.source.open()
    node.look()
    node.gpus.gpu(1).error = 999
    rows = [row for _ in range(4) for row in node.look()]
    assert {s.gpu for s in of(rows, GpuSample) if s.ts > rows[0].ts} == {0, 2}
    assert of(rows, GpuEvent) == []
    assert node.source.missing == {"gpu 1": "NVML: Unknown Error"}
    node.gpus.gpu(1).error = 0
    rows = [row for _ in range(8) for row in node.look()]
    assert {s.gpu for s in of(rows, GpuSample)} == {0, 1, 2}
    assert [d.gpu for d in of(rows, GpuDevice)] == [1]
    assert of(rows, GpuEvent) == [] and node.source.missing == {}
    node.gpus.xid(1, 31)
    assert [(e.gpu, e.xid) for _ in range(4) for e in of(node.look(), GpuEvent)] == [(1, 31)]


def test_a_gpu_that_answers_with_errors_from_the_start_is_named() -> None:
    node = Node(2)
    node.gpus.gpu(0).error = 999
    node.source.open()
    assert {s.gpu for s in of(node.look(), GpuSample)} == {1}
    assert node.source.missing == {"gpu 0": "NVML: Unknown Error"}


def test_an_instance_that_is_taken_away_leaves_the_others_and_is_no_reload() -> None:
    node = Node(2)
    for _ in range(2):
        node.gpus.split(0, 3, 40 << 30, "3g.40gb").gpm[1] = 50.0
    node.gpus.runs(0, 4711, 1 << 30, 8)
    node.source.open()
    node.look()
    assert len(node.here.owners.gpu_pids) == 4
    node.gpus.gpu(0).migs = 1
    rows = [row for _ in range(3) for row in node.look()]
    assert of(rows, GpuEvent) == []
    assert {(s.gpu, s.mig) for s in of(rows, GpuSample)} == {(0, None), (0, "3g.40gb/7"), (1, None)}
    assert len(node.here.owners.gpu_pids) == 3


def test_mig_that_is_switched_on_and_off_beside_the_collector_is_noticed() -> None:
    node = Node(1)
    node.source.open()
    node.look()
    node.gpus.split(0, 3, 40 << 30, "3g.40gb")
    rows = [row for _ in range(6) for row in node.look()]
    assert "3g.40gb/7" in {s.mig for s in of(rows, GpuSample)}
    node.gpus.gpu(0).migs = node.gpus.gpu(0).mig_mode = 0
    node.look(5.0)
    rows = [row for _ in range(3) for row in node.look()]
    assert {(s.mig, s.activity_source) for s in of(rows[-1:], GpuSample)} == {(None, "gpm")}
    assert "engine_active" not in node.source.missing
