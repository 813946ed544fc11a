"""Kernel logs of many nodes that a parallel shell printed: each line stands behind its node's name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.formats.kernel_times import Clock
from collector.importers.base import ImportContext
from collector.importers.kernel_log import KernelLog
from store.rows import GpuEvent

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus."
AT = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "node"),
    [
        (f"gpu07.hpc.site: [Sun Mar  1 10:00:00 2026] {XID}", "gpu07"),
        (f"gpu-07: 2026-03-01T10:00:00,000000+00:00 {XID}", "gpu-07"),
        (f"gpu07: 2026-03-01T10:00:00+0000 gpu07 kernel: {XID}", "gpu07"),
        (f"gpu07: [  812.345678] {XID}", None),  # of many nodes there is no one boot
        (f"3: [2026-03-01T10:00:00,000000+00:00] {XID}", None),  # a task's number, as srun -l writes
    ],
)
def test_the_line_is_the_named_nodes(line: str, node: str | None) -> None:
    spoken = Clock(UTC, None).split(line)
    assert (spoken and spoken.host, spoken and spoken.ts) == (node, AT if node else None)
    assert spoken is None or (spoken.kernel and spoken.message == XID)


def test_one_file_holds_the_events_of_many_nodes(tmp_path: Path) -> None:
    path = tmp_path / "kernel" / "all.log"
    path.parent.mkdir()
    said = [f"gpu{n:02}: [Sun Mar  1 10:00:{n:02} 2026] {XID if n == 7 else 'nfs: server nas OK'}" for n in range(12)]
    path.write_text("\n".join(said) + "\n")
    assert KernelLog().claims(path, path.read_bytes()) > 0
    rows = list(KernelLog().rows(path, ImportContext(path.name, UTC)))
    assert {(r.node, r.xid) for r in rows if isinstance(r, GpuEvent) and r.xid} == {("gpu07", 79)}
