"""E2 within one log (begun_again): workers that a launcher starts again, and that begin from scratch."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families.e2_silent_restart import assess
from store.rows import LogEvent
from tests.agent_tools.families.world import T, World, judge

FRESH = [10.9 - 0.1 * i for i in range(40)]
RESTART = "[default] Worker group FAILED. 3/3 attempts left; will restart worker group"


@pytest.mark.parametrize(
    ("state", "saved", "again", "first", "expected"),
    [
        ("COMPLETED", False, FRESH, 10, ("confirmed", 0.8)),
        ("COMPLETED", True, FRESH, 10, ("confirmed", 0.88)),
        ("COMPLETED", True, [5.1] * 40, 310, ("ruled_out", 0.02)),  # it went on where it had been
        ("FAILED", False, FRESH, 10, ("suspected", 0.5)),  # it ended of what it fails of each time
    ],
)
def test_workers_that_the_launcher_starts_again_from_scratch_are_silent(
    tmp_path: Path, state: str, saved: bool, again: list[float], first: int, expected: tuple[str, float]
) -> None:
    world = World(tmp_path).job(state).train([10.9 - 0.15 * i for i in range(40)])
    if saved:
        world.rows.insert(
            5, LogEvent(job_id="4812", kind="checkpoint", name="saved", file="slurm-4812.out", line_no=5, ts=T)
        )
    world.say("launcher_event", "restart", RESTART)
    a = judge(world.train(again, first_step=first), assess)
    assert (a.status, a.confidence) == expected


def test_steps_that_begin_anew_without_a_restart_are_no_silent_one(tmp_path: Path) -> None:
    """A second stage of one program trains anew in the same log."""
    world = World(tmp_path).job("COMPLETED").train([10.9 - 0.15 * i for i in range(40)])
    assert judge(world.train(FRESH), assess).status == "ruled_out"
