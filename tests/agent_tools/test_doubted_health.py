"""A suspicion that would explain why a run is not healthy is told beside its health, and lowers it."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

from agent_tools import differential
from store.rows import GpuSample
from tests.agent_tools.families.world import T, World

LOSSES = [10.0 * 0.97**i + 1.0 for i in range(40)]


def run(folder: Path, ahead: float) -> World:
    """Four GPUs of which one works `ahead` times as much as the others, which spin."""
    world = World(folder).job("COMPLETED", 60, gpus=4, node_count=1, node_list="n1").train(LOSSES)
    rng = random.Random(1)
    return world.add(
        *(
            GpuSample(
                node="n1",
                gpu=gpu,
                ts=T + timedelta(minutes=m),
                engine_active=0.97,
                sm_active=0.3 * (ahead if gpu == 2 else 1.0) + rng.gauss(0, 0.01),
                ecc_dbe_total=0,
            )
            for m in range(60)
            for gpu in range(4)
        )
    )


def test_a_suspected_straggler_leaves_health_open(tmp_path: Path) -> None:
    even, uneven = (differential.draft(run(tmp_path, times).facts()) for times in (1.1, 2.0))
    assert (even.family, uneven.family) == ("G1", "G1")
    assert even.confidence > 0.9
    assert uneven.confidence < 0.6
    assert not any("hold" in w.text for w in even.warnings)
    assert any("Suspected and not shown: A single rank holds the others up" in w.text for w in uneven.warnings)
