"""A GPU that a rank does not find on its node, though the same program found as many on the job's other nodes, or it was lost before."""

from __future__ import annotations

import re

from agent_tools.facts import Facts, RowView
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.faulted_gpus import event_said
from agent_tools.families.faults_around import faults_before
from agent_tools.families.wording import claim, missing
from store import lazy

_NO_SUCH = lazy.compile(r"invalid device ordinal|CUDA_ERROR_INVALID_DEVICE", re.IGNORECASE)
_OPEN = 0.75
"""Highest confidence where nothing but the error itself says that the node lacks one."""


def tell_lacking_gpu(facts: Facts, cause: Raised, result: Assessment) -> bool:
    """Write down that one node has fewer GPUs than the job was given there; False where the program may as well count wrongly."""
    by = facts.table("raised_by", name=cause.name).first if _NO_SUCH.search(cause.message) else None
    o = facts.overview
    nodes, gpus = (o.number(c) if o is not None else None for c in ("node_count", "gpus"))
    if by is None or not nodes or not gpus:
        return False
    low, high, per = int(by.number("lowest") or 0), int(by.number("highest") or 0), int(gpus // nodes)
    place = facts.table("rank_place", rank=low).first
    if not per or low // per != high // per or place is None or not place.has("node"):
        return False
    if place.text("known_by") == "task":
        return False  # a task of srun's, which need not be the rank
    lost = next(iter(faults_before(facts, place.text("node"))), None)
    if lost is None and (
        nodes < 2 or by.number("ranks") == per
    ):  # alone, or where none finds its own: as well the job's numbering
        return False
    result.mode = "env"
    _say(place, nodes > 1, lost, result)
    return True


def _say(place: RowView, others: bool, lost: RowView | None, result: Assessment) -> None:
    result.headline = (
        f"The job crashed before training began: {place['node']} has fewer GPUs than the ranks there look for."
    )
    if others:
        result.speaks_for.append(
            claim(f"It was raised on {place['node']} alone; the ranks of the other nodes found theirs.")
        )
    result.attribution = "infrastructure" if lost is not None else "undetermined"
    if lost is not None:
        result.speaks_for.append(claim(f"{lost['before_end_s']} before the run began: {event_said(lost)}"))
        text = "A GPU of that node was lost before the job came to it, and Slurm gave it out all the same."
    else:
        result.confidence = min(result.confidence, _OPEN)
        text = (
            "A GPU of that node is missing, or was not given to the job there: the program counts alike on every node."
        )
        result.missing.append(
            missing(
                f"How many GPUs {place['node']} has, and how many the job was given there.",
                "nvidia-smi on that node, its kernel log (gpu_event), scontrol show job -d",
            )
        )
    result.implies.append(claim(text, "supported"))
    result.actions.append(
        claim(f"Resubmit without {place['node']}, and have its GPUs counted (nvidia-smi -L) and the node drained.")
    )
