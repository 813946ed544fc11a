"""What waits for files and for a CPU, as the real kernel saw it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.ebpf.slow import CpuWaits, mounted
from store.rows import CudaSample, IoWait
from tests.collector.ebpf.probed import JOB, Probed, go, program

SERVER = Path(__file__).with_name("slow_mount.py")


@pytest.fixture(scope="module")
def node() -> Iterator[Probed]:
    with Probed() as probed:
        yield probed


@pytest.fixture
def slow_folder(tmp_path: Path) -> Iterator[Path]:
    if not Path("/dev/fuse").exists():
        pytest.skip("no /dev/fuse")
    folder = tmp_path / "slow"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, SERVER, folder, "0.3"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    if server.stdout.readline() != "mounted\n":
        server.wait()
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
    server.wait(30)


def rank(node: Probed, code: str, number: int = 4) -> subprocess.Popen[str]:
    """A rank that the kernel's table knows, and that then does as it is told until its input ends."""
    env = {**os.environ, **JOB, "SLURM_PROCID": str(number), "SLURM_LOCALID": str(number)}
    words = [sys.executable, "-c", f"import os, sys, time\nsys.stdin.readline()\n{code}\nsys.stdin.readline()"]
    process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, text=True)
    node.until(lambda: process.pid in node.source._known)  # pyright: ignore[reportPrivateUsage]
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process


def test_slow_calls_on_a_file_system_are_told_with_file_and_rank_and_a_pipe_is_none(
    node: Probed, slow_folder: Path
) -> None:
    file = slow_folder / "data"
    process = rank(
        node, f"time.sleep(0.3)\nfd = os.open({str(file)!r}, os.O_RDONLY)\nos.pread(fd, 100, 0)\nos.pread(fd, 9, 0)"
    )
    try:
        node.until(lambda: sum(r.count or 0 for r in node.of(IoWait, process.pid)) >= 3)
        rows = node.of(IoWait, process.pid)
        opened = [r for r in rows if r.call == "open"]
        assert [(r.file, r.count, r.rank, r.job_id) for r in opened] == [(str(file), 1, 4, "990017")]
        assert {(r.file, r.mount, r.fs_type) for r in rows} == {(str(file), str(slow_folder), "fuse")}
        reads = [r for r in rows if r.call == "read"]
        assert sum(r.count or 0 for r in reads) == 2
        assert all(r.max_s is not None and 0.3 <= r.max_s <= (r.total_s or 0) for r in rows)
    finally:
        process.communicate()


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder beside pytest's own, which may lie in memory."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_requests_of_a_block_device_are_told_with_who_asked(node: Probed, on_disk: Path) -> None:
    device = on_disk.stat().st_dev
    if not Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").exists():
        pytest.skip("no block device under the test's folder")
    waits = node.source._waits  # pyright: ignore[reportPrivateUsage]
    assert waits is not None
    waits.begin(request_s=1e-9)
    code = (
        f"fd = os.open({str(on_disk / 'file')!r}, os.O_RDWR | os.O_CREAT | os.O_DIRECT)\n"
        "import mmap\nm = mmap.mmap(-1, 65536)\n"
        "for n in range(4): os.pwrite(fd, m, n * 65536)\nos.fsync(fd)"
    )
    process = rank(node, code, 5)
    try:
        node.until(lambda: any(r.call == "block" for r in node.of(IoWait, process.pid)))
        row = next(r for r in node.of(IoWait, process.pid) if r.call == "block")
        assert (row.rank, row.fs_type, row.count and row.count > 0) == (5, None, True)
        assert row.file is not None and Path(f"/sys/dev/block/{row.file}").exists()
    finally:
        waits.begin()
        process.communicate()


def test_the_delay_of_a_rank_that_shares_its_cpu_is_told(node: Probed) -> None:
    process = program(10, 0, rank=2)
    node.probes(process)
    waits = CpuWaits()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        assert waits.since(Path("/proc"), busy[0].pid) is None
        for child in busy:
            os.sched_setaffinity(child.pid, {min(os.sched_getaffinity(0))})
        deadline, waited = time.monotonic() + 20, 0.0
        while not waited and time.monotonic() < deadline:
            time.sleep(0.2)
            waited = waits.since(Path("/proc"), busy[0].pid) or 0.0
        assert waited > 0
        go(process)
        node.sample()
        node.sample()
        assert node.of(CudaSample, process.pid)[-1].cpu_wait_s is not None
    finally:
        for child in busy:
            child.kill()
            child.wait()
        process.communicate()
    assert waits.since(Path("/proc"), busy[0].pid) is None


def test_a_file_is_on_the_innermost_mount(tmp_path: Path) -> None:
    (tmp_path / "9").mkdir()
    (tmp_path / "9/mountinfo").write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 0:5 / /data rw,relatime shared:1 - nfs4 server:/x rw\n"
        "3 2 0:6 / /data/with\\040space rw - lustre x rw\n"
    )
    assert mounted(tmp_path, 9, "/data/a") == ("/data", "nfs4")
    assert mounted(tmp_path, 9, "/database/a") == ("/", "ext4")
    assert mounted(tmp_path, 9, "/data/with space/a") == ("/data/with space", "lustre")
    assert mounted(tmp_path, 8, "/data/a") == (None, None)
