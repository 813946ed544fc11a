"""A run that had GPUs and did its work on the CPU, by what its framework or the program says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tools.facts.views import RowView

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts

_NOTHING = 0.02
"""Mean activity of a GPU on which a context and a monitor are all there is."""


def on_cpu(facts: Facts) -> RowView | None:
    """The line that says so, where no sample shows a GPU at work; None where nothing does.

    A framework that falls back says it of itself. That a program names the CPU as its device counts where Slurm gave the job GPUs;
    where it gave none there was nothing to use.
    """
    rows = facts.table("cuda_errors").one_of("name", "on_cpu")
    if not rows or not facts.progress.begun:
        return None
    given = facts.overview.number("gpus") if facts.overview is not None and facts.overview.has("gpus") else None
    if given == 0 or any(_worked(r) for r in _sampled(facts)):
        return None
    return next((r for r in rows if r.text("code") == "framework" or given), None)


def _worked(gpu: RowView) -> bool:
    return any((gpu.number(c) or 0.0) > _NOTHING for c in ("engine_mean", "sm_mean"))


def _sampled(facts: Facts) -> list[RowView]:
    return list(facts.table("gpu_summary")) if facts.has("gpu_sample") and facts.beside is None else []
