"""A time limit that srun was given for a step, in a job whose own limit did not end it: part of F3."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, say


def of_step(facts: Facts) -> RowView | None:
    """The step that its own limit ended, where the job's did not end the job."""
    if facts.state not in ("COMPLETED", "FAILED") or not facts.has("slurm_step"):
        return None
    rows = facts.table("job_steps").where(lambda r: r.text("step_id").isdigit() and r.text("state") == "TIMEOUT")
    return max(rows, key=lambda r: count(r, "elapsed_s"), default=None)


def by_step(facts: Facts, overview: RowView, step: RowView, shows: list[str]) -> Assessment:
    """A limit that srun was given for a step: it is the verdict where that step was most of the job."""
    name = f" ({step['name']})" if step.has("name") else ""
    ended = f"By accounting, step {step['step_id']}{name} ended as {step['state']}, and the job as {overview['state']}."
    if count(step, "elapsed_s") <= count(overview, "elapsed_s") / 2:
        return Assessment(
            "F3", "ruled_out", confidence=0.03, counterfactual=f"{ended} That step was the smaller part of the job."
        )
    after = "its script then ended well" if facts.state == "COMPLETED" else "the job failed with it"
    return Assessment(
        "F3",
        "confirmed",
        None,
        0.85,
        "job",
        f"Step {step['step_id']}{name}, most of the job, was ended at a time limit of its own; {after}.",
        say(ended, *shows),
        implies=say("The limit is the step's (srun --time), not the job's.", status="supported"),
        missing=[lacks("Whether the step was slow or stuck by then.", "progress lines with time stamps, GPU metrics")],
        actions=say(
            "Give the step a longer --time, or none: then the job's limit holds.",
            "Let the script end with the status of its step (set -e): the job is called completed otherwise.",
        ),
    )
