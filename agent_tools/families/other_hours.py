"""All of a job's GPUs unused, by their samples: its work was done elsewhere, or the samples are of other hours than its own."""

from __future__ import annotations

from agent_tools.facts.views import RowView
from agent_tools.say import lacks, say
from agent_tools.verdict import Claim, Missing


def done_elsewhere(idle: RowView | None) -> list[Claim]:
    """Where the work was done; nothing where GPUs were used."""
    text = "Its work was the CPU's: a program that fell back to it, or that needs no GPU."
    return say(text, status="hypothesis") if idle is not None else []


def of_other_hours(idle: RowView | None) -> list[Missing]:
    """Accounting prints the cluster's own time and no zone with it, and exporters give exact times."""
    if idle is None:
        return []
    text = (
        "Whether the samples of its GPUs are of its own hours: if Slurm's times are of another zone they are of others."
    )
    return [lacks(text, "the cluster's zone (--timezone), or the job's processes and their GPUs (process)")]
