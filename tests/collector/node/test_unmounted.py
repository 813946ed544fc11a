"""A lake is not begun in the folder that lies below a file system which is not mounted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from collector.node import unmounted as module
from collector.node.hand_over import HandOver
from collector.node.spool_out import SpoolOut
from collector.node.unmounted import unmounted
from store import incoming
from store.lake import Lake
from store.rows import HostEvent
from tests.collector.livekit import SetClock

MOUNTED = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:50 / /srv/a\\040lake rw,relatime shared:2 - nfs4 nfs1:/lake rw,vers=4.2
32 22 0:51 / /auto rw,relatime - autofs systemd-1 rw,fd=60
"""
WANTED = """\
# <file system> <mount point> <type> <options> <dump> <pass>
/dev/vda / ext4 errors=remount-ro 0 1
/dev/vdb none swap sw 0 0

nfs1:/lake /srv/a\\040lake nfs nofail,_netdev 0 0
nfs1:/away /srv/away/ nfs nofail 0 0
nfs1:/below /srv/a\\040lake/below nfs nofail 0 0
nfs1:/auto /auto nfs x-systemd.automount 0 0
"""


@pytest.mark.parametrize(
    ("folder", "missing"),
    [
        ("/srv/a lake", None),
        ("/srv/a lake/x/y", None),
        ("/srv/a lake/below/x", "/srv/a lake/below"),
        ("/srv/away", "/srv/away"),
        ("/srv/away/inquest/lake", "/srv/away"),
        ("/srv/away-too/lake", None),
        ("/auto/lake", None),
        ("/var/lib/lake", None),
    ],
)
def test_the_nearest_mount_point_of_the_table_decides(
    folder: str, missing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fstab").write_text(WANTED)
    (tmp_path / "mountinfo").write_text(MOUNTED)
    monkeypatch.setattr(module, "FSTAB", tmp_path / "fstab")
    monkeypatch.setattr(module, "MOUNTS", tmp_path / "mountinfo")
    assert unmounted(Path(folder)) == missing


def test_where_there_is_no_table_nothing_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FSTAB", tmp_path / "none")
    assert unmounted(tmp_path) is None


def test_the_first_chunk_waits_until_the_lake_s_file_system_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = tmp_path / "srv"
    point.mkdir()
    (tmp_path / "fstab").write_text(f"tmpfs {point} tmpfs noauto 0 0\n")
    monkeypatch.setattr(module, "FSTAB", tmp_path / "fstab")
    spool = SpoolOut(tmp_path / "spool")
    spool.open()
    spool.add(HostEvent(node="node1", event="storage", pid=1))
    spool.rotate()
    it = HandOver(spool, point / "lake", "node1", SetClock())
    it.start()
    assert it.wait(60)
    assert f"{point} is not mounted" in (it.problem or "") and list(point.iterdir()) == [] and len(spool.waiting) == 1
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", point], check=False, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        it.start()
        assert it.wait(60)
        assert (it.problem, spool.waiting, len(incoming.waiting(Lake(point / "lake")))) == (None, [], 1)
    finally:
        subprocess.run(["umount", "-l", point], check=True)
