"""What is said first of a job: how long it ran where it ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.differential import draft
from tests.agent_tools.families.world import T, World


@pytest.mark.parametrize(
    ("job", "said", "unsaid"),
    [
        ({"state": "CANCELLED", "start_ts": None, "end_ts": T}, "and never started", "after"),
        ({"state": "PENDING", "start_ts": None, "exit_code": None}, "state]].", "after"),
        ({"state": "CANCELLED", "minutes": 0.0}, "elapsed_s]] s on", "never"),
        ({"state": "CANCELLED", "minutes": 0.5}, "elapsed_s]] s on", "never"),
        ({"state": "CANCELLED", "minutes": 5.0}, "elapsed_min]] min on", "never"),
    ],
    ids=["cancelled while it waited", "it waits", "cancelled at once", "seconds", "minutes"],
)
def test_how_long_it_ran_is_said_where_it_ran(tmp_path: Path, job: dict[str, object], said: str, unsaid: str) -> None:
    told = draft(World(tmp_path).job(**job).facts()).disposition  # type: ignore[arg-type]
    assert said in told
    assert unsaid not in told
