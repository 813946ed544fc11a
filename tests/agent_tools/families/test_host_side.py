"""What the host's own figures decide: a rank that has no CPU, a node that has no memory left, a whole epoch's starvation."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a2_signal_kill as a2
from agent_tools.families import d1_under_utilization as d1
from agent_tools.families import d3_straggler as d3
from agent_tools.families import likeliest_sender
from store.rows import CudaSample, GpuSample, HostSample, SlurmStep, TrainStep
from tests.agent_tools.families.world import JOB, T, World, judge

GIB = 1 << 30
LOSSES = [10.0 * 0.97**i + 1.0 for i in range(40)]


def uneven(folder: Path, starved: int, ahead: float = 2.0, unwaiting: tuple[int, ...] = ()) -> World:
    """GPU 2 works twice as much as the others; the rank `starved` waits for a CPU for a third of its time."""
    rng = random.Random(2)
    world = World(folder).job("COMPLETED", 60, gpus=4, node_count=1, node_list="n1").train(LOSSES)
    for m in range(60):
        at = T + timedelta(minutes=m)
        for g in range(4):
            sm = 0.3 * (ahead if g == 2 else 1.0) + rng.gauss(0, 0.01)
            world.add(GpuSample(node="n1", gpu=g, gpu_uuid=f"GPU-{g}", ts=at, engine_active=0.97, sm_active=sm))
            wait = 20.0 if g == starved else 0.5
            world.add(
                CudaSample(
                    job_id=JOB,
                    node="n1",
                    rank=g,
                    pid=90 + g,
                    gpu_uuid=f"GPU-{g}",
                    ts=at,
                    interval_s=60.0,
                    launches=900,
                    cpu_wait_s=wait,
                    sync_time_s=(6.0 if g in unwaiting else 30.0) if unwaiting else None,
                )
            )
    return world


@pytest.mark.parametrize(("unwaiting", "status"), [((2,), "confirmed"), ((1,), "suspected"), ((1, 2), "suspected")])
def test_of_ranks_that_are_a_little_apart_the_one_that_alone_waits_for_none_holds_them_up(
    unwaiting: tuple[int, ...], status: str, tmp_path: Path
) -> None:
    answer = judge(uneven(tmp_path, starved=-1, unwaiting=unwaiting), d3.assess)
    assert answer.status == status
    assert any("waits least" in c.text for c in answer.speaks_for) == (status == "confirmed")


def test_a_rank_without_a_cpu_is_slow_for_that_and_its_gpu_is_not_to_blame(tmp_path: Path) -> None:
    answer = judge(uneven(tmp_path, starved=2), d3.assess)
    assert (answer.status, answer.confidence) == ("confirmed", 0.8)
    assert any("want of a CPU" in c.text for c in answer.implies)
    assert not any("GPU and host looked at" in c.text for c in answer.actions)


def test_another_ranks_wait_for_a_cpu_explains_nothing(tmp_path: Path) -> None:
    answer = judge(uneven(tmp_path, starved=1), d3.assess)
    assert answer.status == "suspected"
    assert judge(uneven(tmp_path / "even", starved=2, ahead=1.0), d3.assess).status == "ruled_out"


def killed(folder: Path, left: float, node: str = "n2") -> World:
    world = World(folder).job("FAILED", 60, node_count=2, node_list="n1,n2").train(LOSSES)
    world.say("launcher_summary", "child_failed", "Signal 9 (SIGKILL) received by PID 77", signal=9, rank=3, host="n2")
    for m in range(60):
        free = 700.0 if m < 50 else left
        at = T + timedelta(minutes=m)
        world.add(
            HostSample(
                node=node, ts=at, memory_total_bytes=1000 * GIB, memory_available_bytes=int(free * GIB), load1=9.0
            )
        )
    return world


@pytest.mark.parametrize(("left", "node", "told"), [(9.0, "n2", True), (300.0, "n2", False), (9.0, "n1", False)])
def test_a_node_without_memory_makes_its_out_of_memory_killer_the_likeliest_sender(
    left: float, node: str, told: bool, tmp_path: Path
) -> None:
    answer = judge(killed(tmp_path, left, node), a2.assess)
    assert any("likeliest sender" in c.text for c in answer.implies) is told
    assert likeliest_sender.__doc__


def test_a_signal_that_accounting_alone_names_says_nothing_of_tracebacks(tmp_path: Path) -> None:
    """srun kills the other tasks of a step when one of them failed, and the step then ends by that signal."""
    world = World(tmp_path).job("FAILED", 60, exit_code=0, exit_signal=9)
    world.add(SlurmStep(job_id=JOB, step_id="0", state="FAILED", exit_code=0, exit_signal=9, ts=T))
    answer = judge(world, a2.assess)
    assert (answer.status, answer.confidence) == ("confirmed", 0.6)
    assert "traceback" not in answer.headline


def starving(folder: Path, epochs: int) -> World:
    world = World(folder).job("COMPLETED", 300, gpus=1, node_count=1, node_list="n1")
    for e in range(1, epochs + 1):
        at = T + timedelta(minutes=25 * e)
        world.add(
            TrainStep(job_id=JOB, ts=at, ts_kind="file", epoch=float(e), total_epochs=epochs, loss=3.0 / e, line_no=e)
        )
    for m in range(300):
        world.add(GpuSample(node="n1", gpu=0, ts=T + timedelta(minutes=m), engine_active=0.04, sm_active=0.03))
    return world


def test_reports_of_whole_epochs_are_many_steps(tmp_path: Path) -> None:
    assert judge(starving(tmp_path, 8), d1.assess).status == "confirmed"
    assert judge(starving(tmp_path / "one", 1), d1.assess).status == "ruled_out"
