"""Nodes that metrics know by their addresses: Slurm's own listing of nodes tells which they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collector.intake.bundle import import_paths
from tests.collector.intake.bundlekit import Lake

SACCT = "JobID|State|Start|End|NodeList\n7|FAILED|2026-03-01T10:00:00|2026-03-01T10:30:00|st-[1-2]\n"
METRIC = 'DCGM_FI_DEV_GPU_TEMP{{gpu="0",instance="10.0.3.{}:9400"}} 64 1772360000\n'
BLOCK = """NodeName={0} Arch=x86_64 CoresPerSocket=24
   CPUAlloc=0 CPUEfctv=48 CPUTot=48 CPULoad=0.10
   NodeAddr={1} NodeHostName={0} Version=24.05.4
   State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A

"""


def listing(of: dict[str, str], as_json: bool) -> str:
    if not as_json:
        return "".join(BLOCK.format(*pair) for pair in of.items())
    nodes = [{"name": n, "address": a, "hostname": n, "state": ["IDLE"], "real_memory": 1000} for n, a in of.items()]
    return json.dumps({"nodes": nodes})


def imported(folder: Path, of: dict[str, str], as_json: bool) -> None:
    texts = {
        "slurm/sacct.txt": SACCT,
        "slurm/nodes": listing(of, as_json),
        "metrics/dcgm.om": "".join(METRIC.format(n) for n in (7, 8)) + "# EOF\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    import_paths([folder], folder / "lake")


@pytest.mark.parametrize("as_json", [False, True])
def test_an_address_is_the_node_that_slurm_gives_it_to(as_json: bool, tmp_path: Path, lake: Lake) -> None:
    imported(tmp_path, {"st-1": "10.0.3.7", "st-2": "10.0.3.8"}, as_json)
    assert {r.node for r in lake.rows("gpu_sample")} == {"st-1", "st-2"}


def test_an_address_of_several_nodes_is_none_of_them(tmp_path: Path, lake: Lake) -> None:
    imported(tmp_path, {"st-1": "10.0.3.7", "st-2": "10.0.3.7"}, as_json=False)
    assert {r.node for r in lake.rows("gpu_sample")} == {"10.0.3.7", "10.0.3.8"}
