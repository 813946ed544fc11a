"""The NVML source over the real pynvml and the real loader; only the library below them is ours (tests/software_gpu)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collector.node.loop import Loop
from collector.node.tiers import Tiers
from collector.sources.base import SourceUnavailable
from collector.topology.owners import Owner
from store.rows import GpuDetail, GpuDevice, GpuEvent, GpuSample, LinkEvent, LinkSample, SourceHealth
from tests.collector.livekit import Kept, asked
from tests.collector.sources.softgpu import Node, fresh, of
from tests.software_gpu.driver import SoftwareGpus, why_not

ROOT = Path(__file__).resolve().parents[3]


def test_a_sample_holds_what_the_gpu_says() -> None:
    node = Node()
    gpu = node.gpus.gpu(0)
    gpu.ecc[0][0][2], gpu.ecc[1][0][7] = 5, 2
    gpu.remapped_correctable, gpu.remap_pending = 1, 1
    gpu.fields[138], gpu.fields[38], gpu.fields[94] = 3, 7, 11
    node.gpus.runs(0, 4711, 1 << 30)
    node.source.open()
    node.look()
    (sample,) = of(node.look(), GpuSample)
    assert sample == GpuSample(
        cluster="lab",
        node="node1",
        ts=sample.ts,
        origin="nvml",
        gpu=0,
        gpu_uuid="GPU-00000000-1111-2222-3333-444455556666",
        pci_bus_id="00000000:1B:00.0",
        fb_used_bytes=60 << 30,
        fb_total_bytes=80 << 30,
        engine_active=0.96,
        sm_active=0.71,
        activity_source="gpm",
        tensor_active=0.44,
        dram_active=0.38,
        temp_c=55.0,
        memory_temp_c=63.0,
        power_w=640.0,
        power_limit_w=700.0,
        sm_clock_mhz=1980.0,
        memory_clock_mhz=2619.0,
        performance_state=0,
        throttle_reasons=0,
        ecc_sbe_total=5,
        ecc_dbe_total=2,
        remapped_correctable=1,
        remapped_uncorrectable=0,
        remap_pending=True,
        remap_failure=False,
        retired_pages=0,
        nvlink_errors=7,
        nvlink_tx_bytes=3072,
        nvlink_rx_bytes=0,
        pcie_tx_bytes_s=5.0 * (1 << 20),
        pcie_rx_bytes_s=7.0 * (1 << 20),
        pcie_replays=11,
        health="warning",
        processes=1,
        ecc_sbe_dram=5,
        ecc_sbe_sram=0,
        ecc_dbe_dram=0,
        ecc_dbe_sram=2,
    )


def test_the_device_is_told_at_the_start_and_hourly() -> None:
    node = Node()
    node.source.open()
    (device,) = of(node.look(), GpuDevice)
    assert (device.model, device.driver_version) == ("NVIDIA H100 80GB HBM3", "575.57.08")
    assert not of(node.look(3600), GpuDevice)
    assert len(of(node.look(), GpuDevice)) == 1


def test_without_gpm_the_row_says_that_it_holds_utilisation() -> None:
    """Ampere and older: the driver's utilisation stands in, and SM activity is NULL with its reason, not zero."""
    node = Node()
    node.gpus.gpu(0).gpm_supported = 0
    node.source.open()
    node.look()
    (sample,) = of(node.look(), GpuSample)
    assert (sample.engine_active, sample.sm_active, sample.activity_source) == (0.97, None, "nvml")
    assert "sm_active" in node.source.missing


def test_what_a_gpu_does_not_support_is_null_named_and_not_asked_for_again() -> None:
    node = Node()
    gpu = node.gpus.gpu(0)
    for field in (186, 142, 3, 4, 82):
        gpu.unsupported[field] = 1
    kept = Kept()
    loop = Loop([node.source], kept, node.here)
    loop.tasks[0].round()
    node.clock.passes(20)
    loop.tasks[0].round()
    sample = kept.of(GpuSample)[-1]
    assert (sample.power_w, sample.remapped_correctable, sample.ecc_sbe_total, sample.memory_temp_c) == (None,) * 4
    loop.tell_health()
    (told,) = [h for h in kept.of(SourceHealth) if h.covers == "gpu_sample"]
    assert told.ok
    named = set((told.missing_fields or "").split(","))
    assert {"power_w", "remap_pending", "ecc_sbe_total", "ecc_dbe_total", "memory_temp_c"} <= named
    assert "not supported by this GPU" in (told.message or "")


