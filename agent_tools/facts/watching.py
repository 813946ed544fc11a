"""Did somebody look at the run to its end? Samples that stop early say nothing of most of it."""

from __future__ import annotations

from datetime import datetime

from agent_tools.facts.views import RowView, View

_MOST = 0.6
"""Share of a run that samples have to cover before they say what the run was like."""


def silent_since(overview: RowView | None, samples: View) -> RowView | None:
    """The row (with last_ts) that was sampled last, where that was before most of the run was over; None otherwise."""
    rows = samples.where(lambda r: r.has("last_ts"))
    if overview is None or not rows or not overview.has("start_ts") or not overview.number("elapsed_s"):
        return None
    last = max(rows, key=lambda r: r.text("last_ts"))
    seen = (_time(last.text("last_ts")) - _time(overview.text("start_ts"))).total_seconds()
    return last if seen < _MOST * (overview.number("elapsed_s") or 0) else None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
