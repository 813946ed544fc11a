"""What Slurm says of nodes where nothing else is there: which of them it has lost.

Whether a job was on such a node stays open: it is a suspicion, for the nodes are what was asked about. A node that is held back
for the next jobs (drained) is lost to none that runs there.
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from agent_tools.verdict import Claim

_ALONE = 0.45


def lone_state(facts: Facts) -> Assessment | None:
    """F1 by a node that is down, failed or silent by Slurm's own list; None where there is more than that list, or none is."""
    if facts.overview is not None or facts.has_log or facts.lone_nodes or facts.table("job_nodes"):
        return None
    still = facts.table("nodes_in_trouble").where(lambda r: bool(r.get("still")))
    lost = [r for r in still if r.get("lost")]
    if not still:
        return None
    if not lost:
        text = f"Slurm holds {_said(still[0])} back: no job starts there, and one that runs there goes on."
        return Assessment("F1", "undecidable", confidence=0.02, counterfactual=text, missing=[_WHETHER])
    text = f"Slurm has {_said(lost[0])}."
    return Assessment(
        "F1",
        "suspected",
        confidence=_ALONE,
        attribution="infrastructure",
        headline=f"Slurm has lost {lost[0]['node']}; whether the job was there is not known.",
        speaks_for=[claim(text), *_others(lost[0])],
        missing=[_WHETHER],
        actions=[claim("Have the node looked at before it takes jobs again.")],
        counterfactual=text,
    )


def _others(row: RowView) -> list[Claim]:
    """How many nodes stand there beside it: in the list of a whole cluster each says less of the job."""
    if (row.number("nodes_still") or 0) <= 1:
        return []
    return [
        claim(
            f"It lists {row['nodes_still']} nodes that are lost or held back; which of them was the job's is not said."
        )
    ]


def _said(row: RowView) -> str:
    """A node with its state and the reason that stands beside it, as cells."""
    why = f" ({row['reason']})" if row.has("reason") else ""
    return f"{row['node']} as {row['state']}{why}"


_WHETHER = missing("Whether the job ran on that node, and then.", "sacct (slurm_job), the job's output (log_line)")
