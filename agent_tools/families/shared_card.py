"""A card on which another process holds what was lacking: a leftover that was there before the job, or whose it is is open."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, gpu_of, missing

_BEFORE = timedelta(minutes=15)
_JUST = timedelta(seconds=5)
_HALF = 0.5


def whose_card(facts: Facts, row: RowView, result: Assessment) -> None:
    """Say whether that memory was in use before the job began; else leave open whose fault the lack is."""
    left = _before(facts, row)
    if left is not None:
        result.attribution = "infrastructure"
        result.speaks_for.append(
            claim(f"Before the job began {left['peak_gib']} GiB were in use on {gpu_of(left)} already.")
        )
        result.implies.append(
            claim(
                "A process that is not this job's was left on that card, or shares it: the job's own plan is not at fault.",
                "supported",
            )
        )
        result.actions.insert(
            0, claim(f"End what is left on {gpu_of(left)}, or drain the node until that is done, then resubmit.")
        )
        return
    result.attribution = "undetermined"
    result.missing.append(
        missing(
            "Whether the other process is one of this job's own."
            if row.number("other_gib")
            else "Who held the rest of that card.",
            "GPU memory before the start (gpu_sample), the process table (process) or nvidia-smi on that node",
        )
    )


def held_elsewhere(row: RowView | None) -> bool:
    """Whether most of a full card was none of what PyTorch had reserved in the process that asked, by a message that lists no process."""
    if row is None or row.number("other_gib") or not row.has("unaccounted_gib"):
        return False
    return (row.number("unaccounted_gib") or 0.0) >= _HALF * (row.number("total_gib") or 0.0) > 0


def tell_elsewhere(facts: Facts, row: RowView, result: Assessment) -> None:
    """Say how much that was, and leave open whose."""
    result.speaks_for.append(
        claim(f"Of what was in use on that card, {row['unaccounted_gib']} GiB were not PyTorch's in this process.")
    )
    result.implies.insert(
        0,
        claim(
            "Another process on the card, or another library in this one, held most of it: a smaller batch alone may not help.",
            "supported",
        ),
    )
    result.actions.insert(
        0,
        claim(
            "See with nvidia-smi who holds that card; a leftover of an earlier run must be ended first.", "supported"
        ),
    )
    whose_card(facts, row, result)


def _before(facts: Facts, row: RowView) -> RowView | None:
    begin, o = facts.scope["from_ts"], facts.overview
    alone = o is not None and o.number("node_count") == 1
    if not begin or not row.has("gpu"):
        return None
    node = row.text("node").partition(".")[0] or ("" if alone else _node_of_rank(facts, row))
    if not alone and not node:
        return None
    start = datetime.fromisoformat(begin.replace("Z", "+00:00"))
    cards = facts.table("gpu_summary", from_ts=(start - _BEFORE).isoformat(), to_ts=(start - _JUST).isoformat())
    for card in cards:
        here = alone or card.text("node").partition(".")[0] == node
        much = (card.number("peak_gib") or 0.0) >= _HALF * (
            row.number("other_gib") or row.number("unaccounted_gib") or 0.0
        )
        if here and much and card.get("gpu") == row.get("gpu"):
            return card
    return None


def _node_of_rank(facts: Facts, row: RowView) -> str:
    """Where the rank that was refused ran, as a source ties it to a node; by their usual order alone it may have run elsewhere."""
    rank = row.number("rank")
    place = facts.table("rank_place", rank=int(rank)).first if rank is not None and row.number("ranks") == 1 else None
    return place.text("node") if place is not None and place.text("known_by") in ("told", "only") else ""
