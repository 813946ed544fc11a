"""Why one GPU is slower than its peers, as far as the node tells it: its PCIe link, or CPUs that something else takes."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.crowded import unlike_others
from agent_tools.families.faulted_gpus import same_gpu
from agent_tools.families.wording import claim, gpu_of

_REPLAYS, _FAR = 100.0, 10.0
"""Repeated PCIe transfers in a run that say something, and over those of the GPU with the next most."""


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
