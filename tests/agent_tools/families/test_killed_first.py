"""killed_first: the rank whose process ended while the others lived on is what the ranks of a standing job wait for."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.families import c2_collective_hang as c2
from store.rows import GpuSample, HostEvent, Process
from tests.agent_tools.families.world import JOB, T, World, judge

GONE = T + timedelta(minutes=30)
END = T + timedelta(minutes=60)


def stood(folder: Path, **first: Any) -> World:
    """Four ranks; the GPUs of three spin from the half hour on, and one is cold. `first` is how rank 2 ended."""
    world = World(folder).job("TIMEOUT", 60, gpus=4, node_list="n1").train([2.0, 1.9, 1.8, 1.7, 1.6])
    for minute in range(2, 60):
        for gpu in range(4):
            cold, works = minute >= 30 and gpu == 2, minute < 30
            world.add(
                GpuSample(
                    node="n1",
                    gpu=gpu,
                    ts=T + timedelta(minutes=minute),
                    engine_active=0.0 if cold else 0.99,
                    sm_active=0.6 if works else 0.0 if cold else 0.012,
                )
            )
    for rank in range(4):
        ended = first if rank == 2 and first else {"end_ts": END, "exit_signal": 15, "signal_sender": "slurmstepd"}
        world.add(Process(job_id=JOB, node="n1", pid=700 + rank, rank=rank, ts=T, comm="python", **ended))
    return world


@pytest.mark.parametrize(
    ("how", "whose"),
    [
        ({"end_ts": GONE, "exit_signal": 9, "signal_sender": "kernel-oom", "oom_killed": True}, "job"),
        ({"end_ts": GONE, "exit_signal": 11}, "undetermined"),
        ({"end_ts": GONE, "exit_code": 1}, "undetermined"),
    ],
    ids=["oom", "segfault", "exit"],
)
def test_a_process_that_ended_long_before_the_job_names_the_rank(
    how: dict[str, Any], whose: str, tmp_path: Path
) -> None:
    found = judge(stood(tmp_path, **how), c2.assess)
    assert found.status == "confirmed" and found.confidence > 0.8 and found.attribution == whose
    assert "the process of rank" in found.headline and not any("which rank" in m.text for m in found.missing)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"end_ts": END - timedelta(seconds=20), "exit_signal": 9, "signal_sender": "slurmstepd"},
        {"end_ts": GONE, "exit_signal": 15},
        {"end_ts": GONE, "exit_code": 0},
    ],
    ids=["nobody", "teardown", "asked", "well"],
)
def test_a_teardown_and_an_end_that_was_asked_for_name_nobody(how: dict[str, Any], tmp_path: Path) -> None:
    found = judge(stood(tmp_path, **how), c2.assess)
    assert "the process of rank" not in found.headline and any("which rank" in m.text for m in found.missing)


def test_steps_after_it_show_that_the_run_went_on_without_it(tmp_path: Path) -> None:
    world = stood(tmp_path, end_ts=T + timedelta(minutes=5), exit_signal=11).train([1.5] * 50, every_s=40.0)
    assert "the process of rank" not in judge(world, c2.assess).headline


def test_without_a_process_table_the_kernels_kill_is_told_and_names_no_rank(tmp_path: Path) -> None:
    kill = HostEvent(
        node="n1", ts=GONE, event="oom_kill", pid=702, process_name="python", constraint="CONSTRAINT_MEMCG",
        cgroup=f"/system.slice/slurmstepd.scope/job_{JOB}/step_0/user/task_2", message="oom-kill: task=python,pid=702",
    )  # fmt: skip
    found = judge(stood(tmp_path).without(Process).add(kill), c2.assess)
    assert any("The kernel of" in c.text for c in found.speaks_for) and "the process of rank" not in found.headline
