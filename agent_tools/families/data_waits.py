"""What a loop itself says of its waiting for data: enough of it to slow a run, and what to do about it."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.wording import claim
from agent_tools.verdict import Claim

_WAITING = 0.5
_FEW_REPORTS = 5


def waited(facts: Facts) -> RowView | None:
    """The row of `data_waits` where the loop waited for most of its step time; None where it did not, or does not say."""
    row = facts.table("data_waits").first
    if row is None or (row.number("reports") or 0) < _FEW_REPORTS or (row.number("share") or 0) < _WAITING:
        return None
    return row


def waited_words(row: RowView) -> str:
    """How much it waited, as a sentence."""
    return f"By its own reports the loop waited for data in {row['share']} of its step time ({row['wait_s']} of {row['step_s']})."


def feed_first(facts: Facts) -> list[Claim]:
    """What a run that needs more time is told first, where its own reports say what took it."""
    row = waited(facts)
    if row is None:
        return []
    text = f"Feed it faster first, with more loader workers, prefetch or data prepared beforehand: waiting took {row['share']} of a step."
    return [claim(text, "supported")]
