"""A job that Slurm cancels, or never starts, because a job that it depends on did not end as the dependency demands."""

from __future__ import annotations

import re

from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, say
from store import lazy

CODE = "F4"

_DEPENDENCY = lazy.compile(
    r"DependencyNeverSatisfied|dependency (never|not) (be )?satisfied|kill_invalid_depend", re.IGNORECASE
)
_DEPENDS = lazy.compile(r"\s(?:--dependency(?:=|\s+)|-d\s*)[\"']?(?:after\w*|singleton|expand)\b")
"""A dependency among a submission's options."""


def never_met(overview: RowView, state: str) -> Assessment | None:
    """What accounting and the controller say of a dependency that can never be met; None where they say nothing of one."""
    if _DEPENDENCY.search(overview.text("state_reason")):
        return _named(overview, state)
    return _unnamed(overview) if _in_vain(overview, state) else None


def _named(overview: RowView, state: str) -> Assessment:
    shows = [f"Slurm gives the reason {overview['state_reason']} for the state {overview['state']}."]
    if overview.has("dependency"):
        shows.append(f"The dependency was {overview['dependency']}.")
    return Assessment(
        CODE,
        # While it is still pending the answer to "why does it not run" is A4's; a cancel for that reason is this family.
        "confirmed" if state == "CANCELLED" else "suspected",
        "dependency",
        0.96 if state == "CANCELLED" else 0.5,
        "scheduler",
        "The job can never run, because a job that it depends on did not end as the dependency demands.",
        say(*shows),
        implies=say("The cause lies in the job that it depends on.", status="supported"),
        missing=[lacks("Why that job failed.", "a verdict on the job that it depends on")],
        actions=say(
            "Find out why the job that it depends on failed, and submit both again.",
            "Use afterany instead of afterok where the follow-up shall run in any case.",
        ),
    )


def _in_vain(overview: RowView, state: str) -> bool:
    """Whether Slurm itself cancelled a job that waited for another: nobody asked for it, and it never ran.

    Accounting names whoever cancels, and of such a cancel by Slurm gives the reason Dependency at best. The controller names
    nobody at all: of a job that somebody cancelled it shows a start and a dependency that is still unfulfilled.
    """
    if state != "CANCELLED" or overview.has("cancelled_by") or count(overview, "elapsed_s"):
        return False
    start, end, waits_for = overview.text("start_ts"), overview.text("end_ts"), overview.text("dependency")
    if start and start != end:
        return False
    if "(failed)" in waits_for:
        return True
    if start and "(unfulfilled)" in waits_for:
        return False
    return (
        overview.text("state_reason") == "Dependency"
        or bool(waits_for)
        or bool(_DEPENDS.search(overview.text("submit_line")))
    )


def _unnamed(overview: RowView) -> Assessment:
    known = "(failed)" in overview.text("dependency")
    shows = [f"Slurm recorded the end as {overview['state']}, and nobody is named who asked for it."]
    shows.append(f"It had never run: {overview['elapsed_s']}." if overview.has("elapsed_s") else "It had never run.")
    if overview.text("state_reason") == "Dependency":
        shows.append(f"The reason for which it had waited is {overview['state_reason']}.")
    if overview.has("dependency"):
        shows.append(f"The dependency was {overview['dependency']}.")
    elif overview.has("submit_line"):
        shows.append(f"It was submitted by: {overview['submit_line']}")
    result = _named(overview, "CANCELLED")
    result.confidence = 0.93 if known else 0.85
    result.headline = (
        "Slurm cancelled the job before it ran: a job that it depends on did not end as the dependency demands."
    )
    result.speaks_for = say(*shows)
    if not known:
        result.missing = [
            lacks(
                "That the dependency could never be met.",
                "the reason DependencyNeverSatisfied of scontrol show job, while the controller knows the job",
            ),
            *result.missing,
        ]
    return result
