"""The host, its file systems and the cgroups of jobs: this host's own, and trees that a test writes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from collector.node.here import Here
from collector.sources import cgroup as cgroup_source
from collector.sources.base import SourceUnavailable
from collector.sources.cgroup import Cgroup
from collector.sources.disk import Disk
from collector.sources.host import Host, clock_offset
from collector.sources.remote_disk import RemoteDisk
from collector.topology.owners import Owner
from store.rows import CgroupSample, HostSample
from tests.collector.livekit import SetClock

SAMPLES = Path(__file__).parent / "samples"


def only(rows: list[object]) -> HostSample:
    (row,) = rows
    assert isinstance(row, HostSample)
    return row


def test_a_host_from_recorded_files() -> None:
    """Values of a node as its kernel printed them: /proc of samples/proc."""
    source = Host(Here(node="node1", clock=SetClock(), proc=SAMPLES / "proc"), offset=lambda: 0.00025)
    source.open()
    row = only(list(source.rows()))
    assert (row.load1, row.cpu_busy, row.oom_kills) == (12.5, None, 3)
    assert (row.memory_total_bytes, row.memory_available_bytes, row.swap_used_bytes) == (1024 << 30, 512 << 30, 1 << 30)
    assert (row.psi_cpu_some, row.psi_memory_full, row.psi_io_full) == (97.87, 0.5, 1.25)
    assert (row.disk_read_bytes, row.disk_written_bytes) == (1000 * 512, 2000 * 512)
    assert (row.net_rx_bytes, row.net_tx_bytes) == (111, 222)
    assert (row.clock_offset_s, row.boot_ts and row.boot_ts.isoformat()) == (0.00025, "2026-03-01T10:00:00+00:00")


def test_this_host() -> None:
    """The real kernel: plausible figures, and what it cannot say is NULL with a reason."""
    source = Host(Here(node="node1"))
    source.open()
    row = only(list(source.rows()))
    assert 0 < (row.memory_available_bytes or 0) <= (row.memory_total_bytes or 0)
    row = only(list(source.rows()))
    assert row.cpu_busy is None or 0 <= row.cpu_busy <= 1
    assert (row.clock_offset_s is None) == ("clock_offset_s" in source.missing)
    offset = clock_offset()
    assert offset is None or abs(offset) < 1


def test_a_kernel_without_pressure(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "proc", tmp_path / "proc")
    shutil.rmtree(tmp_path / "proc/pressure")
    source = Host(Here(proc=tmp_path / "proc"))
    source.open()
    assert only(list(source.rows())).psi_memory_full is None
    assert "psi_memory_full" in source.missing


def test_file_systems() -> None:
    """The one that this test lies on is told with its size; pseudo file systems are not."""
    source = Disk(Here(node="node1"))
    source.open()
    rows = {r.filesystem: r for r in source.rows() if isinstance(r, HostSample)}
    found = os.statvfs("/")
    assert rows["/"].disk_total_bytes == found.f_blocks * found.f_frsize
    assert not {"/proc", "/sys", "/dev"} & set(rows)
    assert source.doing is None


def test_remote_and_local_are_apart(tmp_path: Path) -> None:
    """A dead server must not keep anybody from the local disks."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mounts").write_text(
        "/dev/vda / ext4 rw 0 0\nstore:/data /tmp nfs4 rw 0 0\nproc /proc proc rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
    )
    here = Here(proc=tmp_path)
    assert [r.filesystem for r in Disk(here).rows() if isinstance(r, HostSample)] == ["/"]
    assert [r.filesystem for r in RemoteDisk(here).rows() if isinstance(r, HostSample)] == ["/tmp"]


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name.replace("__", ".")).write_text(f"{value}\n")


