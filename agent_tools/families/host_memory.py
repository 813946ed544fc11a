"""What A2 says of a kill for host memory: by whose limit, and whether the job is what has to change."""

from __future__ import annotations

from agent_tools.facts import RowView
from agent_tools.facts.memory import HostOom
from agent_tools.families.base import Assessment
from agent_tools.families.wording import UNSAID, claim, missing
from agent_tools.verdict import Claim

_CONVENTION = 0.7
"""Confidence where accounting contradicts the only source of it."""
_UNBLAMED = 0.85
"""Confidence that it was a kill for memory, where who used it up is open."""


def ran_out(oom: HostOom) -> str:
    """Whose memory it was that did not suffice, in words for a headline."""
    return "the job's memory limit was used up" if oom.limit else "host memory ran out"


def host_memory(oom: HostOom, result: Assessment, killed: bool) -> None:
    """Write into an assessment who killed for memory, and what to do. `killed`: a source names the signal, too."""
    result.speaks_for += oom.claims
    result.attribution = "job"
    result.confidence = 0.97 if len(set(oom.sources)) > 1 else 0.94
    if oom.doubt is not None:
        result.status, result.confidence = ("confirmed", _CONVENTION) if killed else ("suspected", UNSAID)
        result.speaks_against.append(oom.doubt)
    result.headline = result.headline or f"A process was killed because {ran_out(oom)}."
    what = "the memory limit of the job" if oom.limit else "the memory of the host"
    if not oom.limit and set(oom.sources) == {"log_event"}:
        what = "the job's memory limit, or the memory of the whole host,"  # slurmstepd counts the kills of both
    result.implies.append(claim(f"The kill was made because {what} was used up: host RAM, not GPU memory."))
    if oom.holder is not None:
        if _by_holder(oom.holder, result):
            return
    elif oom.kept_to is not None:
        _of_others(oom.kept_to, result)
        return
    result.actions.append(
        claim(
            "Ask for more host memory, or use less: fewer dataloader workers, smaller prefetch, no copy of the dataset per "
            "worker, loading weights once per node; shared memory in /dev/shm counts too."
        )
    )


def _by_holder(row: RowView, result: Assessment) -> bool:
    """By the kernel's own list of tasks: whose they were that filled the host; True where they were not the job's."""
    held = f"{row['process_name']} held {row['held_gib']} on {row['node']} then, more than all else ({row['message']})"
    if row.get("same_user"):
        result.speaks_for.append(
            claim(f"By the kernel's list of tasks {held}: the same user's as the process that it killed.")
        )
        return False
    result.attribution = "infrastructure"
    own = f"; the tasks of the job's user held {row['user_gib']}" if row.has("user_gib") else ""
    result.speaks_for.append(
        claim(f"By the kernel's list of tasks {held}, of another user than the process that it killed{own}.")
    )
    result.implies.append(
        claim(
            "What filled the host was not the job's: the kernel took its process because that was large, too.",
            "supported",
        )
    )
    result.actions.append(
        claim(
            f"Look at {row['process_name']} on {row['node']}: let Slurm hold each job to its memory (ConstrainRAMSpace), or mend the "
            "service that grew; the job itself needs no change."
        )
    )
    return True


def _of_others(kept_to: Claim, result: Assessment) -> None:
    """The host ran out of memory under a job that held far less than its share: the job is not what has to change."""
    result.attribution = "undetermined"
    result.confidence = min(result.confidence, _UNBLAMED)
    result.speaks_for.append(kept_to)
    result.implies.append(
        claim("The kernel chose this process, and what filled the host was not seen to be the job's.", "supported")
    )
    result.missing.append(
        missing(
            "What else held the memory of the host.",
            "the kernel's list of tasks at the kill (host_event), the other jobs and services of that node (cgroup_sample, process)",
        )
    )
    result.actions.append(
        claim(
            "Look for what else holds memory on that node: other jobs, services, files in /dev/shm or another tmpfs that an earlier "
            "job left; let Slurm hold each job to its memory (ConstrainRAMSpace)."
        )
    )
