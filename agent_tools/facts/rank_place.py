"""Where a rank ran that a hang is laid at: logs and flight recorders know ranks, and whoever is paged looks for a node."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim


def say_where(facts: Facts, rank: float | None, result: Assessment) -> None:
    """Say the node of a rank: for sure where a source or the allocation tells it, else by the order of ranks.

    With a launcher on each node the numbers of `srun -l` are those of the launchers: where srun itself names such a task on
    another node than the order of ranks would, the order is not said.
    """
    if rank is None:
        return
    row = facts.table("rank_place", rank=int(rank)).first
    if row is None or not row.has("node"):
        return
    if row.text("known_by") == "order":
        text = (
            f"If the launcher numbered the ranks node by node in the order of the allocation, {row['per_node']} on each, "
            f"rank {row['rank']} ran on {row['node']}, there as number {row['local_rank']}."
        )
        result.implies.append(claim(text, "hypothesis"))
    elif row.text("known_by") == "task":
        text = f"srun says that its task {row['rank']} ran on {row['node']}: where its labels number the lines, that is the node."
        result.implies.append(claim(text, "hypothesis"))
    else:
        result.speaks_for.append(claim(f"Rank {row['rank']} ran on {row['node']}."))
