"""CPUs of a node that were busier than one job makes them: whose work that was is open, and so is whose fault a slow input is."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

_CROWDED, _MOST_CPUS = 2.0, 192.0
"""Load over the CPUs that the job was given on a node, and what few nodes have CPUs for: beside a small job others have theirs."""
_UNLIKE = 4.0
"""Load over that of the other nodes, which run the same program."""
_LEAST = 16.0
_WHO = missing(
    "What kept the CPUs of that node busy: the job's own workers, another job, or a service.",
    "CPU time by cgroup (cgroup_sample), the node's processes (top), other jobs there (sacct)",
)


def crowded(facts: Facts, result: Assessment) -> None:
    """Leave open whose fault it is where the busiest node had more to do than it has CPUs for the job."""
    row = _busiest(facts)
    o = facts.overview
    cpus, nodes = (o.number(c) if o is not None else None for c in ("cpus", "node_count"))
    load = row.number("load") or 0.0 if row is not None else 0.0
    if row is None or o is None or not cpus or not nodes or load < max(_MOST_CPUS, _CROWDED * cpus / nodes):
        return
    result.attribution = "undetermined"
    result.speaks_for.append(
        claim(
            f"The load of {row['node']} was {row['load']} (median); the job was given {o['cpus']} CPUs on {o['node_count']} nodes."
        )
    )
    result.missing.append(_WHO)


def unlike_others(facts: Facts, node: str, result: Assessment) -> None:
    """Say that the slow node's CPUs were far busier than those of the others, which had the same to do."""
    row = _busiest(facts)
    if row is None or row.text("node") != node or (row.number("times_others") or 0.0) < _UNLIKE:
        return
    if (row.number("load") or 0.0) < _LEAST:
        return
    result.speaks_for.append(
        claim(f"The load of {row['node']} was {row['load']} (median), that of the other nodes {row['others_load']}.")
    )
    result.implies.append(
        claim(
            f"Something else may take the CPUs of {row['node']} from the ranks there, and it makes them late.",
            "hypothesis",
        )
    )
    result.missing.append(_WHO)


def _busiest(facts: Facts) -> RowView | None:
    scope = facts.scope
    if not scope["nodes"] or not scope["from_ts"] or not scope["to_ts"]:
        return None
    return facts.table("host_load").first
