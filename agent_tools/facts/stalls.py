"""Horovod's stall inspector: when its words mean a hang, and how to say it."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView, View
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim

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
