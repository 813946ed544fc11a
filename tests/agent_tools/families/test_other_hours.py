"""What is left open where all of a job's GPUs look unused: only then anything is."""

from __future__ import annotations

from agent_tools.facts.views import RowView
from agent_tools.families.other_hours import done_elsewhere, of_other_hours


def test_where_gpus_were_used_nothing_is_left_open() -> None:
    nothing: RowView | None = None
    assert done_elsewhere(nothing) == [] and of_other_hours(nothing) == []
