"""A process that was ended because the host's own memory broke under it: the kernel says so at that moment, and no code is to blame."""

from __future__ import annotations

import re

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

_BROKEN = lazy.compile(
    r"hardware memory corruption|Memory failure: 0x|\bUE memory|Uncorrected (?:hardware )?memory error"
)
_NEAR_S = 300.0
_SIGBUS, _SIGKILL = 7, 9
_SURE = 0.93


def bad_memory(facts: Facts, row: RowView, result: Assessment) -> bool:
    """Lay a SIGBUS at the node's memory where its kernel tells of a broken page just then; of a SIGKILL it has to name the process."""
    signal, host = row.get("signal"), row.text("host").partition(".")[0]
    told = [
        r
        for r in facts.table("host_events").one_of("event", "mce")
        if _BROKEN.search(r.text("message")) and (not host or r.text("node").partition(".")[0] == host)
    ]
    told = [r for r in told if r.has("before_end_s") and -60.0 <= (r.number("before_end_s") or 0.0) <= _NEAR_S]
    pid = str(int(row.number("pid") or 0)) if row.has("pid") else None
    named = [r for r in told if pid is not None and re.search(rf":{pid}\b", r.text("message"))]
    found = named or ([r for r in told if not r.get("hidden")] if signal == _SIGBUS else [])
    if signal not in (_SIGBUS, _SIGKILL) or not found:
        return False
    first = found[0]
    result.attribution, result.confidence = "infrastructure", _SURE if named else result.confidence
    result.speaks_for.append(
        claim(
            f"The kernel of {first['node']} says at {first['event_ts']}, {first['before_end_s']} before the end: {first['message']}"
        )
    )
    result.implies.append(
        claim(
            "A page of the host's memory could not be read any more, and the kernel ended the process that used it: no code causes that.",
            "established" if named else "supported",
        )
    )
    result.actions.append(claim(f"Drain {first['node']} and have its memory modules tested; rerun on other nodes."))
    result.missing.append(
        missing("Which module failed.", "the BMC's event log, rasdaemon or EDAC counters of that node")
    )
    return True
