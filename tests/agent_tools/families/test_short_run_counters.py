"""b2_gpu_fault: a run so short that no look at one of its GPUs fell into it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import b2_gpu_fault as b2
from store.rows import GpuSample, Process
from tests.agent_tools.families.world import JOB, T, World, judge


def _ran(folder: Path, minutes: float, looks_s: tuple[int, ...], stood: int) -> World:
    """A job on two GPUs: the first is looked at in the run, the second `looks_s` after its start."""
    world = World(folder).job("FAILED", minutes=minutes, node_list="n1", node_count=1, gpus=2)
    world.add(Process(job_id=JOB, node="n1", ts=T, pid=9, rank=0, gpu_uuids="GPU-a,GPU-b"))
    for uuid, gpu, looks, value in (("GPU-a", 0, (5, 20), 0), ("GPU-b", 1, looks_s, stood)):
        for second in looks:
            ts = T + timedelta(seconds=second)
            world.add(
                GpuSample(node="n1", gpu=gpu, gpu_uuid=uuid, ts=ts, engine_active=0.1, remapped_uncorrectable=value)
            )
    return world


@pytest.mark.parametrize(
    ("minutes", "looks_s", "stood", "told"),
    [
        (0.5, (-90, -40), 2, "stood at"),
        (0.5, (-90, -40), 0, ""),
        (0.5, (-400,), 2, ""),
        (0.5, (-40, 10), 2, "stands at"),
        (30.0, (-90, -40), 2, ""),
    ],
    ids=["just before it", "clean", "long before it", "in it as well", "a run that was not short"],
)
def test_what_a_counter_stood_at_just_before_a_short_run_is_a_warning(
    tmp_path: Path, minutes: float, looks_s: tuple[int, ...], stood: int, told: str
) -> None:
    found = judge(_ran(tmp_path, minutes, looks_s, stood), b2.assess)
    latent = [w.text for w in found.warnings if w.text.startswith("Latent")]
    assert found.status == "ruled_out"
    assert [told in text for text in latent] == ([True] if told else [])
