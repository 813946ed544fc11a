"""What a kernel's log tells where nothing else is there: a process that it ended, a process that crashed, its own death.

Whose the process was, and whether a job was on the node, stays open: each is a suspicion, for the log is what was asked about.
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

SYSTEM = frozenset(
    {"nvidia-smi", "slurmd", "slurmstepd", "systemd", "dockerd", "containerd", "dcgm-exporter", "nv-hostengine"}
)
_ALONE = 0.45
_WHOSE = missing("Whether that process was the job's.", "the job's output (log_line), sacct (slurm_job)")


def lone_end(facts: Facts) -> Assessment | None:
    """A2 by the last kill for want of memory in that log, else by the last crash in native code; None where there is none."""
    for events in (("oom_kill",), ("segfault", "trap")):
        told = [r for r in _told(facts, *events) if r.has("process_name") and r.text("process_name") not in SYSTEM]
        if told:
            return _ended(told[-1])
    return None


def lone_death(facts: Facts) -> Assessment | None:
    """F1 by the kernel's own last words."""
    told = _told(facts, "panic")
    if not told:
        return None
    row = told[-1]
    text = f"The kernel{_of(row)} says: {row['message']}"
    return Assessment(
        "F1",
        "suspected",
        confidence=_ALONE,
        attribution="infrastructure",
        headline=f"The kernel{_of(row)} died; whether the job was there is not known.",
        speaks_for=[claim(text)],
        missing=[
            missing("Whether the job ran on that node, and then.", "sacct (slurm_job), the job's output (log_line)")
        ],
        actions=[claim("Have the node looked at before it takes jobs again.")],
        counterfactual=text,
    )


def _told(facts: Facts, *events: str) -> list[RowView]:
    if facts.overview is not None or facts.has_log or facts.has("gpu_sample"):
        return []
    return [r for r in facts.table("host_events").one_of("event", *events) if not r.get("hidden")]


def _of(row: RowView) -> str:
    return f" of {row['node']}" if row.has("node") else ""


def _ended(row: RowView) -> Assessment:
    killed = row.text("event") == "oom_kill"
    by = "its cgroup's limit" if "MEMCG" in row.text("limit_kind") else "the host's memory"
    what = (
        f"The kernel{_of(row)} killed {row['process_name']}, because {by} was used up"
        if killed
        else f"{row['process_name']} crashed in native code ({row['event']})"
    )
    result = Assessment("A2", "suspected", confidence=_ALONE, attribution="undetermined", missing=[_WHOSE])
    result.headline = f"{what}; whether it was the job's is not known."
    result.speaks_for.append(claim(f"The kernel{_of(row)} says: {row['message']}"))
    if killed:
        text = "Ask for more memory, or let the program hold less of it, if the process was the job's."
        result.actions.append(claim(text))
    result.counterfactual = result.speaks_for[0].text
    return result
