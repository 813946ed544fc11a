"""Waits that other words than a watchdog's tell of: Horovod's stall inspector, and a barrier over the store."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView, View
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim
from store import lazy

STALLS = ("stalled", "stalled_ranks", "stall_shutdown")


def stalled_for_good(facts: Facts, events: View) -> list[RowView]:
    """Horovod's stall inspector, where the loop did not come back after its last word: a late rank is no hang."""
    rows = events.one_of("name", "stalled", "stalled_ranks")
    last = max((r.number("last_line") or 0.0 for r in rows), default=0.0)
    if not rows or facts.progress.finished or facts.progress.last_hint > last:
        return []
    return sorted(rows, key=lambda r: r.text("name") != "stalled")


def told(row: RowView, result: Assessment) -> None:
    """Say so on the assessment."""
    result.headline = "The job hung: ranks wait for others that did not submit the same tensor."
    result.confidence = 0.85
    after = f" after waiting {row['timeout_s']}" if row.has("timeout_s") else ""
    result.speaks_for.append(
        claim(
            f"Horovod's stall inspector spoke{after}, and nothing came after it: {row['message']} ({row['file']} line {row['line_no']})."
        )
    )


_AT_STORE = lazy.compile(
    r"wait timeout after|Barrier timed out|[Tt]imed out .{0,60}(?:store.based.barrier|waiting for keys?)|Socket Timeout"
)


def waited_at_store(facts: Facts) -> list[Raised]:
    """Waits of a running job for keys that its other ranks were to write into the store: a barrier that none came to."""
    if not facts.progress.begun:
        return []
    return [r for r in facts.of_role("rendezvous") if _AT_STORE.search(r.message)]
