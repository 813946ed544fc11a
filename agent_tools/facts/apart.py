"""A rank that stands in another collective than the rest of its group: no network and no card does that, only the program."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.rank_place import say_where
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing


def apart(facts: Facts, result: Assessment) -> bool:
    """Name the ranks that called something else, where there are any, and what the others called."""
    row = facts.table("nccl_mismatch").first
    if row is None or facts.table("nccl_waits"):
        return False
    one = row.number("apart") == 1
    who = f"rank {row['rank']}" if one else f"ranks {row['all_apart']}"
    theirs, ours = _called(row, "collective", "sizes"), _called(row, "others_collective", "others_sizes")
    result.headline = f"{result.headline.rstrip('.')}; {who} called {theirs} where the others called {ours}."
    where = f" ({row['file']} line {row['line_no']})" if row.has("file") else ""
    result.speaks_for.append(
        claim(
            f"Under the same number, {row['seq']}, {who} {'stands' if one else 'stand'} in {theirs} and {row['others']} of "
            f"{row['ranks']} ranks in {ours}{where}."
        )
    )
    if row.has("frames"):
        result.speaks_for.append(claim(f"The innermost frames of rank {row['rank']} there are {row['frames']}."))
    result.implies.append(
        claim(
            "The ranks took different paths through the program: a condition that is true on some of them, or one that called a "
            "collective more or less. Network and GPUs play no part.",
            "supported",
        )
    )
    result.missing.append(missing(f"Why {who} took another path.", "the Python stacks of that call on each rank"))
    result.confidence, result.attribution = 0.96, "job"
    say_where(facts, row.number("rank"), result)
    return True


def _called(row: RowView, collective: str, sizes: str) -> str:
    return f"{row[collective]} of {row[sizes]}" if row.has(sizes) else f"{row[collective]}"
