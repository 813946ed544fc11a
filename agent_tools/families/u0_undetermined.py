"""U0, undetermined: what is there does not decide, and the verdict says which signal would.

FOR      no other family is confirmed or well suspected
AGAINST  any family that is
DECIDES  nothing: its confidence is the probability that no careful reader could say more
"""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.steps import failed_steps, step_words
from agent_tools.facts.worked import instant
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from agent_tools.verdict import Claim

CODE = "U0"
EXPLAINS: tuple[str, ...] = ()


def assess(facts: Facts) -> Assessment:
    """Say what is there, and what is not."""
    result = Assessment(CODE, "suspected", confidence=0.6, attribution="undetermined")
    result.headline = "What is known does not decide what happened to the job."
    if facts.overview is not None and facts.overview.has("state"):
        o = facts.overview
        result.speaks_for.append(claim(f"Slurm records the state {o['state']}."))
    elif facts.has_log:
        extent = facts.table("log_extent").first
        if extent is not None:
            result.speaks_for.append(
                claim(f"The log {extent['file']} has {extent['lines']} lines and ends with: {extent['last_text']}.")
            )
    elif facts.has("host_event"):
        result.speaks_for += _kernel(facts)
    steps = failed_steps(facts, of_any=not facts.has_log)
    if steps and facts.ending.succeeded:
        result.headline = f"Slurm records the job as completed, but its {step_words(steps[0])}."
        result.missing.append(missing("Why that step failed.", "what the step itself printed (log_line)"))
        result.actions.append(claim(_STOP, "supported"))
    if steps:
        result.speaks_for += [claim(f"By accounting, {step_words(step)}.") for step in steps[:4]]
    if facts.ending.succeeded and instant(facts) and facts.overview is not None:
        result.headline = f"Slurm records the job as completed after {facts.overview['elapsed_s']}, and nothing shows that it did any work."
        result.missing.append(missing("What it was meant to do.", "the batch script, and what the program printed"))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    if (cut := facts.cut_short) is not None:
        result.headline = f"The program raised an exception that the log does not show: it ends {cut.cut_in}."
        result.missing.append(missing("Which exception it was, and whether steps came before it.", "the whole log"))
    if facts.wrapped_only:
        first = facts.raised[0]
        result.speaks_for.append(
            claim(f"The only exceptions are wrappers or echoes of another failure: {first.name_ref}.")
        )
    exits = facts.table("slurm_messages").where(lambda r: r.text("name") == "task_exit" and bool(r.number("exit_code")))
    if exits and steps:
        result.speaks_for.append(claim(f"srun reports it: {exits[0]['message']}."))
    elif exits:
        result.headline = "A task ended with an error status, and what it printed of the reason is not here."
        result.speaks_for.append(claim(f"srun reports it: {exits[0]['message']}."))
        result.missing.append(missing("Why that task ended.", "its own output: the step's or the rank's log file"))
    elif facts.has_log and facts.ending.failed and not facts.raised:
        result.missing.append(
            missing(
                "Why it ended: the log that is there gives no reason.",
                "the whole of the job's output, of every rank and to its end (log_line)",
            )
        )
    for table, text, signal in _WANTED:
        if not facts.has(table):
            result.missing.append(missing(text, signal))
    result.actions.append(
        claim(
            "Add the missing sources that are named below and ask again; the whole log decides most cases.", "supported"
        )
    )
    result.counterfactual = "Another family accounts for what is seen."
    return result


def _kernel(facts: Facts) -> list[Claim]:
    """What the kernel says where nothing else is there; what the driver says of GPUs is told beside every verdict."""
    told = [*facts.table("host_events"), *facts.table("link_events")]
    if not told and not facts.table("gpu_events"):
        return [claim("The kernel log that is there tells of no fault, kill or stall.")]
    return [claim(f"The kernel log tells of {row['event']}: {row['message']}.") for row in told[:4]]


_STOP = "Look at that step's own output; with set -e in the batch script the job ends where a step fails."
_WANTED = (
    ("log_line", "What the program printed.", "the job's standard output and error (logs/)"),
    ("slurm_job", "How Slurm recorded the end: state, exit status, time limit.", "sacct or scontrol show job (slurm/)"),
    ("gpu_sample", "Whether the GPUs worked, were full, or stood still.", "GPU metrics of the job's nodes (metrics/)"),
    ("gpu_event", "Whether the driver reported a GPU fault.", "kernel logs of the job's nodes (kernel/)"),
    ("slurm_node_state", "Whether a node went down.", "sacctmgr show event or scontrol show node (slurm/)"),
)
