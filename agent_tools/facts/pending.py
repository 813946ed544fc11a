"""Slurm's reasons for a job that does not run, in plain words, with what would release it.

SOURCE  `job_state_reason` of Slurm 20.11 to 26.05 (squeue, scontrol show job, sacct).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Whose = Literal["scheduler", "user", "infrastructure"]


@dataclass(frozen=True, slots=True)
class Reason:
    """`why` completes "The job is waiting because ..."; `release` is what would let it run; `whose` is who can do it."""

    why: str
    release: str
    whose: Whose


_ROWS: tuple[tuple[str, str, str, Whose], ...] = (
    (r"DependencyNeverSatisfied", "a job that it depends on ended in a way that never fulfils the dependency", "Find out why that job failed; then cancel this one and submit both again.", "user"),
    (r"Dependency", "another job that it depends on has not ended yet", "It starts by itself when that job ends as the dependency demands. Look at the Dependency field of scontrol show job.", "scheduler"),
    (r"Resources", "the nodes, GPUs or memory that it asks for are in use", "It starts when they come free. Asking for fewer GPUs, less memory or a shorter time limit helps it fit in earlier.", "scheduler"),
    (r"^\W*Priority", "other jobs stand before it in the queue", "It starts when it comes to the front. A shorter time limit lets the scheduler fit it in earlier.", "scheduler"),
    (r"ReqNodeNotAvail|UnavailableNodes|NodeDown|Nodes required for job are DOWN", "nodes that it needs are down, drained or reserved", "Drop the fixed node list, or wait for the operators to bring the nodes back. A maintenance reservation that begins before its time limit ends has the same effect: ask for less time.", "infrastructure"),
    (r"PartitionTimeLimit", "its time limit is longer than the partition allows", "Lower --time, or choose a partition that allows it.", "user"),
    (r"PartitionNodeLimit|PartitionConfig", "it asks for more or fewer nodes than the partition allows", "Change --nodes, or choose another partition.", "user"),
    (r"PartitionDown|PartitionInactive", "its partition is closed", "Choose another partition, or ask the operators when it opens.", "infrastructure"),
    (r"QOSMaxWall|AssocMaxWall|MaxWallDuration|AssocGrpWall|QOSGrpWall", "its time limit exceeds what its account or quality of service may use", "Lower --time, or use another account or QOS.", "user"),
    (r"(QOS|Assoc)(Max|Min|Grp).*(GRES|TRES|CPU|Node|Mem|Billing|BB)|^Max(CPU|Node|Mem|GRES|TRES|Billing|BB)\w*Per", "its account, user or quality of service is at its limit of GPUs, CPUs, nodes or memory", "It starts when other jobs of the same account end. Cancel some, ask for fewer resources, or ask for a higher limit.", "user"),
    (r"(QOS|Assoc)(Max|Grp).*(Jobs?|Submit)|^Max(Submit)?Jobs?Per", "its account, user or quality of service has as many jobs as it may have", "It starts when other jobs of the same account end, or when some are cancelled.", "user"),
    (r"QOSUsageThreshold|QOSNotAllowed|InvalidQOS|QOSResourceLimit|QOSMin|QOS\w+", "a limit of its quality of service stops it", "Choose another QOS, or ask the operators about its limits.", "user"),
    (r"InvalidAccount|AssociationJobLimit|AssociationResourceLimit|AssociationTimeLimit|AccountNotAllowed|AccountingPolicy|Assoc\w+", "a limit of its account stops it, or the account may not be used here", "Check the account with sacctmgr, or ask the operators about its limits.", "user"),
    (r"Licenses", "a licence that it asks for is in use", "It starts when a licence comes free.", "scheduler"),
    (r"BeginTime|JobArrayTaskLimit|Prolog$|ArrayTaskLimit", "its start time has not come, or its array runs as many tasks as it may", "It starts by itself. A job that was requeued waits for a few minutes first.", "scheduler"),
    (r"JobHeldUser", "its user holds it back", "Release it with scontrol release and the job's id.", "user"),
    (r"JobHeldAdmin|AdminHold", "an administrator holds it back", "Ask the operators why; only they can release it.", "infrastructure"),
    (r"(launch failed|JobHoldMaxRequeue|max[_ ]?requeue|requeued? held|SPECIAL.EXIT)", "its launch failed and Slurm holds it back", "Ask the operators about the node's prolog or container set-up; then release it with scontrol release.", "infrastructure"),
    (r"Reservation", "its reservation has not begun, or is gone", "Check the reservation's name and times with scontrol show reservation.", "user"),
    (r"BadConstraints|Constraints|FrontEndDown", "no node has what its constraints ask for", "Correct --constraint, --gres and --partition: no waiting helps.", "user"),
    (r"BurstBuffer", "its burst buffer is not ready", "Wait, or ask the operators about the burst buffer.", "infrastructure"),
    (r"Cleaning|PowerNotAvail|PowerReserved|NodesBooting|Booting|WaitingForScheduling|None", "the scheduler has not looked at it yet, or its nodes are still being prepared", "Wait a few minutes and look again.", "scheduler"),
)  # fmt: skip
_TABLE = tuple((pattern, Reason(why, release, whose)) for pattern, why, release, whose in _ROWS)


def reason(text: str) -> Reason | None:
    """What Slurm's reason means; None where the word is not known. scontrol writes the spaces of a text as underscores."""
    text = text.replace("_", " ")
    for pattern, known in _TABLE:
        if re.search(pattern, text, re.IGNORECASE):
            return known
    return None
