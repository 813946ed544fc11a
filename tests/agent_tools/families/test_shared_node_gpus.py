"""b2_gpu_fault on nodes that several jobs share: whose the GPU was that failed."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import b3_clock_throttle as b3
from agent_tools.families import d1_under_utilization as d1
from agent_tools.families import d3_straggler as d3
from agent_tools.families.faulted_gpus import UNOWNED
from store.rows import GpuDevice, GpuEvent, GpuSample, SlurmJob, SlurmNodeSample
from tests.agent_tools.families.world import JOB, T, World, judge

BUS = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")
NEIGHBOUR = "4990"
CITED = re.compile(r"\[\[(E\d+)(?::(\d+))?\.(\w+)\]\]")


def pci(gpu: int) -> str:
    return f"00000000:{BUS[gpu]}:00.0"


def ran(folder: Path, state: str = "FAILED", gpus: int = 4, **fields: object) -> World:
    """A job on one node, that trains to its end with reports that have no times."""
    job = World(folder).job(state, gpus=gpus, node_list="n1", node_count=1, **fields)
    return job.train([2.0 - 0.01 * i for i in range(40)])


def lost(world: World, gpu: int = 6, minute: float = 59.0, xid: int = 79) -> World:
    """The kernel's word that a GPU fell off the bus: an address, and no number."""
    at = T + timedelta(minutes=minute)
    text = f"NVRM: Xid (PCI:0000:{BUS[gpu]}:00): {xid}, pid=812, name=python, GPU has fallen off the bus."
    return world.add(GpuEvent(node="n1", pci_bus_id=pci(gpu), ts=at, event="xid", xid=xid, message=text))


def sampled(world: World, gpus: range, holder: dict[int, str] | None = None) -> World:
    """An exporter's samples, a minute apart, of busy GPUs; `holder`: the job that its label names for each."""
    for g in gpus:
        world.add(
            *(
                GpuSample(
                    node="n1", gpu=g, gpu_uuid=f"GPU-{g}", pci_bus_id=pci(g), engine_active=0.9, sm_active=0.6,
                    ts=T + timedelta(minutes=m), job_id=(holder or {}).get(g),
                )
                for m in range(60)
            )
        )  # fmt: skip
    return world


def raised(world: World, name: str = "KeyError", text: str = "'unknown label'") -> World:
    return world.say("exception", name, text)


LABELS = {g: JOB if g < 4 else NEIGHBOUR for g in range(8)}
GIVEN = ",".join(f"n1/{g}" for g in range(4))


@pytest.mark.parametrize(
    "world",
    [
        lambda f: sampled(ran(f), range(8), LABELS),
        lambda f: sampled(ran(f), range(8), dict.fromkeys(range(4), JOB)),
        lambda f: sampled(ran(f, gpu_indices=GIVEN), range(4)),
        lambda f: sampled(ran(f, gpu_indices=GIVEN), range(8)),
        lambda f: ran(f, gpu_indices=GIVEN).add(GpuDevice(node="n1", gpu=6, pci_bus_id=pci(6))),
    ],
    ids=["label of another", "labels of its own", "indices and addresses", "indices and all", "indices and inventory"],
)
def test_a_gpu_that_was_not_the_jobs_is_a_warning_at_most(tmp_path: Path, world: object) -> None:
    made = lost(raised(world(tmp_path)))  # pyright: ignore
    found = judge(made, b2.assess)
    assert found.status == "ruled_out"
    draft = differential.draft(made.facts())
    assert (draft.family, draft.attribution) == ("A3", "job") and draft.confidence > 0.7


def test_the_warning_names_the_gpu_and_its_node_and_not_whose_it_was(tmp_path: Path) -> None:
    made = sampled(lost(raised(ran(tmp_path))), range(8), LABELS)
    facts = made.facts()
    told = next(w.text for w in differential.draft(facts).warnings if "was not the job's" in w.text)
    said = {column: facts.ledger.get(id_).value(column, int(row or 0)) for id_, row, column in CITED.findall(told)}
    assert (said["gpu"], said["node"], said["other_samples"]) == (6, "n1", 60)
    assert "another job" in told
    assert NEIGHBOUR not in str([e.rows for e in facts.ledger.all()])


