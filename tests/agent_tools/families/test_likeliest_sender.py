"""Who sent a SIGKILL that the shell tells of: what the node's kernel did at that time, and what it did for others."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.families import a2_signal_kill as a2
from agent_tools.families.base import Assessment
from store.rows import HostEvent
from tests.agent_tools.families.world import T, World, judge

WHOLE = "Out of memory: Killed process 977 (python) total-vm:8122120kB, anon-rss:7122144kB, UID:2003"
LIMIT = "Memory cgroup out of memory: Killed process 977 (tar) total-vm:8122120kB, anon-rss:7122144kB, UID:2003"


def killed(folder: Path, message: str, minute: float = 59.5, **fields: Any) -> Assessment:
    world = World(folder).job("FAILED", 60, exit_code=137, node_list="n1").train([3.0, 2.5, 2.0])
    world.say("signal", "SIGKILL", "line 9: 4120 Killed   python train.py", signal=9, pid=4120, ts_kind="file")
    world.add(
        HostEvent(node="n1", ts=T + timedelta(minutes=minute), event="oom_kill", pid=977, message=message, **fields)
    )
    return judge(world, a2.assess)


def test_a_kill_for_want_of_the_nodes_memory_is_shown_though_nothing_ties_it_to_the_job(tmp_path: Path) -> None:
    found = killed(tmp_path, WHOLE)
    assert any("because the node was out of memory" in c.text for c in found.speaks_for)
    assert any("was at work at that time" in c.text and c.status == "supported" for c in found.implies)
    assert not any("Look for an OOM kill in the kernel log" in c.text for c in found.actions)


@pytest.mark.parametrize(("message", "minute"), [(LIMIT, 59.5), (WHOLE, 10.0)])
def test_a_limit_of_another_job_and_a_kill_long_before_say_nothing_of_this_end(
    message: str, minute: float, tmp_path: Path
) -> None:
    found = killed(tmp_path, message, minute)
    assert not any("out of memory" in c.text for c in found.speaks_for)
    assert any("Look for an OOM kill in the kernel log" in c.text for c in found.actions)
