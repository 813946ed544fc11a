"""`agent_tools.families.surroundings`: what an error at the start is of, where no package would mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import a1_startup_crash as a1
from tests.agent_tools.families.world import World, judge


@pytest.mark.parametrize(
    ("name", "message", "advice"),
    [
        ("OSError", "[Errno 28] No space left on device: '/out/curve.png'", "Free space"),
        (
            "requests.exceptions.ConnectionError",
            "Max retries exceeded with url: /generate",
            "answers under the address",
        ),
        ("ModuleNotFoundError", "No module named 'apex'", "Install or pin"),
    ],
)
def test_only_what_a_package_would_mend_is_to_be_installed(
    tmp_path: Path, name: str, message: str, advice: str
) -> None:
    a = judge(World(tmp_path).job("FAILED").say("exception", name, message), a1.assess)
    assert any(advice in c.text for c in a.actions)
