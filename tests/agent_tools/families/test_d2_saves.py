"""D2: what the saves of a run are counted against."""

from __future__ import annotations

from pathlib import Path

from agent_tools.families import d2_throughput_bound as d2
from tests.agent_tools.families.world import World, judge


def test_saves_are_counted_against_steps_only_where_steps_are_named(tmp_path: Path) -> None:
    numbered = judge(World(tmp_path / "a").job().train([2.0] * 12, stride=5), d2.assess)
    assert ".steps]] steps are no storm" in numbered.counterfactual
    unnamed = judge(World(tmp_path / "b").job().train([2.0] * 12, step=None), d2.assess)
    anew = World(tmp_path / "c").job().train([2.0] * 6, stride=5, epoch=0.0).train([2.0] * 6, stride=5, epoch=1.0)
    for told in (unnamed, judge(anew, d2.assess)):
        assert ".reports]] reports of progress are no storm" in told.counterfactual
