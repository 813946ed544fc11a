"""A kernel's log of many nodes is not the log of the only node that the jobs have, whatever the file is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.intake.bundle import import_paths
from tests.collector.intake.bundlekit import Lake

SACCT = "JobID|State|Start|End|NodeList\n7|FAILED|2026-03-01T10:00:00|2026-03-01T10:30:00|{}\n"
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."


def journal(*hosts: str) -> str:
    return "".join(f"2026-03-01T10:20:{at:02}+0000 {host} kernel: {XID}\n" for at, host in enumerate(hosts))


def shell(*hosts: str) -> str:
    return "".join(f"{host}: [Sun Mar  1 10:20:{at:02} 2026] {XID}\n" for at, host in enumerate(hosts))


@pytest.mark.parametrize(
    ("nodes", "name", "text", "owners"),
    [
        ("g1", "journal-all", journal("g1", "g2", "g3.site"), {"g1", "g2", "g3"}),
        ("g1", "merged", journal("g1", "g2"), {"g1", "g2"}),
        ("g1", "dmesg_all", shell("g1", "g2"), {"g1", "g2"}),
        ("g[1-2]", "merged", journal("g1", "g2"), {"g1", "g2"}),
        ("g1", "journal-all", journal("ip-10-0-0-7"), {"g1"}),  # one host under another name: the jobs' only node
        ("g1", "journal-all", journal("g01.site"), {"g1"}),
        ("g1", "journal-all", journal("g9"), {"g9"}),  # a neighbour's log alone is not the jobs' only node's
        ("g1", "dmesg_all", shell("g9"), {"g9"}),
        ("rack4-g1", "dmesg", journal("rack5-g1.site"), {"rack5-g1"}),
        ("g1", "g1", journal("g1", "ip-10-0-0-7"), {"g1"}),  # the file is named for it
        ("g1", "journal-all", journal("localhost", "g1"), {"g1"}),  # before it had its name
    ],
)
def test_a_line_is_its_hosts(nodes: str, name: str, text: str, owners: set[str], tmp_path: Path, lake: Lake) -> None:
    for place, told in (("slurm/sacct.txt", SACCT.format(nodes)), (f"kernel/{name}.log", text)):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text(told)
    import_paths([tmp_path], tmp_path / "lake")
    assert {r.node for r in lake.rows("gpu_event")} == owners


def test_files_that_were_joined_are_of_several_hosts(tmp_path: Path, lake: Lake) -> None:
    for place, told in (
        ("slurm/sacct.txt", SACCT.format("g1")),
        (
            "kernel/all.log",
            journal(*["g2"] * 3) + journal("g2").replace(XID, "nfs: server nas OK") * 4000 + journal("g1"),
        ),
    ):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text(told)
    import_paths([tmp_path], tmp_path / "lake")
    assert {r.node for r in lake.rows("gpu_event")} == {"g1", "g2"}
