"""What is said of a link of one node that was down, slow or in error while the same link of the job's other nodes was not."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim
from agent_tools.verdict import Claim

_CUT_S = 180.0
"""Between a link that fails and what the ranks notice of it: a look of the exporter's, a report of progress."""
_UP_AGAIN_S = 120.0
"""A port that comes back as fast is one that what was in flight survives, or fails at once."""
_SHORTLY = timedelta(hours=1)
"""Before a start in which a link that went down, and stayed so, is why the ranks do not meet."""


def ill_link(facts: Facts, *troubles: str) -> RowView | None:
    """The link that was worst off in the run by its samples; only these kinds of trouble where some are given."""
    if not facts.scope["nodes"] or not facts.scope["from_ts"] or not facts.scope["to_ts"]:
        return None
    rows = facts.table("link_health")
    return next((r for r in rows if not troubles or r.text("trouble") in troubles), None)


def link_said(row: RowView) -> str:
    """What the samples of such a link say, compared with the others."""
    port = f" port {row['port']}" if row.has("port") else ""
    since = f" from {row['since_ts']} on" if row.has("since_ts") else " from its first sample in the run on"
    name = f"{row['device']}{port} of {row['node']}"
    if row.text("trouble") == "down":
        return f"The link {name} was {row['state']}{since}; on most of the other {row['others']} nodes it was up."
    if row.text("trouble") == "slow":
        text = f"The link {name} ran at {row['rate_gbps']}{since}; the others' at {row['others_gbps']}."
        return f"{text} It counted {row['errors']} errors." if (row.number("errors") or 0) > 0 else text
    return f"The link {name} counted {row['errors']} errors in the run, the others' next to none."


def look_at_link(row: RowView) -> Claim:
    """What to do about it."""
    return claim(
        f"Have the cable, port and switch of {row['device']} on {row['node']} looked at, and rerun without that node."
    )


def cut_by_link(facts: Facts, stood_s: list[float], slack_s: float = 0.0) -> RowView | None:
    """The link event at which the ranks came to a standstill: a link that went down then, and was not soon up again.

    `stood_s` are the times before the end at which the standstill may have begun, as the watchdog and the log tell them.
    """
    events = [r for r in facts.table("link_events") if r.has("before_end_s")]
    for row in events:
        before = row.number("before_end_s") or 0.0
        if row.text("event") not in ("down", "error_burst") or before < 0:
            continue
        if not any(abs(before - s) <= max(_CUT_S, slack_s) for s in stood_s):
            continue
        back = [
            r
            for r in events
            if r.text("event") == "up"
            and r.text("node") == row.text("node")
            and r.text("device") in (row.text("device"), "")
            and 0 <= before - (r.number("before_end_s") or 0.0) <= _UP_AGAIN_S
        ]
        if not back:
            return row
    return None


def by_link(row: RowView, result: Assessment) -> None:
    """Lay a standstill at the link that failed as it began."""
    result.attribution = "infrastructure"
    result.implies.append(
        claim(
            f"The ranks stopped as that link of {row['node']} failed, and it did not come back: the fabric is the likeliest cause, "
            "and not the program.",
            "supported",
        )
    )


def down_at_start(facts: Facts, result: Assessment) -> Assessment:
    """Lay a start at which the ranks did not meet at a link of one node that was down by then and did not come back."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if result.attribution != "undetermined" or not begin or not end or not facts.scope["nodes"]:
        return result
    since = (datetime.fromisoformat(begin.replace("Z", "+00:00")) - _SHORTLY).isoformat()
    events = facts.table("link_events", from_ts=since, to_ts=end).rows
    last = {(r.text("node"), r.text("device")): r for r in events if r.text("event") in ("up", "down")}
    down = [r for r in last.values() if r.text("event") == "down"]
    nodes = {r.text("node") for r in down}
    if facts.overview is not None and facts.overview.number("node_count") == 1:
        return result
    if down and len(nodes) == 1:
        row = down[0]
        said = f"The link {row['device']} of {row['node']} went down at {row['event_ts']} and did not come back: {row['message']}"
    elif not down and (row := _down_all_along(facts)) is not None:
        said = link_said(row)
    else:
        return result
    result.attribution = "infrastructure"
    result.speaks_for.append(claim(said))
    result.implies.append(
        claim(f"The ranks on {row['node']} most likely could not reach the others over that link.", "supported")
    )
    result.actions.insert(0, look_at_link(row))
    return result


def _down_all_along(facts: Facts) -> RowView | None:
    """A link that was down from its first sample in the run to the last, on one node alone."""
    if ill_link(facts, "down") is None:
        return None
    rows = facts.table("link_health").where(lambda r: r.text("trouble") == "down" and not r.has("since_ts"))
    return rows[0] if rows and len({r.text("node") for r in rows}) == 1 else None
