"""How a loss that went wrong for good is told."""

from __future__ import annotations

import random
from pathlib import Path

from agent_tools.families.e1_loss_divergence import assess
from tests.agent_tools.families.world import World, judge


def test_what_rose_from_its_first_report_on_is_told_from_there(tmp_path: Path) -> None:
    """The lowest of what came later is of its way back down: a run that "spiked" from it would have spiked downwards."""
    rng = random.Random(3)
    climb = [12.5, *(12.5 + 9 * i + rng.gauss(0, 2) for i in range(1, 14))]
    back = [130 - 2.6 * i + rng.gauss(0, 2) for i in range(40)]
    world = World(tmp_path).job().train(climb + back)
    a, shape = judge(world, assess), world.facts().table("loss_shape").first
    assert shape is not None
    assert (a.status, a.mode, a.confidence) == ("confirmed", "spike", 0.9)
    assert f"it went from {shape['first_loss']} up to {shape['highest_loss']}, and stood at" in a.headline
    assert "did not come back to that" in " ".join(c.text for c in a.speaks_for)
    assert a.actions[0].text.startswith("Begin anew")