def test_an_xid_between_two_samples_is_in_the_evidence() -> None:
    """Events are queued by the driver: two in one second are two rows, with the MIG instance that the driver names."""
    node = Node(2)
    node.source.open()
    node.look()
    node.gpus.xid(1, 31)
    node.gpus.xid(1, 79)
    at = node.clock.now()
    events = [e for _ in range(5) for e in of(node.look(), GpuEvent)]
    assert [(e.event, e.xid, e.gpu, e.ts) for e in events] == [("xid", 31, 1, at), ("xid", 79, 1, at)]


def test_an_xid_that_the_kernel_told_of_is_not_told_twice() -> None:
    """The kernel's line names the process and the channel; NVML's event says nothing that it does not."""
    node = Node(2)
    node.source.open()
    node.look()
    node.gpus.xid(1, 31)
    node.look()
    node.here.owners.kernel_xids["00000000:1C:00.0", 31] = node.clock.steady()
    assert not [e for _ in range(5) for e in of(node.look(), GpuEvent)]


def test_the_xid_of_a_gpu_that_is_lost_with_it_is_told() -> None:
    """XID 79 and the loss come together: by the time of the look the GPU no longer answers for itself."""
    node = Node(2)
    node.source.open()
    node.look()
    node.gpus.xid(1, 79)
    node.gpus.lose(1)
    events = [e for _ in range(4) for e in of(node.look(), GpuEvent)]
    assert sorted((e.event, e.xid or 0, e.gpu) for e in events) == [("fallen_off_bus", 0, 1), ("xid", 79, 1)]


def test_an_xid_just_before_the_end_of_the_collector_is_not_lost() -> None:
    node, kept = Node(), Kept()
    task = Loop([node.source], kept, node.here).tasks[0]
    task.round()
    node.gpus.xid(0, 48)
    node.clock.passes(1)
    task.round()
    assert not kept.of(GpuEvent)
    task.finish()
    assert [e.xid for e in kept.of(GpuEvent)] == [48]


def test_an_xid_just_before_the_driver_goes_is_not_lost() -> None:
    node, kept = Node(), Kept()
    task = Loop([node.source], kept, node.here).tasks[0]
    task.round()
    node.gpus.xid(0, 79)
    node.clock.passes(1)
    task.round()
    node.gpus.unload()
    node.clock.passes(0.5)
    task.round()
    assert [e.xid for e in kept.of(GpuEvent)] == [79]


def test_a_throttle_that_no_sample_sees_is_told_by_its_counter() -> None:
    """3 ms of thermal violation between two samples: the reasons are clear in both, the counter has moved."""
    node = Node()
    node.source.open()
    node.look()
    assert not of(node.look(), GpuEvent)
    node.gpus.gpu(0).fields[75] += 3_000_000
    rows = node.look()
    (event,) = of(rows, GpuEvent)
    assert event.event == "throttle" and "3.000 ms" in event.message
    assert of(rows, GpuSample)[0].throttle_reasons == 0
    assert not of(node.look(), GpuEvent)


def test_a_throttle_that_one_sample_sees_keeps_that_sample() -> None:
    """One second of hardware slowdown: the event, and the detail around it. A coarse row is one look in fifteen."""
    node, kept = Node(), Kept()
    tiers = Tiers(lambda row: kept.add(row, every_s=0), node.clock)
    node.source.open()
    for second in range(40):
        node.gpus.gpu(0).reasons = 0x8 if second == 20 else 0x4
        for row in node.look():
            tiers.add(row, every_s=1.0)
    (event,) = kept.of(GpuEvent)
    assert "hw_slowdown" in (event.message or "")
    assert [d.throttle_reasons for d in kept.of(GpuDetail)].count(0x8) == 1
    assert [s.throttle_reasons for s in kept.of(GpuSample)] == [0x4, 0x4]


def test_a_power_cap_is_no_throttle() -> None:
    """A busy GPU works at its power limit: that is in the sample's reasons and is no event."""
    node = Node()
    node.gpus.gpu(0).reasons = 0x4
    node.source.open()
    node.look()
    assert not of(node.look(), GpuEvent)


