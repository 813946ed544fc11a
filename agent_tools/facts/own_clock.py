"""How much of a job's time its reports account for: by the clock of a progress bar, or by step times added up.

Most trainers print no time of day. What they say that training took still tells a run that trained to its end from one that
may have stood still: of a standstill no report tells.
"""

from __future__ import annotations

from agent_tools.facts.views import RowView
from agent_tools.say import count

STARTING_MIN = 10.0
"""What a run may need before its first step."""
_PAUSES, _MOST = 0.05, 0.15
"""Shares of a run: what evaluations and saves may take that no report tells of, and the most that start and pauses may."""
_LONG_MIN, _LONG = 20.0, 0.3
"""From so many minutes and such a share of the run on, what no report tells of is no mere start."""


def accounted(wall: RowView | None) -> bool:
    """Whether the reports leave no more of the run than its start and short pauses need."""
    if wall is None or not wall.has("unspoken_min"):
        return False
    whole = 60 * count(wall, "elapsed_h")
    # A clock that says a little more than accounting does is rounded; one that says much more is of something else.
    return -0.02 * whole <= count(wall, "unspoken_min") <= min(STARTING_MIN + _PAUSES * whole, _MOST * whole)


def silent(wall: RowView | None) -> bool:
    """Whether no report tells of a good part of the run."""
    if wall is None or not wall.has("unspoken_min"):
        return False
    return count(wall, "unspoken_min") > max(_LONG_MIN, _LONG * 60 * count(wall, "elapsed_h"))


def spoken(wall: RowView | None) -> list[str]:
    """What the reports account for, in a sentence; empty where they say nothing of it."""
    if wall is None or not wall.has("unspoken_min") or count(wall, "unspoken_min") < 0:
        return []
    said, rest = wall["spoken_h"], wall["unspoken_min"]
    return [f"By its reports' own clock training had taken {said}; {rest} of the run are not in them."]
