"""one_host: GPUs of which no label tells the host are the only node's, unless they cannot all be of one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.formats.one_host import several
from collector.intake.bundle import import_paths
from store import Reader
from tests.collector.intake.bundlekit import Lake

SACCT = "JobID|State|Start|End|NodeList\n7|FAILED|2026-03-01T10:00:00|2026-03-01T10:30:00|g1\n"
AT = int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp())
DAY = (0, 1000)


@pytest.mark.parametrize(
    ("gpus", "found"),
    [
        ([(0, "GPU-a", DAY), (1, "GPU-b", DAY)], False),
        ([(0, "GPU-a", DAY), (0, "GPU-b", DAY)], True),
        ([(0, "GPU-a", (0, 500)), (0, "GPU-b", (501, 1000))], False),  # replaced
        ([(0, "GPU-a", (0, 500)), (0, "GPU-b", (500, 1000))], True),
        ([(0, "GPU-a", (0, 100)), (0, "GPU-b", (200, 300)), (0, "GPU-a", (400, 500))], True),  # gone and back
        ([(0, "GPU-a", None), (0, "GPU-b", None)], True),
        ([(0, "GPU-a", DAY), (0, "GPU-a", DAY)], False),
        ([(0, "MIG-a", DAY), (0, "MIG-b", DAY)], False),
    ],
)
def test_two_that_have_one_number_at_one_time_are_not_of_one_host(
    gpus: list[tuple[int, str, tuple[int, int] | None]], found: bool
) -> None:
    assert several(gpus) is found


def bundle(folder: Path, hosts: int, **labels: str) -> None:
    series = [
        {
            "metric": {"__name__": name, "gpu": str(gpu), "UUID": f"GPU-{host}{gpu}", **labels},
            "values": [[AT + 30 * i, str(value if host == hosts - 1 and i > 50 else 0)] for i in range(60)],
        }
        for host in range(hosts)
        for gpu in range(2)
        for name, value in (("DCGM_FI_DEV_XID_ERRORS", 79), ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 3))
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    for place, text in (("slurm/sacct.txt", SACCT), ("metrics/gpus.json", json.dumps(answer))):
        (folder / place).parent.mkdir()
        (folder / place).write_text(text)


@pytest.mark.parametrize(
    ("hosts", "labels", "node"), [(2, {}, None), (1, {}, "g1"), (2, {"Hostname": "g1"}, "g1"), (2, {"host": "x"}, "x")]
)
def test_what_is_of_several_hosts_is_laid_at_no_node(
    hosts: int, labels: dict[str, str], node: str | None, tmp_path: Path, lake: Lake
) -> None:
    bundle(tmp_path, hosts, **labels)
    done = import_paths([tmp_path], tmp_path / "lake")
    for table in ("gpu_sample", "gpu_device", "gpu_event"):
        assert {r.node for r in lake.rows(table)} <= {node}, table
    assert len(lake.rows("gpu_sample")) == hosts * 2 * 60
    assert any("GPUs of several hosts" in note for f in done.files for note in f.notes) is (node is None)


@pytest.mark.parametrize(("hosts", "rises"), [(2, 0), (1, 2)])
def test_no_fault_of_theirs_is_the_jobs(hosts: int, rises: int, tmp_path: Path) -> None:
    bundle(tmp_path, hosts)
    import_paths([tmp_path], tmp_path / "lake")
    with Reader(tmp_path / "lake") as reader:
        found = reader.ask("gpu_counter_rises", job_id="7", nodes="g1")
    assert found.row_count == rises
