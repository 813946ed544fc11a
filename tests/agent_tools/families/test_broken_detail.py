"""Details of an event that are no JSON, from a table that somebody imported, cost that detail and not the diagnosis."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from store import Reader, Writer
from store.rows import TrainStep
from tests.agent_tools.families.world import World


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("exception", "ValueError"),
        ("warning", "cuda_error"),
        ("nccl_watchdog", "collective_timeout"),
        ("cuda_oom", "cuda_oom"),
        ("train_plan", "progress_bar"),
    ],
)
@pytest.mark.parametrize("detail", ["no json {", '{"elapsed_s": "an hour"}', '["elapsed_s"]'])
def test_a_detail_that_is_no_json_is_left_out(tmp_path: Path, kind: str, name: str, detail: str):
    world = World(tmp_path).job("TIMEOUT").say(kind, name, "it broke", detail=detail)
    for step in (-(1 << 63) + 1, (1 << 63) - 1):
        world.add(
            TrainStep(
                job_id="4812", attempt=1, file="out", line_no=1, split="train", step=step, step_time_s=0.5, metrics="[}"
            )
        )
    Writer(tmp_path / "lake", durable=False).append(world.rows, batch="b")
    with Reader(tmp_path / "lake") as reader:
        made = diagnose(reader, "4812")
    assert not any("could not be assessed" in note for note in made.provenance.notes), made.provenance.notes
