"""The kernel's log, from records as /dev/kmsg gives them; and from the real device of this host."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.sources.kernel_log import KernelLog
from collector.topology.owners import Owner
from store.rows import GpuEvent, HostEvent, LinkEvent, Row
from tests.collector.livekit import SetClock

SAMPLE = (Path(__file__).parent / "samples/kmsg.txt").read_bytes()


class Device(KernelLog):
    """Reads records from a socket that keeps their bounds, as the device does."""

    def __init__(self, here: Here) -> None:
        super().__init__(here, uptime=lambda: 1000.0)
        self.kernel, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours = ours

    def open(self) -> None:
        self._ours.setblocking(False)
        self._fd = os.dup(self._ours.fileno())
        self._next = self._remembered()

    def says(self, record: bytes) -> None:
        self.kernel.send(record)


def node(tmp_path: Path) -> Here:
    return Here(node="node1", clock=SetClock(), state=tmp_path)


def read(source: Device, sample: bytes = SAMPLE) -> list[Row]:
    for line in sample.splitlines():
        if not line.startswith(b"#"):
            source.says(line + b"\n SUBSYSTEM=pci\n")
    return list(source.rows())


def test_events_with_absolute_times(tmp_path: Path) -> None:
    """206.764307 s after a boot that was 1,000 s ago at 10:00."""
    source = Device(node(tmp_path))
    source.open()
    rows = read(source)
    xid = rows[0]
    assert isinstance(xid, GpuEvent)
    assert (xid.event, xid.xid, xid.pci_bus_id, xid.origin) == ("xid", 79, "00000000:1B:00.0", "kernel_log")
    assert xid.ts == datetime(2026, 3, 1, 9, 46, 46, 764307, tzinfo=UTC)
    assert [(r.event, r.pid) for r in rows if isinstance(r, HostEvent)] == [
        ("hung_task", 4711),
        ("oom_kill", 5252),
        ("storage", None),
    ]
    assert [(r.event, r.device) for r in rows if isinstance(r, LinkEvent)] == [("down", "ib0")]


def test_what_a_user_program_writes_there_is_no_evidence(tmp_path: Path) -> None:
    """The same text with the facility of user programs: the kernel marks it, and nobody can forge that."""
    source = Device(node(tmp_path))
    source.open()
    assert read(source, b"12,2000,206764307,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.") == []


def test_rows_are_attributed_by_gpu_process_and_cgroup(tmp_path: Path) -> None:
    here = node(tmp_path)
    here.owners.gpu_order, here.owners.gpu_by_bus = {2: "GPU-x"}, {"00000000:1B:00.0": "GPU-x"}
    here.owners.gpus = {"GPU-x": Owner("4812", 2)}
    here.owners.pids = {4711: Owner("4813", 1)}
    here.owners.names = {"4804": "4800_4"}
    here.owners.jobs = {"4800_4": Owner("4800_4", 1)}
    source = Device(here)
    source.open()
    rows = read(source)
    found = [(getattr(r, "event", None), getattr(r, "job_id", None), getattr(r, "attempt", None)) for r in rows]
    assert found[:3] == [("xid", "4812", 2), ("hung_task", "4813", 1), ("oom_kill", "4800_4", 1)]
    assert isinstance(rows[0], GpuEvent) and (rows[0].gpu, rows[0].gpu_uuid) == (2, "GPU-x")


def test_a_restart_tells_nothing_twice(tmp_path: Path) -> None:
    """Within one boot the next collector goes on after the last message; what came in between is told."""
    first = Device(node(tmp_path))
    first.open()
    assert read(first)
    first.close()
    second = Device(node(tmp_path))
    second.open()
    assert read(second) == []
    assert len(read(second, b"4,5000,300000000,-;INFO: task x:9 blocked for more than 120 seconds.")) == 1


def test_a_reboot_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "kernel_log").write_text("another-boot 9999")
    source = Device(node(tmp_path))
    source.open()
    assert read(source)


def test_what_was_overwritten_is_counted(tmp_path: Path) -> None:
    source = Device(node(tmp_path))
    source.open()
    read(source, b"6,10,1000,-;one\n6,11,1000,-;two")
    assert not source.missing
    read(source, b"6,111,1000,-;much later")
    assert "99 kernel messages" in source.missing["message"]


def test_the_real_device() -> None:
    """This host's own ring is read to its end without waiting."""
    if not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("/dev/kmsg may not be read here: run as root")
    source = KernelLog(Here(node="node1"))
    source.open()
    rows = list(source.rows())
    assert all(r.ts is not None and r.ts <= datetime.now(UTC) for r in rows)
    assert source._next > 0
    source.close()


def test_no_device_is_said_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="kmsg") as said:
        KernelLog(Here(dev=tmp_path)).open()
    assert said.value.remedy
