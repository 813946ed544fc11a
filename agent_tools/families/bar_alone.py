"""A run whose progress bar is full, and which prints nothing else of how it ended."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.e3_undertrained import FEW
from agent_tools.say import count, lacks, say
from agent_tools.verdict import Missing
from store import lazy

BLIND = 0.48
"""Highest confidence in health where GPU metrics ought to be there and are not, or nothing that the run printed is."""
_BAR = lazy.compile(r"\s*100%\|[^|]*\| *\d+/\d+ \[((?:\d+:)?\d+):\d\d<")


def full_bar(facts: Facts) -> RowView | None:
    """A bar without words of its own, minutes long, that is full and with which the log ends."""
    words = facts.table("end_words").first
    if words is None or not count(words, "bars") or count(words, "bar_line") < count(words, "last_line"):
        return None
    found = _BAR.match(words.text("bar_text"))
    return words if found and count(words, "bar_total") > FEW and found[1].strip("0:") else None


def by_bar(words: RowView, missing: list[Missing]) -> Assessment:
    """What is said of a run that is known to have come to its end by its bar alone."""
    return Assessment(
        "G1",
        "suspected",
        "healthy",
        BLIND,
        "none",
        "The run looks complete: its progress bar is full, and nothing stands after it.",
        say(f"The log ends with a progress bar at its end, {words['bar_total']} steps."),
        missing=[
            lacks("Whether the program ended well after its last step.", "its standard output, or sacct (slurm_job)"),
            *missing,
        ],
        counterfactual="A full progress bar is the only sign of completion.",
        actions=say("Look at the job's standard output, and at its state with sacct."),
    )