def test_a_link_that_flapped_between_two_looks_is_told_by_its_counter() -> None:
    node = Node()
    node.source.open()
    (sample,) = of(node.look(20), LinkSample)
    assert (sample.fabric, sample.device, sample.state) == ("nvlink", "0", "ACTIVE")
    gpu = node.gpus.gpu(0)
    gpu.fields[59] += 2
    gpu.fields[52] += 40
    (event,) = of(node.look(20), LinkEvent)
    assert (event.event, event.count, event.device) == ("flap", 2, "0")
    gpu.link_up[3] = 0
    rows = node.look(20)
    assert [(e.event, e.port) for e in of(rows, LinkEvent)] == [("down", "3")]
    assert of(rows, LinkSample)[0].state == "17 of 18 up"


def test_a_row_that_is_remapped_is_an_event() -> None:
    node = Node()
    node.source.open()
    node.look(20)
    node.gpus.gpu(0).remapped_uncorrectable = 1
    (event,) = of(node.look(), GpuEvent)
    assert (event.event, event.message) == ("row_remap", "remapped_uncorrectable rose from 0 to 1")


def test_a_driver_that_is_reloaded_is_found_again() -> None:
    """While it is away nothing hangs and source_health says so; when it is back that is an event."""
    node, kept = Node(), Kept()
    task = Loop([node.source], kept, node.here).tasks[0]
    task.round()
    node.gpus.unload()
    for _ in range(3):
        node.clock.passes(1)
        task.round()
    assert task.watched.ok is False and "NVML" in (task.watched.message or "")
    node.gpus.load()
    node.clock.passes(60)
    task.round()
    assert task.watched.ok is True
    assert [e.event for e in kept.of(GpuEvent)] == ["driver_reload"]
    assert len(kept.of(GpuSample)) == 2


def test_a_row_carries_the_job_that_the_gpu_belongs_to() -> None:
    node = Node(2)
    node.source.open()
    node.here.owners.gpus[node.here.owners.gpu_order[1]] = Owner("4812", 1)
    assert [s.job_id for s in of(node.look(), GpuSample)] == [None, "4812"]


def test_no_driver_is_said_with_a_remedy() -> None:
    node = Node()
    node.gpus.unload()
    with pytest.raises(SourceUnavailable) as said:
        node.source.open()
    assert said.value.remedy == "modprobe nvidia"


def test_the_whole_collector_survives_a_driver_reload(tmp_path: Path) -> None:
    """The command itself, found by LD_LIBRARY_PATH: rows before and after, the gap in source_health, a clean stop."""
    problem = why_not()
    if problem:
        pytest.skip(problem)
    gpus = SoftwareGpus(tmp_path, count=8)
    lake = tmp_path / "lake"
    words = [sys.executable, "-m", "inquest", "collect", "--source", "nvml", "--lake", str(lake), "--node", "node1"]
    child = subprocess.Popen([*words, "--spool", str(tmp_path / "spool")], cwd=ROOT, env=gpus.environment)
    try:
        _until_calls(gpus, 400)
        gpus.xid(3, 79)
        _until_calls(gpus, gpus.state.calls + 800)
        gpus.unload()
        _until_calls(gpus, gpus.state.calls + 3)  # the looks at a driver that is away, a call each
        gpus.load()
        _until_calls(gpus, gpus.state.calls + 800)
        maps = Path(f"/proc/{child.pid}/maps").read_text()
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
    finally:
        child.kill()
    assert str(gpus.libraries) in maps
    assert asked(lake, "SELECT gpu, xid FROM gpu_event WHERE event = 'xid'") == [(3, 79)]
    assert asked(lake, "SELECT count(*) FROM gpu_event WHERE event = 'driver_reload'") == [(1,)]
    assert asked(lake, "SELECT count(DISTINCT gpu) FROM gpu_sample") == [(8,)]
    assert asked(lake, "SELECT count(*) > 8 FROM gpu_detail") == [(True,)]
    states = asked(lake, "SELECT ok FROM source_health WHERE covers = 'gpu_sample' ORDER BY ts")
    assert (states[0], states[-1]) == ((True,), (True,)) and (False,) in states


def _until_calls(gpus: SoftwareGpus, calls: int) -> None:
    deadline = time.monotonic() + 200
    while gpus.state.calls < calls:
        assert time.monotonic() < deadline, "the collector does not look at the GPUs"
        time.sleep(0.05)


def test_nothing_here_needs_a_real_gpu() -> None:
    """The software library is what answered: its path and none of a driver's."""
    fresh(1)
    assert os.environ["INQUEST_SOFTWARE_GPU"] in Path("/proc/self/maps").read_text()
