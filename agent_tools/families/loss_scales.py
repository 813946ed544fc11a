"""Loss scales of mixed precision that fell to nothing, or stand at their lowest while gradients go on to overflow."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.diverging import actions_of, cause_of
from agent_tools.say import count, lacks, own_failure, quoted, say

HOPELESS = 1e-3
"""A loss scale below this: gradients overflow whatever it is multiplied with, so they are not finite themselves."""
_FLOORED = 3
"""So many overflows at the lowest scale that is allowed, where that scales nothing up, are no search for the right one."""


def lost_scale(facts: Facts) -> RowView | None:
    """The row of a loss scale that fell to nothing or to its floor, None where none did."""
    row = facts.table("loss_scale").first
    if row is None or not row.has("lowest_scale"):
        return None
    lowest = count(row, "lowest_scale")
    return row if lowest < HOPELESS or (lowest <= 1.0 and count(row, "floored") >= _FLOORED) else None


def without_scale(facts: Facts, row: RowView, code: str) -> Assessment:
    """What it says of the training; at a floor steps between the overflows may still have been taken."""
    fallen = count(row, "lowest_scale") < HOPELESS
    confidence = 0.85 if fallen else 0.5
    if own_failure(facts, causes_only=True):
        confidence = 0.35
    headline = (
        f"The loss scale fell to {row['lowest_scale']}: every gradient overflowed, and no step was taken any more."
        if fallen
        else f"The loss scale stands at {row['lowest_scale']}, which is its lowest, and gradients overflow all the same."
    )
    shows = (
        f"The log names {row['overflows']} steps that were skipped because of an overflow; the scale went from "
        f"{row['first_scale']} to {row['lowest_scale']}: {quoted(row, 'lowest_text', 'lowest_line')}."
    )
    floored = f"{row['floored']} times it would have been lowered and could not be." if count(row, "floored") else ""
    missing = [cause_of(), lacks("When the loss began to go wrong.", "progress lines with loss and gradient norm")]
    if not fallen:
        missing.append(lacks("Whether steps between the overflows were taken.", "the loss of the steps between them"))
    return Assessment(
        code,
        "confirmed" if fallen else "suspected",
        "non_finite",
        confidence,
        "job",
        headline,
        say(shows, floored),
        implies=say("Loss or gradients are not finite themselves; the cluster was not the cause.", status="supported"),
        missing=missing,
        actions=actions_of("non_finite", None),
    )
