"""What a run's GPU metrics leave open of its health, where none tells work from waiting or they end before it: a cap of the confidence, and
what is missing."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.worked import lone_worker
from agent_tools.families.bar_alone import BLIND
from agent_tools.say import lacks
from agent_tools.verdict import Missing

_UNTOLD = 0.65
"""Highest confidence in the health of a run whose GPUs' metrics would have looked the same in a slow one, or ended just before it."""
_SIGNAL = "SM activity of every GPU (gpu_sample)"


def left_open(facts: Facts) -> list[tuple[float, Missing]]:
    """Highest confidence and missing signal of each question that is open; to be asked only where no metric shows real work."""
    found: list[tuple[float, Missing]] = []
    if lone_worker(facts) is not None:
        found.append((BLIND, lacks("Whether a single GPU held all others up.", _SIGNAL)))
    lapsed = next(
        (r for r in facts.table("coverage_nodes") if r.text("table") == "gpu_sample" and r.has("lapsed_ts")), None
    )
    if lapsed is not None:
        open_ = f"What the GPUs did in the run: what watched them had ended at {lapsed['lapsed_ts']}, before it began."
        found.append((_UNTOLD, lacks(open_, "GPU metrics (gpu_sample)")))
    watched = facts.has("gpu_sample") and facts.beside is None
    gpus: list[RowView] = [*facts.table("gpu_summary")] if watched else []
    if gpus and not any(r.has("engine_mean") for r in gpus):
        # Input that comes too slowly leaves temperature and memory as they are.
        found.append((_UNTOLD, lacks("How busy the GPUs were, and whether they stood still between steps.", _SIGNAL)))
    elif len(gpus) > 1 and not facts.table("gpu_spread"):
        # A slow network and a slow peer keep the engines of all as busy; a single GPU waits for no other.
        found.append((_UNTOLD, lacks("Whether the GPUs computed or waited for each other.", _SIGNAL)))
    return found
