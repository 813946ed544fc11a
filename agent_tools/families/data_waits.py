"""What a loop itself says of its waiting for data: enough of it to slow a run, and what to do about it."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.wording import claim, gpu_of
from agent_tools.verdict import Claim

_WAITING = 0.5
_FEW_REPORTS = 5
_MOSTLY, _LEAST, _FAR = 0.75, 3, 100
"""Share of the step time at which fewer reports will do, where each waited for more than half of its step and the last is of
a step so far: the loader's workers have long begun by then."""
_LITTLE = 0.35
"""A mean engine activity that is low for the busiest GPU of a run."""


def waited(facts: Facts) -> RowView | None:
    """The row of `data_waits` where the loop waited for most of its step time; None where it did not, or does not say."""
    row = facts.table("data_waits").first
    if row is None:
        return None
    reports, share = row.number("reports") or 0, row.number("share") or 0
    if reports < _FEW_REPORTS:
        steps = facts.progress.steps
        far = steps is not None and (steps.number("last_step") or 0) >= _FAR
        if not (far and reports == row.number("mostly") and reports >= _LEAST and share >= _MOSTLY):
            return None
    return row if share >= _WAITING else None


def waited_words(row: RowView) -> str:
    """How much it waited, as a sentence."""
    return f"By its own reports the loop waited for data in {row['share']} of its step time ({row['wait_s']} of {row['step_s']})."


def feed_first(facts: Facts) -> list[Claim]:
    """What a run that needs more time is told first, where its own reports say what took it."""
    row = waited(facts)
    if row is None:
        return _little_used(facts)
    text = f"Feed it faster first, with more loader workers, prefetch or data prepared beforehand: waiting took {row['share']} of a step."
    return [claim(text, "supported")]


def _little_used(facts: Facts) -> list[Claim]:
    """The same by its GPUs, where all of them did little."""
    known = [r for r in facts.table("gpu_summary") if r.has("engine_mean")]
    if not known or facts.beside is not None or facts.silent_gpus is not None or facts.cold:
        return []
    top = max(known, key=lambda r: r.number("engine_mean") or 0.0)
    if (top.number("engine_mean") or 0.0) >= _LITTLE:
        return []
    text = (
        f"Make it faster before it is made longer: its busiest GPU, {gpu_of(top)}, worked {top['engine_mean']} of the time. Look at "
        "what the loop does between its steps."
    )
    return [claim(text, "supported")]
