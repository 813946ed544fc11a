"""GPUs of one node that wait for each other: no network lies between them, but NVLink, PCIe, or the host's memory.

NCCL says which of them it uses where it is asked to (NCCL_DEBUG=INFO): `via P2P` is direct, `via SHM` goes through the host's
memory, and `via NET` through a network card although both GPUs are in one machine.
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

_TOLD, _MEASURED, _SEEN = 0.88, 0.8, 0.65
"""Confidence where NCCL names the detour; where calls or collectives show the wait; where nothing but the GPUs' activity does."""
_IN_CALLS = 0.6
"""Share of the time that a process spends in API calls when it waits for its collectives."""
_DETOUR = lazy.compile(r"\bvia (?:SHM|NET)\b")
_OFF = lazy.compile(
    r"NCCL_(?:P2P_DISABLE|SHM_DISABLE)\b.*?\bto \"?[1-9]|NCCL_P2P_LEVEL\b.*?\bto \"?(?:LOC|0)\b", re.IGNORECASE
)


def on_one_node(facts: Facts) -> bool:
    """Whether accounting says that the job ran on a single node."""
    return facts.overview is not None and facts.overview.number("node_count") == 1


def waiting(facts: Facts, spread: RowView) -> Assessment:
    """What is said of GPUs that spin in collectives which advance, all in one node (`spread`: the row of `gpu_spread`)."""
    told = facts.table("log_events", kind="nccl_info", pattern="via (SHM|NET)|NCCL_(P2P|SHM)_").rows
    detour = next((r for r in told if r.text("name") == "channel" and _DETOUR.search(r.text("message"))), None)
    setting = next((r for r in told if r.text("name") == "env" and _OFF.search(r.text("message"))), None)
    calls = facts.table("cuda_activity").where(lambda r: (r.number("api_share") or 0) > _IN_CALLS)
    moving = facts.table("nccl_progress").where(lambda r: (r.number("completed_late") or 0) > 0)
    named = detour or setting
    result = Assessment("D2", "confirmed", "interconnect")
    result.confidence = _TOLD if named else _MEASURED if calls or moving else _SEEN
    # A setting of the job's own closes the direct way; else it is how the machine is built or what is wrong with it.
    result.attribution = "job" if setting else "infrastructure"
    result.headline = "The GPUs within the node wait for each other: they spin in collectives that advance slowly."
    if detour is not None:
        by = "a network card" if "via NET" in detour.text("message") else "the host's memory"
        result.headline = f"The GPUs within the node exchange through {by} instead of directly, and wait for it."
    result.speaks_for.append(
        claim(
            f"Over {spread['used']} GPUs of a single node the lowest engine activity is {spread['all_engine_min']} while the "
            f"highest SM activity is {spread['all_sm_max']}."
        )
    )
    for row in (detour, setting):
        if row is not None:
            result.speaks_for.append(claim(f"NCCL says: {row['message']} ({row['file']} line {row['line_no']})."))
    if calls:
        result.speaks_for.append(
            claim(f"Process {calls[0]['pid']} spends {calls[0]['api_share']} of its time in API calls.")
        )
    if moving:
        result.speaks_for.append(
            claim(f"Collectives went on to the end: {moving[0]['completed_late']} were completed in the last minutes.")
        )
    if not named:
        result.missing.append(
            missing(
                "Which way the data takes between the GPUs: NVLink, PCIe, or the host's memory.",
                "NCCL's own words (NCCL_DEBUG=INFO: via P2P, via SHM), NVLink and PCIe traffic (gpu_sample)",
            )
        )
    if not (named or calls or moving):
        result.missing.append(
            missing(
                "Whether they wait for each other, or run kernels that are too small for them.",
                "collectives and their times (nccl_sample), time in calls (cuda_sample)",
            )
        )
    result.actions.append(
        claim(
            "Unset the variable that forbids NCCL the direct way between GPUs, if nothing needs it."
            if setting
            else "Look at nvidia-smi topo -m and nvidia-smi nvlink -s on that node, and rerun with NCCL_DEBUG=INFO: via P2P is direct, "
            "via SHM goes through the host's memory (a setting that forbids the direct way, IOMMU and ACS in virtual machines, containers without shared IPC)."
        )
    )
    return result