V2 = {
    "memory__current": 4096, "memory__max": "max", "memory__peak": 8192, "memory__events": "low 0\noom 2\noom_kill 1\noom_group_kill 0",
    "memory__stat": "anon 1\nshmem 77", "memory__pressure": "some avg10=1.00 avg60=0 avg300=0 total=1\nfull avg10=0.25 avg60=0 avg300=0 total=1",
    "cpu__stat": "usage_usec 2500000\nuser_usec 1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "job", "step"),
    [
        ("system.slice/slurmstepd.scope/job_4812", "4812", None),
        ("system.slice/node1_slurmstepd.scope/job_4812/step_0", "4812", "0"),
        ("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f2e3d4c_5b6a_7988_a9b0_c1d2e3f40516.slice/"
         + "cri-containerd-" + "ab" * 32 + ".scope/system.slice/slurmstepd.scope/job_7/step_batch", "7", "batch"),
        ("system.slice/slurmstepd.scope/sD1M5CH9Z9JWJ0/step_1", "4900", "1"),
    ],
)  # fmt: skip
def test_cgroups_of_version_two(tmp_path: Path, path: str, job: str, step: str | None) -> None:
    """Memory, OOM kills and pressure by job and step; `max` is no limit, not a number. A SLUID is resolved."""
    root = tmp_path / "fs/cgroup"
    write(root, cgroup__controllers="cpu memory pids")
    write(root / path, **V2)
    here = Here(node="node1", clock=SetClock(), sys=tmp_path)
    here.owners.names["sD1M5CH9Z9JWJ0"] = "4900"
    here.owners.jobs[job] = Owner(job, 2)
    source = Cgroup(here)
    source.open()
    row = next(r for r in source.rows() if isinstance(r, CgroupSample) and r.memory_current_bytes is not None)
    assert (row.job_id, row.step_id, row.attempt, row.cgroup) == (job, step, 2, f"/{path}")
    assert (row.memory_current_bytes, row.memory_max_bytes, row.memory_peak_bytes) == (4096, None, 8192)
    assert (row.oom_kills, row.oom_group_kills, row.shmem_bytes) == (1, 0, 77)
    assert (row.psi_memory_full, row.psi_io_full, row.cpu_usage_s) == (0.25, None, 2.5)


def test_cgroups_of_version_one(tmp_path: Path) -> None:
    root = tmp_path / "fs/cgroup"
    step = "slurm_node3/uid_1000/job_17/step_0"
    write(
        root / "memory" / step,
        memory__usage_in_bytes=4096,
        memory__limit_in_bytes=9223372036854771712,
        memory__max_usage_in_bytes=8192,
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2",
        memory__stat="shmem 3\ntotal_shmem 5",
    )
    write(root / "cpuacct" / step, cpuacct__usage=1_500_000_000)
    source = Cgroup(Here(node="node1", clock=SetClock(), sys=tmp_path))
    source.open()
    (row,) = [r for r in source.rows() if isinstance(r, CgroupSample) and r.step_id]
    assert (row.job_id, row.step_id, row.memory_max_bytes, row.oom_kills, row.shmem_bytes) == ("17", "0", None, 2, 5)
    assert row.cpu_usage_s == 1.5
    assert "psi_memory_full" in source.missing


def test_an_oom_kill_alarms_and_a_cgroup_that_ends_is_let_go(tmp_path: Path) -> None:
    root, alarms = tmp_path / "fs/cgroup", list[str]()
    write(root, cgroup__controllers="memory")
    job = root / "system.slice/slurmstepd.scope/job_1"
    write(job, **V2)
    here = Here(clock=SetClock(), sys=tmp_path, alarm=alarms.append)
    source = Cgroup(here)
    source.open()
    assert len(list(source.rows())) == 1 and not alarms
    write(job, memory__events="oom_kill 2")
    list(source.rows())
    assert alarms == ["an OOM kill in /system.slice/slurmstepd.scope/job_1"]
    shutil.rmtree(job)
    assert list(source.rows()) == []
    assert cgroup_source.FIND_S > 0


def test_no_hierarchy_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="cgroup"):
        Cgroup(Here(sys=tmp_path)).open()
