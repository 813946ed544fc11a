"""D3, straggler: one rank is slower than the others in every step, and all of them wait for it.

FOR      one GPU's SM activity far above the others', which spin in the collective meanwhile
AGAINST  engine activity (waiting ranks spin); throttling of that GPU (B3 explains it); uniform slowness (D1, D2)
DECIDES  SM activity of every GPU of the job
"""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, gpu_of, missing, whose

CODE = "D3"
EXPLAINS = ("D1", "D2", "F3", "G1")


def assess(facts: Facts) -> Assessment:
    """Judge D3 from how SM activity spreads over the job's GPUs."""
    row = facts.table("gpu_spread").first
    if row is None:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="No SM activity was recorded, so no GPU can be told from the others.",
            missing=[missing("Whether some rank is slower than the others.", "SM activity of every GPU (gpu_sample)")],
        )
    if (row.number("gpus") or 0) < 2:
        return Assessment(
            CODE, "ruled_out", counterfactual="The job held a single GPU, so nothing can lag behind others."
        )
    times = row.number("times_peers") or 0
    text = (
        f"SM activity is even: the highest is {row['sm_mean']} ({gpu_of(row)}), the median of the others "
        f"{row['peer_sm_median']}."
    )
    steps = facts.progress.steps
    if steps is not None and (steps.number("last_step") or steps.number("reports") or 0) < 20:
        return Assessment(CODE, "ruled_out", counterfactual="Too few steps were made to tell a slow rank from a start.")
    spinning = (row.number("peer_engine_median") or 0) > 0.8
    if times < 1.8 or not spinning or (row.number("peer_sm_max") or 0) > 0.8 * (row.number("sm_mean") or 0):
        return Assessment(CODE, "ruled_out", counterfactual=text)
    result = Assessment(CODE, "confirmed" if times >= 2.2 else "suspected", attribution="undetermined")
    result.confidence = 0.88 if times >= 2.2 else 0.45
    result.headline = f"A single rank holds the others up: {gpu_of(row)}."
    result.speaks_for.append(
        claim(
            f"{gpu_of(row)} has a mean SM activity of {row['sm_mean']}, the median of the others is "
            f"{row['peer_sm_median']} ({row['gpus']} GPUs in all)."
        )
    )
    result.speaks_for.append(
        claim(f"The others spin meanwhile: their median engine activity is {row['peer_engine_median']}.")
    )
    if facts.beside is not None:
        result.status, result.confidence = "suspected", 0.35
        result.missing.append(whose())
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"The run advances: {facts.progress.phrase}."))
    result.implies.append(claim("Every synchronised step goes at the pace of this rank; the other GPUs wait for it."))
    result.missing.append(
        missing(
            "Why it is slow: the GPU, its data, NUMA or PCIe placement, or the host's load.",
            "clocks and PCIe of that GPU, load of that host, step times of every rank",
        )
    )
    result.actions.append(
        claim(f"Rerun without {row['node']}; if the slowness goes, have that GPU and host looked at.")
    )
    result.counterfactual = result.speaks_for[0].text
    return result
