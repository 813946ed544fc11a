"""kernel_log, where a piece of it was copied along with the command that printed it, or as talosctl prints it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.importers.base import ImportContext
from collector.importers.kernel_log import KernelLog
from store.rows import GpuEvent, HostEvent

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus."
KILL = "Memory cgroup out of memory: Killed process 812 (python) total-vm:9kB, anon-rss:8kB"


@pytest.mark.parametrize(
    "asked",
    [
        "dmesg | grep -i xid",
        "$ dmesg -T | tail",
        "gpu07 $ sudo dmesg",
        "(base) ada@gpu07:~$ sudo dmesg -T | grep -i nvrm",
        "[root@gpu07 ~]# journalctl -k -b -1 | grep NVRM",
        "root@gpu07:~# grep -i nvrm /var/log/syslog",
        "And one of them fell off the bus after a while:",
    ],
)
def test_the_command_above_a_piece_of_the_log_is_no_part_of_it(asked: str, tmp_path: Path) -> None:
    path = tmp_path / "sent.txt"
    path.write_text(f"{asked}\n[5190.014000] {XID}\n")
    assert KernelLog().claims(path, path.read_bytes()) > 90
    (event,) = (r for r in KernelLog().rows(path, ImportContext(path.name, UTC)) if isinstance(r, GpuEvent))
    assert event.xid == 79


@pytest.mark.parametrize(
    "said",
    ["step 1 loss 2.5", "run 7 loss:", "dmesg: read kernel buffer failed", "+ run dmesg later", "lspci | grep NV"],
)
def test_any_other_line_above_it_is_a_jobs(said: str, tmp_path: Path) -> None:
    assert not KernelLog().claims(tmp_path / "sent.txt", f"{said}\n[5190.014000] {XID}\n".encode())


def test_talosctl_names_the_nodes_address_and_the_level_before_the_time(tmp_path: Path) -> None:
    path = tmp_path / "sent.txt"
    stamp = "kern: warning: [2026-04-22T21:27:{}.29163573Z]: "
    path.write_text("".join(f"10.4.0.{n}: {stamp.format(10 + n)}{said}\n" for n, said in enumerate((XID, KILL), 7)))
    assert KernelLog().claims(path, path.read_bytes()) > 90
    rows = list(KernelLog().rows(path, ImportContext(path.name, UTC)))
    assert [(r.node, r.ts) for r in rows if isinstance(r, (GpuEvent, HostEvent))] == [
        (f"10.4.0.{n}", datetime(2026, 4, 22, 21, 27, 10 + n, 291635, tzinfo=UTC)) for n in (7, 8)
    ]
    assert not KernelLog().claims(path, path.read_bytes().replace(b"10.4.0.", b"step "))
