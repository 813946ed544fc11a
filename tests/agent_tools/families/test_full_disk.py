"""full_disk: no room on a node's disk that was full before the run began is not what the job wrote."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a3_midrun_crash as a3
from store.rows import HostSample
from tests.agent_tools.families.world import T, World, judge

GIB = 1 << 30


def crashed(
    folder: Path, free: dict[str, tuple[float, float]], mount: str = "/tmp", path: str = "/tmp/x/a.so"
) -> World:
    """Rank 3 on n2 finds no room; `free` has a node's GiB of a hundred before the run and at its end."""
    world = World(folder).job("FAILED", node_list="n1,n2", gpus=4).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("exception", "OSError", f"[Errno 28] No space left on device: '{path}'", rank=3)
    world.say("launcher_summary", "child_failed", "failed", rank=3, local_rank=1, host="n2")
    for node, (before, end) in free.items():
        for minute in range(-10, 61, 5):
            left = before + (end - before) * max(minute, 0) / 60
            at = T + timedelta(minutes=minute)
            disk = {"disk_total_bytes": 100 * GIB, "disk_free_bytes": int(left * GIB)}
            world.add(HostSample(node=node, ts=at, filesystem=mount, **disk))
            world.add(HostSample(node=node, ts=at, filesystem="/", disk_total_bytes=GIB, disk_free_bytes=GIB))
    return world


@pytest.mark.parametrize(
    ("free", "of", "shown"),
    [
        ({"n1": (60, 60), "n2": (0, 0)}, "infrastructure", "was full before"),
        ({"n1": (0, 0), "n2": (0, 0)}, "undetermined", "was full before"),  # as well what this user left everywhere
        ({"n2": (0, 0)}, "undetermined", "was full before"),
        ({"n1": (60, 60), "n2": (60, 0)}, "job", "as the run began"),  # it filled under the run
        ({"n1": (0, 0), "n2": (60, 60)}, "job", ""),  # another node's
        ({}, "job", ""),
    ],
)
def test_whose_a_full_disk_is(free: dict[str, tuple[float, float]], of: str, shown: str, tmp_path: Path) -> None:
    found = judge(crashed(tmp_path, free), a3.assess)
    assert (found.status, found.mode, found.attribution) == ("confirmed", "storage", of)
    told = [c.text for c in found.speaks_for if "was full before" in c.text or "as the run began" in c.text]
    assert all(shown in t for t in told) and bool(told) is bool(shown)


def test_the_file_system_is_the_one_that_the_path_lies_on(tmp_path: Path) -> None:
    full = {"n1": (60.0, 60.0), "n2": (0.0, 0.0)}
    assert judge(crashed(tmp_path, full, mount="/tmpfiles"), a3.assess).attribution == "job"
    assert judge(crashed(tmp_path / "b", full, mount="/tmp/x"), a3.assess).attribution == "infrastructure"
