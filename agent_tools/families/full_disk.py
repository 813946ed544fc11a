"""A write for which there was no room: whether the file system had been full before the job came, and on which of its nodes."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

_NO_ROOM = lazy.compile(r"No space left on device|Errno 28\b|ENOSPC")
_PATH = lazy.compile(r"['\"](/[^'\"\n]{1,400})['\"]")
_FULL = 0.01
"""Share of its size that a full file system has left at most."""
_ROOM = 0.05
"""Share that the other nodes' have left where one alone is full."""


def tell_full(facts: Facts, cause: Raised, result: Assessment) -> str | None:
    """Add what was free there before and in the run; what to do, where the job did not fill it, else None."""
    named = _PATH.search(cause.message) if _NO_ROOM.search(cause.message) else None
    if named is None or not facts.scope["nodes"] or not facts.scope["from_ts"] or not facts.scope["to_ts"]:
        return None
    rows = facts.table("disk_space", path=named[1]).rows
    row = _of_its_node(facts, cause, rows)
    if row is None or (row.number("least_share") or 0.0) > _FULL:
        return None
    if not row.has("before_share") or (row.number("before_share") or 0.0) > _FULL:
        if row.has("before_gib"):
            text = f"{row['filesystem']} of {row['node']} had {row['before_gib']} of {row['total_gib']} free as the run began, and {row['least_gib']} at {row['least_ts']}."
            result.speaks_for.append(claim(text))
        return None
    text = f"{row['filesystem']} of {row['node']} was full before the run began: {row['before_gib']} of {row['total_gib']} were free at {row['before_ts']}."
    result.speaks_for.append(claim(text))
    others = [r for r in rows if r.index != row.index]
    alone = bool(others) and all((r.number("least_share") or 0.0) > _ROOM for r in others)
    result.attribution = "infrastructure" if alone else "undetermined"
    if alone:
        text = f"On the job's other nodes there was room: what earlier jobs or services left on {row['node']} fills it."
        result.implies.append(claim(text, "supported"))
    else:
        text = "It was full already, of what this run did not write."
        result.implies.append(claim(text, "supported"))
        result.missing.append(
            missing(
                "Whose files fill it: this user's of before, or others'.", f"du of {named[1].rsplit('/', 1)[0]} there"
            )
        )
    return "Find out what fills that file system and have it cleared before resubmitting, or write elsewhere (TMPDIR)."


def _of_its_node(facts: Facts, cause: Raised, rows: list[RowView]) -> RowView | None:
    """The file system of the node on which the rank that failed ran; without one the fullest."""
    rank = cause.row.number("rank")
    place = facts.table("rank_place", rank=int(rank)).first if rank is not None else None
    node = cause.row.text("node") or (place.text("node") if place is not None else "")
    here = [r for r in rows if not node or r.text("node") == node]
    return here[0] if here else None
