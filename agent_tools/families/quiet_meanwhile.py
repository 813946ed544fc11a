"""A job that still runs has no end to count its silence from: the last sample of its GPUs says until when it was watched."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

_LONG_S, _TIMES = 900.0, 20.0
"""A silence that is long, and how many of the usual pauses it has to outlast."""
_SURE = 0.82


def no_report_since(facts: Facts, result: Assessment) -> None:
    """Say since when a running job whose GPUs only spin has reported no progress, where its log carries times."""
    last = max((r.text("last_ts") for r in facts.table("gpu_summary")), default="")
    quiet = facts.table("quiet_now", now_ts=last).first if last else None
    if quiet is None:
        return
    quiet_s, usual_s = quiet.number("quiet_s") or 0.0, quiet.number("usual_gap_s")
    if usual_s is None or quiet_s < max(_LONG_S, _TIMES * usual_s):
        return
    result.confidence = max(result.confidence, _SURE)
    result.headline = f"Training has stood still for {quiet['quiet_min']}, and its GPUs only spin."
    text = f"The last training report came at {quiet['progress_ts']}, {quiet['quiet_min']} before the last sample of the GPUs; usually one came after {quiet['usual_gap_s']}."
    result.speaks_for.insert(0, claim(text))
    result.missing = [
        missing(
            "Whether the ranks were stuck in a collective, and which rank held the others up.",
            "nccl_sample, or a flight recorder dump",
        )
    ]
