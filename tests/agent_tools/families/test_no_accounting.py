"""Nothing of Slurm's is there: whose GPUs are whose is told by processes, and a fault whose time means nothing blames nobody."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families.b2_gpu_fault import assess
from store.rows import GpuSample, Process
from tests.agent_tools.families.world import JOB, T, World, judge


def dying(folder: Path, *, ranks: int, uuids: bool, dead: int) -> World:
    """A node of four GPUs, one of which counts errors that nothing corrected, and a job's processes on the first ones."""
    world = World(folder)
    for rank in range(ranks):
        world.add(Process(job_id=JOB, attempt=1, node="n1", ts=T, pid=7 + rank, rank=rank, gpu_uuids=f"GPU-{rank}"))
    for gpu in range(4):
        for m in range(0, 60, 5):
            named = {"gpu_uuid": f"GPU-{gpu}"} if uuids else {}
            rose = 2 * int(gpu == dead and m > 30)
            world.add(
                GpuSample(
                    node="n1", gpu=gpu, ts=T + timedelta(minutes=m), engine_active=0.9, ecc_dbe_total=rose, **named
                )
            )
    return world


@pytest.mark.parametrize("uuids", [True, False])
def test_a_counter_that_rose_while_nobody_knows_when_the_job_ran_is_only_suspected(tmp_path: Path, uuids: bool) -> None:
    a = judge(dying(tmp_path, ranks=4, uuids=uuids, dead=2), assess)
    assert (a.status, a.confidence) == ("suspected", 0.6)
    assert "is not known" in a.headline


def test_the_gpu_of_another_job_is_none_of_this_ones(tmp_path: Path) -> None:
    own = judge(dying(tmp_path / "own", ranks=2, uuids=True, dead=1), assess)
    other = judge(dying(tmp_path / "other", ranks=2, uuids=True, dead=3), assess)
    assert (own.status, other.status) == ("suspected", "ruled_out")
