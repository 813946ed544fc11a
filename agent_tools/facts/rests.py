"""Whether the job's GPUs worked up to a moment and never again: a trouble that begins as they come to rest is why they do."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_tools.facts.core import Facts

_BEFORE, _AFTER = timedelta(minutes=20), timedelta(minutes=4)
_LEAST = timedelta(minutes=15)
"""A rest that is shorter may be a pause."""
_WORK, _NONE = 0.1, 0.08
"""Mean SM activity of GPUs that work, and of GPUs that wait in a collective or do nothing."""


def rest_since(facts: Facts, moment: str) -> bool:
    """By SM activity: work in the twenty minutes before, none from four minutes after to the end; of GPUs that were watched to it."""
    end = facts.scope["to_ts"]
    if not end or not moment or facts.beside is not None or facts.silent_gpus is not None:
        return False
    at, stop = _time(moment), _time(end)
    if stop - at < _LEAST:
        return False
    before = facts.table("gpu_spread", from_ts=(at - _BEFORE).isoformat(), to_ts=at.isoformat()).first
    after = facts.table("gpu_spread", from_ts=(at + _AFTER).isoformat(), to_ts=stop.isoformat()).first
    if before is None or after is None:
        return False
    return (before.number("all_sm_median") or 0.0) >= _WORK and (after.number("all_sm_max") or 0.0) <= _NONE


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
