"""Details of an event that are no JSON, from a table that somebody imported, cost that detail and not the diagnosis."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from store import Reader, Writer
from tests.agent_tools.families.world import World


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("exception", "ValueError"),
        ("warning", "cuda_error"),
        ("nccl_watchdog", "collective_timeout"),
        ("cuda_oom", "cuda_oom"),
    ],
)
def test_a_detail_that_is_no_json_is_left_out(tmp_path: Path, kind: str, name: str):
    world = World(tmp_path).job("FAILED").say(kind, name, "it broke", detail="no json {")
    Writer(tmp_path / "lake", durable=False).append(world.rows, batch="b")
    with Reader(tmp_path / "lake") as reader:
        made = diagnose(reader, "4812")
    assert not any("could not be assessed" in note for note in made.provenance.notes), made.provenance.notes
