"""Why one GPU is slower than its peers, as far as its node tells it: its PCIe link, CPUs that something else takes, its clock."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.crowded import unlike_others
from agent_tools.families.faulted_gpus import same_gpu
from agent_tools.families.wording import claim, gpu_of, missing

_REPLAYS, _FAR = 100.0, 10.0
"""Repeated PCIe transfers in a run that say something, and over those of the GPU with the next most."""
_SEVERE, _FEW = 0.1, 0.25
"""Share of samples with a severe reason, from which on it is throttling; share of the GPUs that may be slow and stand apart."""


def why_slow(facts: Facts, row: RowView, result: Assessment) -> bool:
    """Name a cause that lies with the node; True where that decides it."""
    replays = sorted(
        facts.table("gpu_counter_rises").one_of("counter", "pcie_replays"), key=lambda r: -(r.number("rise") or 0.0)
    )
    if replays and same_gpu(replays[0], row):
        most = replays[0].number("rise") or 0.0
        next_most = (replays[1].number("rise") or 0.0) if len(replays) > 1 else 0.0
        if most >= _REPLAYS and most >= _FAR * next_most:
            _by_pcie(replays[0], result)
            return True
    unlike_others(facts, row.text("node"), result)
    return False


def _by_pcie(row: RowView, result: Assessment) -> None:
    result.attribution = "infrastructure"
    result.speaks_for.append(
        claim(f"{gpu_of(row)} had to repeat {row['rise']} PCIe transfers in the run, and the others next to none.")
    )
    result.implies.append(
        claim(
            "Its PCIe link is bad, so what it loads and sends comes late: the slot, riser or card, not the program.",
            "supported",
        )
    )
    result.actions.append(
        claim(
            f"Take {gpu_of(row)} out of service and have its PCIe link looked at (width, generation, riser); rerun elsewhere."
        )
    )


def low_alone(facts: Facts) -> Assessment | None:
    """D3 by a card, or a few, at work at far less than the others' clock, for which the driver tells no severe reason. A suspicion.

    Where no reasons were sampled that is B3's to suspect.
    """
    low, steps = facts.table("gpu_low_clocks").first, facts.progress.steps
    bits = [r.number("severe_throttle_share") for r in facts.table("gpu_summary") if r.has("severe_throttle_share")]
    if low is None or not bits or any((b or 0.0) >= _SEVERE for b in bits) or facts.beside is not None:
        return None
    if steps is None or facts.progress.few or (low.number("slowed") or 0) > _FEW * (low.number("gpus_watched") or 0):
        return None
    text = (
        f"In {low['low_minutes']} of its {low['busy_minutes']} minutes at work the SM clock of {gpu_of(low)} was "
        f"{low['clock_low_mhz']}; the full clock is {low['clock_full_mhz']}."
    )
    result = Assessment("D3", "suspected", confidence=0.45, attribution="undetermined", counterfactual=text)
    result.headline = f"{gpu_of(low)} works at far less than the clock of the others, and may hold them up."
    result.speaks_for += [claim(text), claim("The driver's samples tell no severe reason to lower clocks.")]
    result.missing.append(
        missing(
            "Why its clock is low, and what that costs.",
            "application clocks and power limit (nvidia-smi -q), step times of every rank",
        )
    )
    result.warnings.append(claim(f"{result.headline} {text}", "supported"))
    return result
