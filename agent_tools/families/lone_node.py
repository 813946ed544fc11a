"""A file that is missing, or a file system or host that does not answer, on one node of several only: where the others can read it,
the program's path is right and that node's mount or network is not, or whoever copied the file left the node out."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.lacking_gpu import tell_lacking_gpu
from agent_tools.families.wording import claim, missing
from store import lazy

_ABSENT = lazy.compile(
    r"No such file or directory|does not exist|is not a local folder|[Cc]an(?:not|'t) find|Transport endpoint|Errno (?:2|107|116)\b|FileNotFound"
)
_UNREACHED = lazy.compile(
    r"check your (?:internet )?connection|Max retries exceeded|name resolution|Name or service not known|Network is unreachable|"
    r"No route to host|Connection (?:refused|reset|timed out)|couldn't connect to",
    re.IGNORECASE,
)
_MOUNT = lazy.compile(r"mount|not responding|LustreError|server .*(?:lost|evicted)|connection", re.IGNORECASE)
_EARLIER = timedelta(hours=24)
_OPEN = 0.75
"""Highest confidence where it is open whether the node or the job's preparation is at fault."""


def tell_lone_node(facts: Facts, cause: Raised, result: Assessment) -> bool:
    """Write down that every rank of one node failed alike and none of the others; False where that is not so."""
    text = f"{cause.name}: {cause.message}"
    if tell_lacking_gpu(facts, cause, result):
        return True
    far = _UNREACHED.search(text) is not None
    place = _lone_node(facts, cause) if far or _ABSENT.search(text) else None
    if place is None:
        return False
    by = facts.table("raised_by", name=cause.name).rows[0]
    result.confidence = min(result.confidence, _OPEN)
    result.speaks_for.append(
        claim(
            f"Those that raised it are the {by['ranks']} ranks of {place['node']} (from {by['lowest']} to {by['highest']}), and no "
            "rank of another node."
        )
    )
    if far:
        _out_of_reach(facts, place, result)
        return True
    told = mount_trouble(facts, place.text("node"))
    result.attribution = "infrastructure" if told is not None else "undetermined"
    if told is not None:
        result.speaks_for.append(claim(f"The kernel of {told['node']} said at {told['event_ts']}: {told['message']}"))
    result.implies.append(
        claim(
            f"What is missing on {place['node']} is not known to be missing elsewhere: its mount or its own copy is at fault sooner "
            "than the path.",
            "supported",
        )
    )
    result.actions.append(
        claim(
            f"Look whether the path can be read on {place['node']} and on another node of the job, then resubmit without that node."
        )
    )
    result.missing.append(
        missing(
            "Whether the other nodes could read it.",
            "findmnt and ls of the path on that node and on another, the node's kernel log (host_event)",
        )
    )
    return True


def _out_of_reach(facts: Facts, place: RowView, result: Assessment) -> None:
    """What that node alone does not reach: its own network, where a link of it is known to have gone down and not come back."""
    down = _link_down(facts, place.text("node"))
    result.attribution = "infrastructure" if down is not None else "undetermined"
    if down is not None:
        result.speaks_for.append(
            claim(
                f"The link {down['device']} of {down['node']} went down at {down['event_ts']} and did not come back: {down['message']}"
            )
        )
    text = f"What {place['node']} does not reach is not known to be out of the other nodes' reach: its network or name service, sooner than the program."
    result.implies.append(claim(text, "supported"))
    result.actions.append(
        claim(f"Look whether {place['node']} reaches that host (getent hosts, curl), then resubmit without that node.")
    )
    result.missing.append(
        missing(
            "Whether the other nodes reached it.",
            "the same request from that node and from another, the links of that node (link_event)",
        )
    )


def _link_down(facts: Facts, node: str) -> RowView | None:
    """A link of the node that went down in the day before, or in the run, and of whose return nothing is known."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if not begin:
        return None
    since = datetime.fromisoformat(begin.replace("Z", "+00:00")) - _EARLIER
    rows = facts.table("link_events", from_ts=since.isoformat(), to_ts=end or begin).rows
    last = {r.text("device"): r for r in rows if r.text("node") == node and r.text("event") in ("up", "down")}
    return next((r for r in last.values() if r.text("event") == "down"), None)


def _lone_node(facts: Facts, cause: Raised) -> RowView | None:
    """Where every rank of one node of several raised it, and no other: the place of the first of them."""
    o = facts.overview
    nodes, gpus = (o.number(c) if o is not None else None for c in ("node_count", "gpus"))
    if not nodes or nodes < 2 or not gpus:
        return None
    by, per = facts.table("raised_by", name=cause.name).first, gpus // nodes
    if by is None or by.number("ranks") != per:
        return None
    low, high = int(by.number("lowest") or 0), int(by.number("highest") or 0)
    if low % per or high != low + per - 1:
        return None
    place = facts.table("rank_place", rank=low).first
    return place if place is not None and place.has("node") and place.text("known_by") != "task" else None


def mount_trouble(facts: Facts, node: str) -> RowView | None:
    """What the node's kernel said of a mount or a file server in the day before, or in the run."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if not begin:
        return None
    since = datetime.fromisoformat(begin.replace("Z", "+00:00")) - _EARLIER
    rows = facts.table("host_events", from_ts=since.isoformat(), to_ts=end or begin).one_of(
        "event", "storage", "filesystem"
    )
    return next((r for r in reversed(rows) if r.text("node") == node and _MOUNT.search(r.text("message"))), None)
