"""A run that did its work on the CPU, by what its framework or the program says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tools.facts.views import RowView

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts

_NOTHING = 0.02
"""Mean activity of a GPU on which a context and a monitor are all there is."""
_OWN = {"lightning": {"lightning"}, "tensorflow": {"keras", "tensorflow"}, "jax": {"maxtext", "clu"}}
"""Libraries that are loaded beside what trains, too: their word counts where the progress is theirs."""
_ANY_LOOP = {"loop", "plain", "plain-loop", "custom-pipe", "tqdm"}
"""Progress that says nothing of who prints it."""


class OnCpu(NamedTuple):
    """The line that says so, and whether it is surely the training's."""

    row: RowView
    sure: bool


def on_cpu(facts: Facts) -> OnCpu | None:
    """The surest line that says so; None where there is none, or anything shows a GPU at work: a sample, a collective, a full card.

    That a program names the CPU as its device counts where Slurm gave the job GPUs; where it gave none there was nothing to use.
    """
    rows = facts.table("cuda_errors").one_of("name", "on_cpu")
    steps = facts.progress.steps
    if not rows or steps is None or facts.table("nccl_events") or facts.table("oom_events"):
        return None
    given = facts.overview.number("gpus") if facts.overview is not None and facts.overview.has("gpus") else None
    if given == 0 or (
        facts.has("gpu_sample") and facts.beside is None and any(map(_worked, facts.table("gpu_summary")))
    ):
        return None
    by, said = steps.text("framework"), {r.text("code"): r for r in rows}
    for code, row in said.items():
        if code in ("torch", "program") or by in _OWN.get(code, ()) or (code == "device" and given):
            return OnCpu(row, True)
    # Few load JAX's devices without computing on them; an unused TensorFlow beside PyTorch says its word at every import.
    return OnCpu(said["jax"], False) if "jax" in said and by in _ANY_LOOP else None


def _worked(gpu: RowView) -> bool:
    return any((gpu.number(c) or 0.0) > _NOTHING for c in ("engine_mean", "sm_mean"))
