"""What the kernels of the job's nodes say of the storage at which a program failed: a device, a mount or a server."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

_NEAR_S = 1800.0
_SERVER = "Have the file server that the kernels name looked at, then resubmit: several nodes met it, and other nodes may as well."


def tell_storage(facts: Facts, cause: Raised, result: Assessment) -> str | None:
    """Add the kernels' last word on storage before the end, the failed rank's node first; what to do, where several nodes have one."""
    if result.attribution != "infrastructure":
        return None
    if not facts.has("host_event"):
        signal = "the kernel log of that node (host_event), the server's own log"
        result.missing.append(missing("Whether a device, the mount or a server failed.", signal))
        return None
    rows = [
        r
        for r in facts.table("host_events").one_of("event", "storage", "filesystem")
        if r.has("before_end_s") and -60.0 <= (r.number("before_end_s") or 0.0) <= _NEAR_S and not r.get("hidden")
    ]
    rank = cause.row.number("rank")
    place = facts.table("rank_place", rank=int(rank)).first if rank is not None else None
    node = cause.row.text("node") or (place.text("node") if place is not None else "")
    here = [r for r in rows if r.text("node") == node] or rows
    if not here:
        return None
    # The first of a burst says what happened, what follows it what came of that.
    first = here[0]
    result.speaks_for.append(
        claim(f"The kernel of {first['node']} says, {first['before_end_s']} before the end: {first['message']}")
    )
    nodes = {r.text("node") for r in rows}
    if len(nodes) > 1:
        others = next(r for r in rows if r.text("node") != first.text("node"))
        result.speaks_for.append(claim(f"So does that of {others['node']}: {others['message']}"))
        return _SERVER
    return None