@pytest.mark.parametrize(
    "world",
    [
        lambda f: sampled(ran(f), range(8)),
        lambda f: ran(f).add(SlurmNodeSample(node="n1", ts=T, gpus=8)),
        lambda f: sampled(ran(f), range(4)),
        lambda f: ran(f).add(
            SlurmJob(job_id=NEIGHBOUR, state="RUNNING", node_list="n1", node_count=1, gpus=2, start_ts=T)
        ),
        lambda f: ran(f),
        lambda f: ran(f, gpu_indices=GIVEN),
    ],
    ids=["all sampled", "slurm's count", "a fifth address", "another job there", "nothing known", "indices alone"],
)
@pytest.mark.parametrize("state", ["FAILED", "CANCELLED"])
def test_where_it_is_not_known_whose_it_was_the_end_keeps_its_own_cause(
    tmp_path: Path, world: object, state: str
) -> None:
    made = lost(world(tmp_path))  # pyright: ignore
    if state == "FAILED":
        raised(made)
    else:
        made.rows[0] = World(tmp_path).job(
            "CANCELLED", gpus=4, node_list="n1", node_count=1, exit_code=0, cancelled_by="5007",
            gpu_indices=made.rows[0].gpu_indices,  # pyright: ignore
        ).rows[0]  # fmt: skip
    found = judge(made, b2.assess)
    assert found.status == "suspected" and found.confidence == UNOWNED <= 0.5
    assert any("scontrol show job -d" in m.signal and "hpc_job" in m.signal for m in found.missing)
    assert "no change of code" not in " ".join(c.text for c in found.implies)
    assert differential.draft(made.facts()).family == ("A3" if state == "FAILED" else "F4")


def test_a_lost_gpu_of_the_job_itself_stays_the_cause(tmp_path: Path) -> None:
    own = sampled(lost(ran(tmp_path / "label"), 2), range(8), LABELS)
    index = sampled(lost(ran(tmp_path / "index", gpu_indices=GIVEN), 2), range(8))
    whole = lost(raised(ran(tmp_path / "whole", gpus=8)), 6)
    all_seen = sampled(lost(ran(tmp_path / "seen"), 2), range(4))
    for world in (own, index, whole, all_seen):
        found = judge(world, b2.assess)
        assert found.status == "confirmed" and found.confidence > 0.9
        assert differential.draft(world.facts()).family == "B2"


def test_the_address_of_a_switch_on_the_node_is_no_further_gpu(tmp_path: Path) -> None:
    switch = GpuEvent(
        node="n1", pci_bus_id="00000000:07:00.0", ts=T, event="sxid", xid=22013, message="SXid of a switch"
    )
    made = sampled(lost(ran(tmp_path, gpus=8).add(switch), xid=74), range(8))
    found = judge(made, b2.assess)
    assert found.status == "confirmed" and found.confidence > 0.9


@pytest.mark.parametrize(
    "error", ["CUDA error: uncorrectable ECC error encountered", "CUDA error: unspecified launch failure"]
)
def test_on_a_shared_node_the_jobs_own_word_of_its_gpu_keeps_the_fault_strong(tmp_path: Path, error: str) -> None:
    code = "ecc_uncorrectable" if "ECC" in error else "launch_failure"
    made = raised(lost(sampled(ran(tmp_path), range(8)), xid=48), "RuntimeError", error)
    made.say("warning", "cuda_error", error, detail=f'{{"code": "{code}"}}')
    found = judge(made, b2.assess)
    assert found.status == "confirmed" and 0.7 < found.confidence <= 0.85
    assert any("one of the job's" in m.text for m in found.missing)


def test_an_error_of_the_programs_own_kernel_does_not_make_a_strangers_gpu_the_cause(tmp_path: Path) -> None:
    error = "CUDA error: an illegal memory access was encountered"
    made = raised(lost(sampled(ran(tmp_path), range(8))), "RuntimeError", error)
    made.say("warning", "cuda_error", error, detail='{"code": "illegal_address"}')
    assert judge(made, b2.assess).confidence <= 0.5
    assert differential.draft(made.facts()).family == "A3"


def test_of_several_gpus_that_failed_the_jobs_own_is_the_one_that_is_blamed(tmp_path: Path) -> None:
    made = sampled(lost(lost(ran(tmp_path), 6, 57.0), 1, 59.0), range(8), LABELS)
    found = judge(made, b2.assess)
    assert found.status == "confirmed" and "gpu" in found.headline
    assert [w for w in found.warnings if "was not the job's" in w.text]


def test_a_completed_job_is_told_whose_gpu_failed_beside_it(tmp_path: Path) -> None:
    found = judge(sampled(lost(ran(tmp_path, "COMPLETED")), range(8), LABELS), b2.assess)
    assert found.status == "ruled_out" and [w for w in found.warnings if "was not the job's" in w.text]


def test_the_job_that_came_next_in_the_minute_of_the_end_does_not_take_the_gpu_away(tmp_path: Path) -> None:
    """The exporter's label says nothing of the run's own minutes, and names the next job from the last one on."""
    world = sampled(lost(ran(tmp_path, gpus=8, minutes=60.5), 2), range(8))
    for s in range(31, 60):
        at = T + timedelta(minutes=60, seconds=s - 30)
        world.add(GpuSample(node="n1", gpu=2, gpu_uuid="GPU-2", pci_bus_id=pci(2), ts=at, job_id=NEIGHBOUR))
    assert judge(world, b2.assess).status == "confirmed"


def trained(folder: Path, until_min: int, gpus: int = 8, state: str = "FAILED") -> World:
    """A job on a whole node, whose reports carry their times, one a minute."""
    world = World(folder).job(state, gpus=gpus, node_list="n1", node_count=1)
    return world.train([2.0 - 0.01 * i for i in range(until_min)], every_s=60.0)


