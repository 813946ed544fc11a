"""held_up, hang_causes, launch_reason, faulted_gpus: the rank or node is named by what the kernel, a stack or the scheduler tells of it alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a4_never_started as a4
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import c2_collective_hang as c2
from store.rows import GpuEvent, HostEvent, Process, SlurmNodeState
from tests.agent_tools.families.world import JOB, T, World, judge

GAVE_UP = T + timedelta(minutes=50)


def hung(folder: Path) -> World:
    world = World(folder).job("FAILED").train([2.0 - 0.01 * i for i in range(38)], every_s=60.0)
    return world.say(
        "nccl_watchdog", "collective_timeout", "Watchdog caught collective operation timeout", collective="ALLREDUCE",
        seq=900, elapsed_ms=600_000.0, timeout_ms=600_000.0, rank=0, ts=GAVE_UP, ts_kind="embedded",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pid", "minutes", "of"),
    [(4410, -11, "job"), (4411, -11, "undetermined"), (4410, 1, "undetermined"), (None, 0, "undetermined")],
)
def test_a_lost_worker_that_is_printed_late_is_the_trigger_where_the_kernel_had_killed_it(
    pid: int | None, minutes: float, of: str, tmp_path: Path
) -> None:
    world = hung(tmp_path)
    world.say("exception", "RuntimeError", "DataLoader worker (pid(s) 4410) exited unexpectedly", rank=3)
    if pid is not None:
        world.add(
            HostEvent(
                job_id=JOB, node="n1", ts=GAVE_UP + timedelta(minutes=minutes), event="oom_kill", pid=pid,
                process_name="pt_data_worker", constraint="CONSTRAINT_MEMCG",
            )
        )  # fmt: skip
    found = judge(world, c2.assess)
    assert found.attribution == of
    assert any("worker that rank" in c.text for c in found.speaks_for) is (of == "job")


def test_the_stack_that_one_rank_alone_stands_in_is_told_first(tmp_path: Path) -> None:
    world = hung(tmp_path)
    for rank in range(6):
        stack = "nfs4_proc_getattr" if rank == 4 else "futex_wait_queue"
        world.add(Process(job_id=JOB, node="n1", ts=T, pid=90 + rank, rank=rank, host_stack=stack))
    said = [c.text for c in judge(world, c2.assess).speaks_for if "On the host" in c.text]
    rows = {r.index: r.number("rank") for r in world.facts().table("process_exits")}
    odd = next(i for i, rank in rows.items() if rank == 4)
    assert len(said) == 2 and (f":{odd}.rank" in said[0] or odd == 0)


@pytest.mark.parametrize(("reason", "named"), [("Prolog error", True), ("bad DIMM", False)])
def test_a_launch_that_failed_names_the_node_whose_prolog_did(reason: str, named: bool, tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 0.1, state_reason="Prolog")
    world.add(SlurmNodeState(node="n2", ts=T + timedelta(seconds=4), state="DRAINED", reason=reason))
    found = judge(world, a4.assess)
    assert (found.status, found.attribution) == ("confirmed", "infrastructure")
    assert ("node]]" in found.headline) is named


@pytest.mark.parametrize(
    ("rank", "local", "host", "named"),
    [(5, 1, "n2", True), (5, 2, "n2", False), (1, 1, "n1", False), (5, None, "n2", False)],
)
def test_the_rank_that_met_a_gpus_fault_is_told_where_the_launcher_ties_it_to_that_gpu(
    rank: int, local: int | None, host: str, named: bool, tmp_path: Path
) -> None:
    world = World(tmp_path).job("FAILED").train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("exception", "RuntimeError", "CUDA error: unspecified launch failure", rank=rank)
    world.say("exception", "RuntimeError", "NCCL error: remote process exited or there was a network error", rank=0)
    world.say("launcher_summary", "child_failed", "failed", rank=rank, local_rank=local, host=host)
    world.add(
        GpuEvent(
            node="n2", gpu=1, pci_bus_id="00000000:3b:00.0", event="xid", xid=79, ts=T + timedelta(minutes=59, seconds=50),
            message="NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
        )
    )  # fmt: skip
    found = judge(world, b2.assess)
    assert found.status == "confirmed"
    assert any("ran there as number" in c.text for c in found.speaks_for) is named
