"""B2 by the trainer's own check: a step that was run again gave another result, so that a GPU may compute wrongly."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing


def recomputed(facts: Facts) -> Assessment | None:
    """What Megatron says of a result that another run of the same step did not bear out; None where it says nothing.

    It prints this, and so could anything: the GPU is named, and hardware is not blamed on it alone.
    """
    rows = facts.table("other_events").one_of("name", "miscomputed")
    if not rows:
        return None
    lasting = [r for r in rows if "persistent" in r.text("message")]
    row = (lasting or rows)[0]
    result = Assessment("B2", "confirmed" if lasting else "suspected", attribution="undetermined")
    result.confidence = 0.6 if lasting else 0.4
    result.headline = f"A step gave another result when it was run again{' on another GPU' if lasting else ''}: {row['peer']} may compute wrongly."
    result.speaks_for.append(claim(f"The trainer says: {row['message']} ({row['file']} line {row['line_no']})."))
    result.implies.append(
        claim(
            "The data and the weights of that step were the same both times, so they did not make the difference.",
            "supported",
        )
    )
    result.missing.append(
        missing(
            "Whether that GPU is at fault, or kernels that are not deterministic.",
            "the driver's counters and XIDs of that GPU (gpu_event, gpu_sample), a run of the vendor's diagnostics on it",
        )
    )
    result.actions.append(
        claim(
            "Keep that GPU out of the next run and have it tested (dcgmi diag); go on from the checkpoint that was saved."
        )
    )
    result.counterfactual = result.headline
    return result
