"""Waits that other words than a watchdog's tell of: Horovod's stall inspector, a monitor's gauge, a barrier over the store."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.facts import Facts, RowView, View
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

GAUGE = "hang_gauge"
STALLS = ("stalled", "stalled_ranks", "stall_shutdown")


def stalled_for_good(facts: Facts, events: View) -> list[RowView]:
    """Horovod's stall inspector, where the loop did not come back after its last word: a late rank is no hang."""
    rows = events.one_of("name", "stalled", "stalled_ranks")
    last = max((r.number("last_line") or 0.0 for r in rows), default=0.0)
    if not rows or facts.progress.finished or facts.progress.last_hint > last:
        return []
    return sorted(rows, key=lambda r: r.text("name") != "stalled")


def stood_still(facts: Facts, events: View) -> list[RowView]:
    """The gauge of a monitor inside the ranks, where each rank that has it stood still when it was last told."""
    rows = events.one_of("name", GAUGE)
    lone = len(rows) < 2  # waits for nobody, or is one of many of which the others are not told
    return [] if lone or events.one_of("name", "hang_gauge_clear") or _went_on(facts, rows) else rows


def some_stand_still(facts: Facts) -> Assessment | None:
    """The same gauge, set on some of the ranks: its monitor calls that no hang, and it may be one that begins."""
    some = facts.table("nccl_events").one_of("name", GAUGE)
    if not some or _went_on(facts, some):
        return None
    return Assessment(
        "C2",
        "undecidable",
        counterfactual=f"A monitor says of some ranks that they stand still: {some[0]['message']}.",
        missing=[missing("Whether the other ranks stood still, too.", "later samples of the same gauge; nccl_sample")],
    )


def _went_on(facts: Facts, rows: Sequence[RowView]) -> bool:
    """Whether the run came to its end, or reported training after the gauge was told."""
    last = facts.progress.steps.text("last_ts") if facts.progress.steps is not None else ""
    return facts.progress.finished or any(r.has("first_ts") and r.text("first_ts") < last for r in rows)


def by_gauge(row: RowView, result: Assessment) -> None:
    """Say so on the assessment. The gauge is its monitor's verdict, and no count of what the rank did."""
    result.headline = "The job hung: all ranks stand still, by the monitor that runs in them."
    result.confidence = 0.75
    result.speaks_for.append(claim(f"Rank {row['rank']}: {row['message']} ({row['file']})."))


def stalled(row: RowView, result: Assessment) -> None:
    """Say so on the assessment."""
    result.headline = "The job hung: ranks wait for others that did not submit the same tensor."
    result.confidence = 0.85
    after = f" after waiting {row['timeout_s']}" if row.has("timeout_s") else ""
    result.speaks_for.append(
        claim(
            f"Horovod's stall inspector spoke{after}, and nothing came after it: {row['message']} ({row['file']} line {row['line_no']})."
        )
    )


def no_heartbeat(row: RowView, result: Assessment) -> None:
    """The launcher's monitor of a rank: whether the rank stood in a collective or elsewhere, it does not know."""
    result.confidence = 0.75
    result.headline = f"The job hung: a rank gave no sign of life for {row['elapsed_s']} s, and its launcher ended it."
    result.speaks_for.append(
        claim(f"The launcher's monitor says: {row['message']} ({row['file']} line {row['line_no']}).")
    )


TOLD = {**dict.fromkeys(STALLS, stalled), "silent_rank": no_heartbeat, GAUGE: by_gauge}
"""How to say what tells of a hang, by the name of the event; others are a watchdog's."""
_AT_STORE = lazy.compile(
    r"wait timeout after|Barrier timed out|[Tt]imed out .{0,60}(?:store.based.barrier|waiting for keys?)|Socket Timeout"
)


def waited_at_store(facts: Facts) -> list[Raised]:
    """Waits of a running job for keys that its other ranks were to write into the store: a barrier that none came to."""
    if not facts.progress.begun:
        return []
    return [r for r in facts.of_role("rendezvous") if _AT_STORE.search(r.message)]
