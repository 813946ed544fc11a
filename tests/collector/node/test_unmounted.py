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


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tables of a host that booted with systemd, and what is mounted there."""
    (tmp_path / "mountinfo").write_text(MOUNTED)
    monkeypatch.setattr(module, "HOST", tmp_path)
    monkeypatch.setattr(module, "MOUNTS", tmp_path / "mountinfo")
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    write(tmp_path / "etc/fstab", WANTED)
    return tmp_path


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


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
def test_the_nearest_mount_point_of_the_table_decides(host: Path, folder: str, missing: str | None) -> None:
    found = unmounted(Path(folder))
    assert (found and found.point) == missing
    assert found is None or str(found) == f"{missing} is not mounted, as /etc/fstab wants it"


UNIT = "[Mount]\nWhat=nfs1:/x\nWhere=told by the name\n"


@pytest.mark.parametrize(
    ("folder", "named_by"),
    [
        ("/shared/gpu-lake/inquest", "shared-gpu\\x2dlake.mount"),
        ("/shared/gpu/lake", None),
        ("/données/lake", "donn\\xc3\\xa9es.mount"),
        ("/site/lake", "site.mount"),
        ("/tmp/lake", None),
        ("/masked/lake", None),
        ("/emptied/lake", None),
        ("/auto/lake", None),
    ],
)
def test_a_unit_of_systemd_names_a_mount_point(host: Path, folder: str, named_by: str | None) -> None:
    """One that was written for this host, or that the host asks for; not each that some package brought."""
    own, brought = host / "etc/systemd/system", host / "usr/lib/systemd/system"
    for name in ("shared-gpu\\x2dlake", "donn\\xc3\\xa9es", "auto", "-"):
        write(own / f"{name}.mount", UNIT)
    for name in ("site", "tmp", "masked", "emptied"):
        write(brought / f"{name}.mount", UNIT)
    write(brought / "local-fs.target.wants/tmp.mount", UNIT)
    wants = own / "remote-fs.target.wants"
    wants.mkdir()
    for name in ("site", "masked", "emptied"):
        (wants / f"{name}.mount").symlink_to(f"/usr/lib/systemd/system/{name}.mount")
    (own / "masked.mount").symlink_to("/dev/null")
    (own / "emptied.mount").touch()
    found = unmounted(Path(folder))
    assert (found and found.named_by) == named_by
    (host / "run/systemd/system").rmdir()  # a container that holds systemd's files
    assert unmounted(Path(folder)) is None


@pytest.mark.parametrize(
    ("folder", "missing"),
    [
        ("/net/nas/lake", "/net"),
        ("/auto/lake", None),
        ("/direct/lake/x", "/direct/lake"),
        ("/direct/other", None),
        ("/more/x", "/more"),
        ("/bare/x", "/bare"),
        ("/elsewhere/lake", None),
    ],
)
def test_the_automounter_s_tables_name_mount_points(host: Path, folder: str, missing: str | None) -> None:
    """With the daemon at work each of them is a file system of type autofs; without it they are empty folders."""
    write(
        host / "etc/auto.master",
        "# comment\n/net -hosts\n/auto /etc/auto.auto --timeout=60\n/- file:/etc/auto.direct\n/- auto.bare\n"
        "/- ldap:ou=auto.elsewhere\n+auto.master\n",
    )
    write(host / "etc/auto.direct", "/direct/lake -rw nas:/lake\n")
    write(host / "etc/auto.bare", "/bare nas:/bare\n")
    write(host / "etc/auto.master.d/more.autofs", "/more /etc/auto.more\n")
    found = unmounted(Path(folder))
    assert (found and found.point) == missing


def test_beegfs_has_a_table_of_its_own(host: Path) -> None:
    write(host / "etc/beegfs/beegfs-mounts.conf", "/mnt/beegfs /etc/beegfs/beegfs-client.conf\n")
    found = unmounted(Path("/mnt/beegfs/lake"))
    assert str(found) == "/mnt/beegfs is not mounted, as /etc/beegfs/beegfs-mounts.conf wants it"


def test_where_there_is_no_table_nothing_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOST", tmp_path / "none")
    assert unmounted(tmp_path) is None


def test_the_first_chunk_waits_until_the_lake_s_file_system_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = tmp_path / "srv"
    point.mkdir()
    write(tmp_path / "host/etc/fstab", f"tmpfs {point} tmpfs noauto 0 0\n")
    monkeypatch.setattr(module, "HOST", tmp_path / "host")
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
