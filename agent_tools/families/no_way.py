"""C1 where the first communicator could not be set up and NCCL's own word says why: no interface here, or no way to the other."""

from __future__ import annotations

import re

from agent_tools.facts import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

# SOURCE: errno(3), EHOSTUNREACH and ENETUNREACH as strerror prints them.
_NO_WAY = lazy.compile(r"No route to host|(?:Network|Host) is unreachable", re.IGNORECASE)


def set_up_told(row: RowView, result: Assessment) -> Assessment:
    """What is known beyond that the set-up failed, where `row` (of `nccl_events`) tells; else `result` as it is."""
    if row.text("name") == "no_interface":
        return _no_interface(result)
    return _no_way(result) if _NO_WAY.search(row.text("message")) else result


def _no_way(result: Assessment) -> Assessment:
    """The errno tells a way that is not there from a rank that is not: a host whose process has gone refuses instead."""
    result.status, result.confidence = "confirmed", 0.85
    result.implies = [
        claim(
            "The node has no way to the address that the other rank gave: an interface that not every node has or reaches, a "
            "route, or a firewall that rejects. A rank that had only gone would refuse the connection.",
            "supported",
        )
    ]
    result.missing = [
        missing(
            "Whether the interface, a route or a firewall is at fault.", "ip route get and ip -br addr on both nodes"
        )
    ]
    result.actions = [
        claim(
            "From the node that says so, ask for the way to that address (ip route get), and set NCCL_SOCKET_IFNAME to an interface "
            "that every node has."
        )
    ]
    return result


def _no_interface(result: Assessment) -> Assessment:
    """No other rank and no time has a part in it: on this node there is nothing to begin with."""
    result.status, result.confidence, result.attribution = "confirmed", 0.8, "job"
    result.headline = "The process group could not be set up: NCCL found no network interface that it may use."
    text = "NCCL_SOCKET_IFNAME, or what stands in for it, names no interface that the node has; no other rank has a part in it."
    result.implies = [claim(text, "supported")]
    result.missing = [missing("Which interfaces the node has.", "ip -br addr on the node")]
    result.actions = [
        claim("Compare NCCL_SOCKET_IFNAME with the interfaces of every node (ip -br addr), or leave it unset.")
    ]
    return result
