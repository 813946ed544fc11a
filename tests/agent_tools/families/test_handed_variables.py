"""Variables that a traced command or a step's submit line hands to the program: evidence, where advice that names them is none."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import d2_throughput_bound as d2
from store.rows import GpuSample, SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge


def trained(folder: Path) -> World:
    return World(folder).job("COMPLETED").train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ("For debugging consider passing CUDA_LAUNCH_BLOCKING=1.", None),
        ("++ srun -n8 --export=ALL,CUDA_LAUNCH_BLOCKING=1 python fit.py", "launch_blocking"),
        ("+ mpirun -x PATH -x CUDA_LAUNCH_BLOCKING=1 python fit.py", "launch_blocking"),
        ("+ srun --export=ALL,CUDA_LAUNCH_BLOCKING=0 python fit.py", None),
        ("+ echo 'to debug: srun --export=ALL,CUDA_LAUNCH_BLOCKING=1'", None),
        ("srun --export=ALL,CUDA_LAUNCH_BLOCKING=1 shows where it failed", None),
    ],
)
def test_a_traced_command_that_serialises_launches_is_evidence(line: str, mode: str | None, tmp_path: Path) -> None:
    assert judge(trained(tmp_path).text(line), d2.assess).mode == mode


def test_so_is_the_submit_line_of_a_step(tmp_path: Path) -> None:
    said = "srun --export=ALL,CUDA_LAUNCH_BLOCKING=1 python fit.py"
    world = trained(tmp_path).add(SlurmStep(ts=T, job_id=JOB, attempt=1, step_id="0", submit_line=said))
    assert judge(world, d2.assess).mode == "launch_blocking"


@pytest.mark.parametrize(("value", "of"), [("1", "job"), ("0", "infrastructure")])
def test_sockets_that_the_command_asks_for_are_its_own_choice(value: str, of: str, tmp_path: Path) -> None:
    world = trained(tmp_path).text(f"+ srun --export=ALL,NCCL_IB_DISABLE={value} python fit.py")
    for gpu in range(16):
        for m in range(60):
            at = T + timedelta(minutes=m)
            world.add(GpuSample(node=f"n{1 + gpu % 2}", gpu=gpu, ts=at, engine_active=0.99, sm_active=0.09))
    world.job("COMPLETED", node_list="n1,n2", node_count=2)
    found = judge(world, d2.assess)
    assert (found.mode, found.attribution) == ("interconnect", of)
