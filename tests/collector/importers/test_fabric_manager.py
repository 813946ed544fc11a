"""fabric_manager: what a Fabric Manager says of its switches in its own log, in its unit's journal, and beside the kernel's lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.importers import registry
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.fabric_manager import FabricManager
from collector.importers.kernel_log import KernelLog
from collector.intake.bundle import import_paths
from store import Reader
from store.rows import GpuEvent

OWN = """[Mar 01 2026 08:01:12] [INFO] [tid 2210] Connected to 1 node.
[Mar 01 2026 10:00:05] [ERROR] [tid 2216] detected NVSwitch fatal error 22013 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 8 port 41
[Mar 01 2026 10:00:06] [ERROR] [tid 2216] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:C2:00.0 physical id 9 port 2
"""
UNIT = """2026-03-01T09:00:00+0000 n1 systemd[1]: Starting NVIDIA fabric manager service...
2026-03-01T09:00:01+0000 n1 nv-fabricmanager[77]: fabric manager NVIDIA GPU driver interface version 550.1 don't match with driver version 550.2. Please update with matching NVIDIA driver package.
2026-03-01T09:00:01+0000 n1 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.
"""
NONE_HERE = """2026-03-01T09:00:00+0000 n1 systemd[1]: Starting NVIDIA fabric manager service...
2026-03-01T09:00:01+0000 n1 nv-fabricmanager[77]: request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]
2026-03-01T09:00:01+0000 n1 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE
2026-03-01T09:00:01+0000 n1 systemd[1]: Failed to start NVIDIA fabric manager service.
"""


def _read(folder: Path, text: str, name: str = "n1.log") -> list[GpuEvent]:
    path = folder / "kernel" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    importer = registry.pick(path, text.encode())
    assert importer is not None
    return [r for r in importer.rows(path, ImportContext(name, UTC, node="n1")) if isinstance(r, GpuEvent)]


def test_errors_of_switches_keep_whether_they_were_fatal(tmp_path: Path) -> None:
    assert FabricManager().claims(tmp_path / "fabricmanager.log", OWN.encode())
    assert not KernelLog().claims(tmp_path / "fabricmanager.log", OWN.encode())
    fatal, other = _read(tmp_path, OWN)
    assert (fatal.event, fatal.xid, fatal.pci_bus_id, fatal.node) == ("sxid", 22013, "00000000:C1:00.0", "n1")
    assert fatal.ts == datetime(2026, 3, 1, 10, 0, 5, tzinfo=UTC)
    assert fatal.message is not None and fatal.message.startswith("nv-fabricmanager: detected NVSwitch fatal error")
    assert other.message is not None and "non-fatal" in other.message


def test_a_fabric_that_did_not_come_up_is_told(tmp_path: Path) -> None:
    assert [r.event for r in _read(tmp_path, UNIT)] == ["fabric", "fabric"]


def test_where_there_is_no_switch_its_service_has_nothing_to_fail_at(tmp_path: Path) -> None:
    assert _read(tmp_path, NONE_HERE) == []


def test_beside_the_kernels_lines_it_is_read_too(tmp_path: Path) -> None:
    kernel = "2026-03-01T09:00:00+0000 n1 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready\n"
    path = tmp_path / "kernel" / "n1.log"
    path.parent.mkdir()
    path.write_text(kernel + UNIT)
    assert not FabricManager().claims(path, (kernel + UNIT).encode())
    rows = KernelLog().rows(path, ImportContext("n1.log", UTC, node="n1"))
    assert [r.event for r in rows if isinstance(r, GpuEvent)] == ["fabric", "fabric"]


@pytest.mark.parametrize(("unit", "told"), [("nvidia-fabricmanager.service", 1), (None, 1), ("user@4100.service", 0)])
def test_who_writes_under_its_name_from_another_unit_is_not_believed(
    tmp_path: Path, unit: str | None, told: int
) -> None:
    entry = {
        "__REALTIME_TIMESTAMP": "1772359200000000", "_HOSTNAME": "n1", "_TRANSPORT": "syslog", "SYSLOG_IDENTIFIER": "nv-fabricmanager",
        "MESSAGE": OWN.splitlines()[1].partition("] ")[2].partition("] ")[2].partition("] ")[2],
    } | ({"_SYSTEMD_UNIT": unit} if unit else {})  # fmt: skip
    kernel = {"__REALTIME_TIMESTAMP": "1772359100000000", "_HOSTNAME": "n1", "_TRANSPORT": "kernel", "MESSAGE": "x"}
    rows = _read(tmp_path, "".join(json.dumps(e) + "\n" for e in (kernel, entry)))
    assert len(rows) == told


@pytest.mark.parametrize("kernel", [False, True])
def test_it_does_not_stand_for_a_kernels_log(tmp_path: Path, kernel: bool) -> None:
    """That a GPU had no XID is not known from it: then nothing watched, unless the kernel's lines are there."""
    sacct = "JobID|State|Start|End|NodeList\n7|FAILED|2026-03-01T09:30:00|2026-03-01T10:30:00|n1\n"
    spoken = "2026-03-01T10:10:00+0000 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 31, pid=1, MMU Fault\n"
    for name, text in (
        ("slurm/sacct.txt", sacct),
        ("kernel/n1.log", spoken if kernel else ""),
        ("kernel/n1-fm.log", OWN),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    import_paths([tmp_path], tmp_path / "lake")
    with Reader(tmp_path / "lake") as reader:
        seen = reader.ask("coverage_nodes", job_id="7", nodes="n1").dicts()
    (of_gpus,) = (r for r in seen if r["table"] == "gpu_event")
    assert (bool(of_gpus["present"]), bool(of_gpus["watched"])) == (kernel, kernel)


def test_a_file_of_others_words_fails(tmp_path: Path) -> None:
    path = tmp_path / "fabricmanager.log"
    path.write_text("2026-03-01T09:00:00+0000 n1 sshd[1]: Server listening on 0.0.0.0 port 22.\n")
    with pytest.raises(ImportFailed):
        list(FabricManager().rows(path, ImportContext("n1.log", UTC)))
