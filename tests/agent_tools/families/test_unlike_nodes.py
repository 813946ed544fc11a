"""Jobs that held unlike numbers of GPUs on their nodes: stragglers, throttling and idle engines are told there as elsewhere."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.facts.holding import holding
from agent_tools.facts.own_gpus import unlike
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import b3_clock_throttle as b3
from agent_tools.families import d1_under_utilization as d1
from agent_tools.families import d3_straggler as d3
from store import Reader, Writer
from store.rows import GpuEvent, GpuSample, SlurmJob
from tests.agent_tools.families.world import T, World, judge


def job(folder: Path, sampled: dict[str, int], gpus: int, state: str = "COMPLETED", **values: Any) -> World:
    """A run of an hour on n1 and n2; each node's exporter tells of so many GPUs. A value may be a function of node and GPU."""
    world = World(folder).job(state, gpus=gpus, node_list="n1,n2", node_count=2)
    world.train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    for node, count in sampled.items():
        for g in range(count):
            fields = {k: v(node, g) if callable(v) else v for k, v in values.items()}
            for m in range(60):
                world.add(GpuSample(node=node, gpu=g, ts=T + timedelta(minutes=m), **fields))
    return world


UNLIKE = {"n1": 8, "n2": 4}
SLOW = {"engine_active": 0.97, "sm_active": lambda n, g: 0.6 if (n, g) == ("n2", 3) else 0.17}
HOT = {
    "engine_active": 0.95,
    "throttle_reasons": lambda n, g: 0x48 if (n, g) == ("n1", 6) else 0,
    "sm_clock_mhz": lambda n, g: 800.0 if (n, g) == ("n1", 6) else 1900.0,
}


def test_eight_and_four_of_twelve_are_all_the_jobs(tmp_path: Path) -> None:
    facts = job(tmp_path, UNLIKE, 12, engine_active=0.9).facts()
    assert facts.beside is None
    assert unlike(facts.table("gpu_summary"), facts.overview, facts.table("job_nodes"))
    assert {holding(facts, r).whose for r in facts.table("gpu_summary")} == {"own"}


def test_the_families_of_slowness_decide_there(tmp_path: Path) -> None:
    slow = judge(job(tmp_path / "slow", UNLIKE, 12, **SLOW), d3.assess)
    assert slow.status == "confirmed" and slow.confidence > 0.8
    assert judge(job(tmp_path / "hot", UNLIKE, 12, **HOT), b3.assess).status == "confirmed"
    starved = job(tmp_path / "starved", UNLIKE, 12, engine_active=0.05, sm_active=0.03)
    assert judge(starved, d1.assess).status == "confirmed"
    busy = job(tmp_path / "busy", UNLIKE, 12, engine_active=0.95, sm_active=0.7)
    assert {judge(busy, a).status for a in (d1.assess, d3.assess)} == {"ruled_out"}


@pytest.mark.parametrize(
    ("sampled", "gpus"),
    [({"n1": 8, "n2": 8}, 12), ({"n1": 8}, 8), ({"n1": 8, "n2": 4}, 8)],
    ids=["more than it held", "one node was not sampled", "fewer held than there are"],
)
def test_where_the_numbers_do_not_add_up_whose_they_were_stays_open(
    tmp_path: Path, sampled: dict[str, int], gpus: int
) -> None:
    values: dict[str, Any] = {**HOT, "sm_active": lambda n, g: 0.7 if (n, g) == ("n1", 6) else 0.2}
    world = job(tmp_path, sampled, gpus, **values)
    assert world.facts().beside is not None
    assert {judge(world, a).status for a in (b3.assess, d1.assess, d3.assess)} == {"undecidable"}


def test_a_gpu_that_no_sample_knows_may_be_one_beside_them(tmp_path: Path) -> None:
    """The kernel of n2 tells of an address, and its four sampled GPUs have numbers alone."""
    event = GpuEvent(
        node="n2", pci_bus_id="00000000:db:00.0", ts=T + timedelta(minutes=59), event="xid", xid=79, message="NVRM: Xid 79"
    )  # fmt: skip
    world = job(tmp_path, UNLIKE, 12, "FAILED", engine_active=0.9).say("exception", "KeyError", "'labels'").add(event)
    assert judge(world, b2.assess).status == "suspected"


@pytest.mark.parametrize(
    ("line", "gpus", "nodes", "held"),
    [
        ("sbatch --gres=gpu:6 t.sh", 12, 2, 6),
        ("sbatch --gpus-per-node=6 t.sh", 12, 2, 6),
        (None, 12, 2, 6),
        ("sbatch --gpus=12 -N2 t.sh", 12, 2, None),
        ("sbatch -G 12 t.sh", 12, 2, None),
        ("sbatch --gpus-per-task=1 -n 12 t.sh", 12, 2, None),
        ("sbatch -G16 t.sh", 16, 2, 8),
        ("sbatch --gpus 4 t.sh", 4, 1, 4),
        ("sbatch --gpus=h100:12 t.sh", 12, 2, None),
        ("sbatch t.sh --gpus-per-node 6", 12, 2, 6),
    ],
)
def test_an_equal_share_is_taken_only_where_slurm_was_asked_for_one(
    tmp_path: Path, line: str | None, gpus: int, nodes: int, held: int | None
) -> None:
    names = ",".join(f"n{i + 1}" for i in range(nodes))
    Writer(tmp_path).append(
        [SlurmJob(job_id="7", attempt=1, gpus=gpus, node_list=names, node_count=nodes, submit_line=line, start_ts=T, ts=T)],
        batch="a",
    )  # fmt: skip
    with Reader(tmp_path) as reader:
        assert reader.ask("gpus_given", job_id="7", node="n1").dicts()[0]["held"] == held
