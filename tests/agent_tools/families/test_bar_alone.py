"""g1_healthy of a run that shows nothing but its progress bar (bar_alone, and beside Slurm's word of completion)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import g1_healthy as g1
from tests.agent_tools.families.world import World, judge

FULL = "100%|##########| 260/260 [02:38<00:00,  1.64it/s]"


def test_a_full_bar_and_slurms_completion_are_two_signs_of_an_end(tmp_path: Path) -> None:
    found = judge(World(tmp_path).job().text(" 50%|#####     | 130/260 [01:19<01:19,  1.64it/s]", FULL), g1.assess)
    assert (found.status, found.confidence) == ("confirmed", 0.75)
    assert any("bar stands at its end" in c.text for c in found.speaks_for)
    assert any("training correctness is unverifiable" in m.text for m in found.missing)


def test_without_slurms_word_the_bar_alone_is_a_suspicion(tmp_path: Path) -> None:
    found = judge(World(tmp_path).text(FULL), g1.assess)
    assert (found.status, found.confidence) == ("suspected", 0.48)


@pytest.mark.parametrize(
    "bar",
    [
        " 50%|#####     | 130/260 [01:19<01:19,  1.64it/s]",
        "Epoch 1/90: 100%|##########| 260/260 [02:38<00:00,  1.64it/s]",
        "Map: 100%|##########| 260/260 [02:38<00:00,  1.64it/s]",
        "100%|##########| 8/8 [02:38<00:00,  1.64it/s]",
    ],
    ids=["half", "of an epoch", "of the data", "a handful"],
)
def test_another_bar_is_no_second_sign(tmp_path: Path, bar: str) -> None:
    found = judge(World(tmp_path).job().text(bar), g1.assess)
    assert found.confidence < 0.7 and not any("bar stands at its end" in c.text for c in found.speaks_for)