def test_a_run_that_trained_on_for_long_was_not_ended_by_the_fault(tmp_path: Path) -> None:
    on, stopped = trained(tmp_path / "on", 59), trained(tmp_path / "stopped", 37)
    for world in (on, stopped):
        lost(raised(world), 6, minute=36.0)
    found = judge(on, b2.assess)
    assert (found.status, found.confidence) == ("suspected", 0.35)
    assert any("trained on" in c.text or "went on" in c.text for c in found.speaks_for)
    assert differential.draft(on.facts()).family == "A3"
    assert judge(stopped, b2.assess).status == "confirmed"


def test_a_fault_that_came_again_at_the_end_did_end_it(tmp_path: Path) -> None:
    world = lost(lost(raised(trained(tmp_path, 59)), 6, 36.0, xid=74), 6, 59.0, xid=74)
    assert judge(world, b2.assess).status == "confirmed"


def test_what_the_runtime_says_of_a_fault_stands_against_training_that_went_on(tmp_path: Path) -> None:
    world = lost(trained(tmp_path, 59), 6, 36.0, xid=48)
    error = "CUDA error: uncorrectable ECC error encountered"
    world.say("exception", "RuntimeError", error).say(
        "warning", "cuda_error", error, detail='{"code": "ecc_uncorrectable"}'
    )
    assert judge(world, b2.assess).status == "confirmed"


@pytest.mark.parametrize(("sm_late", "status"), [(0.6, "suspected"), (0.02, "confirmed")])
def test_without_times_in_the_log_a_gpu_that_worked_on_was_not_lost(
    tmp_path: Path, sm_late: float, status: str
) -> None:
    """A GPU that spins in a collective is busy by its engine, and not by its SMs."""
    world = lost(ran(tmp_path, gpus=8), 6, minute=35.0, xid=74)
    for m in range(60):
        sm = 0.6 if m < 36 else sm_late
        world.add(
            GpuSample(
                node="n1", gpu=6, pci_bus_id=pci(6), engine_active=0.99, sm_active=sm, ts=T + timedelta(minutes=m)
            )
        )
    assert judge(world, b2.assess).status == status


def spread(folder: Path, labels: dict[int, str] | None = None, nodes: int = 1, gpus: int = 4, hot: int = 6) -> World:
    """A run that completed beside other jobs on a node of eight GPUs: one of them works far more than the rest, and throttles."""
    world = World(folder).job("COMPLETED", gpus=gpus, node_list="n1" if nodes == 1 else "n1,n2", node_count=nodes)
    world.train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    for g in range(8):
        for m in range(60):
            world.add(
                GpuSample(
                    node="n1", gpu=g, gpu_uuid=f"GPU-{g}", ts=T + timedelta(minutes=m), job_id=(labels or {}).get(g),
                    engine_active=0.95, sm_active=0.7 if g == hot else 0.3, throttle_reasons=0x48 if g == hot else 0,
                    sm_clock_mhz=900.0 if g == hot else 1755.0,
                )
            )  # fmt: skip
    return world


@pytest.mark.parametrize(
    ("labels", "nodes", "gpus", "known"),
    [(None, 1, 4, False), (None, 2, 8, False), (dict.fromkeys(range(4), JOB), 1, 4, True), (LABELS, 1, 4, True)],
    ids=["nothing known", "one of two nodes sampled", "labels of its own", "labels of both"],
)
def test_a_gpu_beside_the_jobs_is_neither_its_straggler_nor_the_one_that_slowed_it(
    tmp_path: Path, labels: dict[int, str] | None, nodes: int, gpus: int, known: bool
) -> None:
    made = spread(tmp_path, labels, nodes, gpus)
    for assess in (b3.assess, d3.assess):
        assert judge(made, assess).status == ("ruled_out" if known else "undecidable")
    assert judge(made, d1.assess).status == ("ruled_out" if known else "undecidable")
    draft = differential.draft(made.facts())
    assert draft.family == "G1" and all(r.status != "secondary" for r in draft.ruled_out)


def test_a_gpu_of_the_jobs_own_is_named_though_others_lie_beside_it(tmp_path: Path) -> None:
    made = spread(tmp_path, dict.fromkeys(range(4), JOB), hot=2)
    assert judge(made, b3.assess).status == judge(made, d3.assess).status == "confirmed"


def test_where_nothing_says_how_many_gpus_it_held_an_exporters_label_does(tmp_path: Path) -> None:
    made = spread(tmp_path, dict.fromkeys(range(4), JOB), gpus=0)
    made.rows[0] = World(tmp_path).job("COMPLETED", gpus=None, node_list="n1", node_count=1).rows[0]
    assert made.facts().own_gpus == "GPU-0,GPU-1,GPU-2,GPU-3" and judge(made, d3.assess).status == "ruled_out"
