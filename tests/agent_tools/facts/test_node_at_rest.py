"""A node whose GPUs all do nothing while every other GPU of the job spins is where a hang has to be looked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families.base import Assessment
from agent_tools.families.c2_collective_hang import assess
from store.rows import GpuSample
from tests.agent_tools.families.world import T, World, judge

NODES = ("n1", "n2", "n3", "n4")


def stood(folder: Path, late: Callable[[str, int], tuple[float, float]]) -> Assessment:
    """Four nodes of four GPUs that trained for twenty minutes of an hour; `late` is engine and SM activity after it."""
    world = World(folder).job("TIMEOUT", 60, node_list=",".join(NODES), gpus=16, time_limit_s=3600.0)
    world.train([3.0 - 0.01 * i for i in range(100)], every_s=12)
    for minute in range(60):
        for node in NODES:
            for gpu in range(4):
                engine, sm = (0.96, 0.7) if minute < 20 else late(node, gpu)
                world.add(
                    GpuSample(
                        node=node, gpu=gpu, gpu_uuid=f"{node}-{gpu}", ts=T + timedelta(minutes=minute, seconds=30),
                        engine_active=engine, sm_active=sm, fb_used_bytes=70 << 30, fb_total_bytes=80 << 30,
                    )
                )  # fmt: skip
    return judge(world, assess)


def named(result: Assessment) -> bool:
    return any(" do nothing." in c.text for c in result.speaks_for)


def test_the_one_node_at_rest_is_named(tmp_path: Path) -> None:
    found = stood(tmp_path, lambda node, gpu: (0.0, 0.0) if node == "n3" else (1.0, 0.02))
    assert (found.status, found.confidence) == ("confirmed", 0.82)
    assert named(found)
    assert any("stuck on the host, or dead" in c.text and c.status == "hypothesis" for c in found.implies)
    assert not any("gpu_sample" in m.signal for m in found.missing)


@pytest.mark.parametrize(
    "late",
    [
        lambda node, gpu: (0.0, 0.0) if node in ("n2", "n3") else (1.0, 0.02),
        lambda node, gpu: (0.0, 0.0) if gpu in (0, 1) else (1.0, 0.02),
        lambda node, gpu: (0.0, 0.0),
        lambda node, gpu: (0.0, 0.0) if node == "n3" else (0.9, 0.6),
    ],
    ids=["two-nodes", "half-of-each-node", "all-of-them", "the-others-compute"],
)
def test_otherwise_no_node_is_named(tmp_path: Path, late: Callable[[str, int], tuple[float, float]]) -> None:
    assert not named(stood(tmp_path, late))
