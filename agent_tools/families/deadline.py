"""A job that Slurm ended before it ran, because it could no longer be over by its deadline (sbatch --deadline)."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, say


def too_late(facts: Facts) -> bool:
    """Whether the job was ended at its deadline without having run."""
    o = facts.overview
    return o is not None and facts.state == "DEADLINE" and not count(o, "elapsed_s") and not facts.progress.begun


def never_ran(overview: RowView) -> Assessment:
    """A4 for a job that waited, or was about to start, when its time limit came to reach past its deadline."""
    shows = [f"Slurm recorded the end as {overview['state']}, and the job never ran."]
    if overview.has("submit_line"):
        shows.append(f"It was submitted with: {overview['submit_line']}")
    if overview.has("time_limit_min"):
        shows.append(f"Its time limit was {overview['time_limit_min']}.")
    return Assessment(
        "A4",
        "confirmed",
        "pending",
        0.9,
        "user",
        "The job never ran: Slurm ended it because it could not be over by its deadline.",
        say(*shows),
        implies=say(
            "Slurm counts with the whole time limit: what is left until the deadline has to be as long as that, from the start.",
            status="supported",
        ),
        missing=[lacks("What it waited for, if it did.", "the Reason of squeue while it waited (slurm_job_event)")],
        actions=say("Submit it again with a later --deadline, or with a shorter --time (or --time-min)."),
    )
