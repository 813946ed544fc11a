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
_MOSTLY = 2.0
"""How many times the CPUs of the one the other has to have kept busy to be who crowded the node."""
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
    shares = next((r for r in facts.table("cpu_shares") if r.get("node") == row.get("node")), None)
    if shares is None or not shares.has("own_cpus") or not shares.has("others_cpus"):
        result.missing.append(_WHO)
        return
    text = f"There the job's own processes kept {shares['own_cpus']} CPUs busy, and those of other jobs ({shares['other_jobs']} in all) {shares['others_cpus']}."
    result.speaks_for.append(claim(text))
    own, others = (shares.number(c) or 0.0 for c in ("own_cpus", "others_cpus"))
    if others >= _MOSTLY * own and others >= _MOSTLY * (cpus / nodes):
        result.attribution = "infrastructure"
        result.implies.append(
            claim("What takes the CPUs of that node is not the job's: its own had few of them.", "supported")
        )
        text = f"Have Slurm keep each job of {row['node']} to its own CPUs (TaskPlugin=task/cgroup, ConstrainCores), or ask for the whole node."
        result.actions.append(claim(text))
    elif own >= _MOSTLY * others:
        result.attribution = "job"


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
