"""A run that went on at a fraction of its pace from the moment on at which a link of one of its nodes grew slow or failed."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.link_words import ill_link, link_said, look_at_link
from agent_tools.families.wording import claim, missing

_SLOWER, _REPORTS = 1.5, 10
"""A late step over an early one, and reports of progress, of a run that grew slow for good and not for a moment."""
_FELL = 0.7
"""SM activity of all GPUs from then on over what it was before."""
_SLACK = timedelta(minutes=2)
_OFTEN, _LEAST_S = 5, 600.0
"""Times that a link goes down, and the time from the first to the last, of one that is ill and was not reset once."""
_LEAST = timedelta(minutes=10)
"""What has to lie before and behind such a moment to be compared."""


def slowed_by_link(facts: Facts) -> Assessment | None:
    """Both are asked: that steps take longer late than early, and that the GPUs work less since that very moment."""
    pace = facts.table("save_pace").first
    nodes = facts.overview.number("node_count") if facts.overview is not None else None
    if pace is None or (nodes or 0) < 2 or facts.beside is not None:
        return None
    if (pace.number("times_early") or 0) < _SLOWER or (pace.number("reports") or 0) < _REPORTS:
        return None
    ill = ill_link(facts)
    found = None
    if ill is not None and ill.has("since_ts") and (found := _less_since(facts, ill.text("since_ts"))) is not None:
        row, said = ill, link_said(ill)
    else:
        row = _one_nodes_event(facts)
        if row is None or (found := _less_since(facts, row.text("event_ts"))) is None:
            return _flapped(facts, pace) if not facts.table("gpu_spread") else None
        said = f"The link {row['device']} of {row['node']} is told of at {row['event_ts']}: {row['message']}"
    before, after = found
    result = Assessment("D2", "confirmed", "interconnect", 0.82, attribution="infrastructure")
    result.headline = f"The run became much slower as the link {row['device']} of {row['node']} got into trouble."
    result.speaks_for.append(claim(said))
    result.speaks_for.append(claim(f"A step took {pace['late_s']} late in the run, and {pace['early_s']} early in it."))
    result.speaks_for.append(
        claim(
            f"The median SM activity of the job's GPUs was {before['all_sm_median']} before that moment and {after['all_sm_median']} "
            "after it."
        )
    )
    text = (
        f"Every synchronised step waits for what crosses that link of {row['node']}: the fabric, and not the program."
    )
    result.implies.append(claim(text, "supported"))
    result.actions.append(look_at_link(row))
    return result


def _flapped(facts: Facts, pace: RowView) -> Assessment | None:
    """A link of one node that went down again and again, where nothing tells what the GPUs did meanwhile: a suspicion."""
    downs = facts.table("link_events").one_of("event", "down", "flap")
    of = Counter((r.text("node"), r.text("device")) for r in downs)
    if len({r.text("node") for r in downs}) != 1:
        return None
    most = max(of, key=lambda k: of[k])
    rows = [r for r in downs if (r.text("node"), r.text("device")) == most]
    first, last = rows[0], rows[-1]
    if len(rows) < _OFTEN or (first.number("before_end_s") or 0) - (last.number("before_end_s") or 0) < _LEAST_S:
        return None
    result = Assessment("D2", "suspected", "interconnect", 0.5, attribution="infrastructure")
    result.headline = f"The run became much slower, and the link {first['device']} of {first['node']} went down again and again meanwhile."
    result.speaks_for.append(
        claim(f"It went down first at {first['event_ts']} and last at {last['event_ts']}: {last['message']}")
    )
    result.speaks_for.append(claim(f"A step took {pace['late_s']} late in the run, and {pace['early_s']} early in it."))
    result.missing.append(
        missing("Whether the GPUs waited since then.", "SM and engine activity of every GPU (gpu_sample)")
    )
    result.implies.append(claim("Every synchronised step waits for what crosses that link.", "hypothesis"))
    result.actions.append(look_at_link(first))
    return result


def _one_nodes_event(facts: Facts) -> RowView | None:
    """The first word of a changed speed, an error burst or a link that went down and stayed so, where one node alone has any."""
    rows = facts.table("link_events").rows
    ill = [r for r in rows if r.text("event") in ("speed_change", "down", "error_burst")]
    if len({r.text("node") for r in ill}) != 1:
        return None
    back = {r.text("device") for r in rows if r.text("event") == "up" and r.text("node") == ill[0].text("node")}
    return next((r for r in ill if r.text("device") not in back), None)


def _less_since(facts: Facts, moment: str) -> tuple[RowView, RowView] | None:
    """What all GPUs did before and after, where it became clearly less and did not end."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if not begin or not end:
        return None
    at, start, stop = (datetime.fromisoformat(t.replace("Z", "+00:00")) for t in (moment, begin, end))
    if at - start < _LEAST or stop - at < _LEAST:
        return None
    before = facts.table("gpu_spread", from_ts=(at - _LEAST).isoformat(), to_ts=at.isoformat()).first
    after = facts.table("gpu_spread", from_ts=(at + _SLACK).isoformat(), to_ts=stop.isoformat()).first
    was, now = (r.number("all_sm_median") if r is not None else None for r in (before, after))
    if before is None or after is None or not was or now is None or not now or now > _FELL * was:
        return None
    return before, after
