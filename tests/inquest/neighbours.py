"""A lake in which the jobs of two users share a node, and every text of the other's is recognisable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from store import Writer
from store.rows import GpuEvent, HostEvent, Row, columns, tables

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
MINE, THEIRS = "70010001", "90210077"
USER, OTHER = "ada", "zqbuser"
STRANGE = ("zqb", THEIRS, "90211", "60202")
"""What belongs to the other's job alone: a piece of each of its texts, its id, its processes and its user's number."""
KINDS = ("exception", "signal", "slurm", "oom", "error", "launcher", "checkpoint", "process_group")
NODE_S_OWN = frozenset(
    {"slurm_node_state", "slurm_node_sample", "slurm_controller_sample", "host_sample", "collector_sample", "verdict"}
)


def lake(folder: Path) -> Path:
    """Every table that knows jobs has rows of both jobs, with every column filled; and the kernel tells of the other's."""
    rows: list[Row] = []
    for name, row_type in tables().items():
        if name in NODE_S_OWN:
            continue
        times = 1 if name == "slurm_job" else len(KINDS)
        for mark in ("own", "zqb"):
            for k in range(times):
                fields = _filled(row_type, mark, T + timedelta(minutes=5 * k))
                if name == "log_event":
                    fields |= {"kind": KINDS[k], "severity": "fatal"}
                rows.append(row_type(**fields))
    Writer(folder / "lake", durable=False).append([*rows, *_kernel()], batch="b")
    return folder / "lake"


def _filled(row_type: type[Row], mark: str, at: datetime) -> dict[str, Any]:
    own = mark == "own"
    plain: dict[str, Any] = {
        "cluster": "c1", "node": "n1", "ts": at, "job_id": MINE if own else THEIRS, "attempt": 1, "node_list": "n1",
        "user": USER if own else OTHER, "state": "FAILED", "node_count": 1, "gpus": 1, "mig": None, "document": None,
        "job_id_raw": MINE if own else THEIRS, "array_job_id": None, "array_task_id": None, "het_job_id": None, "dependency": None,
        "failed_node": None, "cancelled_by": None, "gpu_indices": "n1/0" if own else "n1/1", "gpu": 0 if own else 1,
        "gpu_uuid": "GPU-0" if own else "GPU-1", "gpu_uuids": "GPU-0" if own else "GPU-1", "rank": 0, "local_rank": 0,
        "pci_bus_id": "00000000:1B:00.0" if own else "00000000:2B:00.0", "pid": 70111 if own else 90211,
        "name": "same" if row_type.TABLE == "slurm_job" else f"{mark} {row_type.TABLE}", "file": f"{mark}.out",
    }  # fmt: skip
    late = timedelta(hours=1) if row_type.TABLE == "slurm_job" else timedelta(minutes=50)
    made: dict[str, Any] = {}
    for c in columns(row_type):
        if c.name in plain:
            made[c.name] = plain[c.name]
        elif c.python_type is datetime:
            made[c.name] = T + late if c.name in ("end_ts", "completed_ts") else at
        else:
            made[c.name] = {str: f"{mark} {row_type.TABLE} {c.name}", int: 3, float: 0.5, bool: True}[c.python_type]
    return made


def _kernel() -> list[Row]:
    """What a kernel's log says of processes, with nothing that says whose they were; and two things that are the node's."""

    def host(minute: int, event: str, message: str, **fields: Any) -> HostEvent:
        return HostEvent(
            cluster="c1", node="n1", ts=T + timedelta(minutes=minute), event=event, message=message, **fields
        )

    def gpu(minute: int, xid: int, message: str, **fields: Any) -> GpuEvent:
        fields |= {"cluster": "c1", "node": "n1", "event": "xid", "xid": xid, "pid": 902114}
        return GpuEvent(ts=T + timedelta(minutes=minute), process_name="zqb::w", message=message, **fields)

    killed = "Memory cgroup out of memory: Killed process 902112 (zqb proc) total-vm:1kB, UID:60202"
    return [
        host(20, "oom_kill", killed, pid=902112, process_name="zqb proc", cgroup=f"/slurm/uid_60202/job_{THEIRS}/step_0"),
        host(21, "segfault", "zqb[902113]: segfault at 0 ip 0 error 4 in libzqb.so[7f+1]", pid=902113, process_name="zqb"),
        host(21, "segfault", "zqb[90211]: segfault at 0 ip 0 error 4 in libzqb.so[7f+1]", pid=90211, process_name="zqb"),
        host(22, "hung_task", "INFO: task zqb w:902114 blocked for more than 120 seconds.", pid=902114),
        host(23, "panic", "Kernel panic - not syncing: CPU: 3 PID: 902115 Comm: zqb::IDLE Not tainted 6.1"),
        host(24, "filesystem", "EXT4-fs error (device sda1): ext4_find_entry: inode #2: comm zqb f: reading directory"),
        host(24, "storage", f"LustreError: req@0 job:'zqb.60202' from /slurm/job_{THEIRS}/step_0 timed out"),
        host(25, "storage", "nfs: server nfs-1 not responding, still trying"),
        gpu(26, 31, "NVRM: Xid (PCI:0000:2b:00): 31, pid=902114, name=zqb::w, Ch 00000008", pci_bus_id="00000000:2B:00.0"),
        gpu(27, 43, "NVRM: Xid (PCI:0000:3b:00): 43, pid=902114, name=zqb::w, Ch 00000008", pci_bus_id="00000000:3B:00.0"),
    ]  # fmt: skip


def leaks(text: str) -> list[str]:
    """What of the other's stands in a text, with what is around it."""
    found = [(text.find(s), s) for s in STRANGE if s in text]
    return [text[max(0, at - 60) : at + 60] for at, _ in found]
