"""What A1 says of a start that failed at the node's GPU driver or file system: whose that is, as far as it can be told."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.node_words import node_word
from agent_tools.families.base import Assessment
from agent_tools.families.switch_faults import fabric_not_up
from agent_tools.families.wording import claim, missing

_LOOK_AT_NODE = (
    "Submit again on other nodes, and have the operators look at that node: nvidia-smi, the versions of the driver and of its "
    "libraries, the Fabric Manager where there is NVSwitch."
)
_SAID = 0.8
"""Confidence that it was the node's driver where NCCL's own line says so."""
_ASK = "Ask for GPUs when you submit (--gres=gpu:N, --gpus-per-node), or run the program without CUDA."


def tell_node(facts: Facts, cause: Raised, result: Assessment) -> bool:
    """Write down what the words about the node mean; False where the exception has none."""
    return cause.fault.mode == "env" and tell_words(facts, cause.message, result, cause)


def tell_words(facts: Facts, message: str, result: Assessment, cause: Raised | None = None) -> bool:
    """The same of words that a program printed, with or without an exception."""
    word = node_word(message)
    if word is None:
        return False
    overview = facts.overview
    if word.unseen and overview is not None and overview.has("gpus") and overview.number("gpus") == 0:
        result.attribution = "job"
        result.implies.append(claim(f"Slurm gave the job {overview['gpus']} GPUs, so there was none to see."))
        result.actions.append(claim(_ASK))
        return True
    told = _told_beside(facts, cause) if word.unseen and cause is not None else None
    if told is not None:
        result.speaks_for.append(claim(f"The log says too: {told['message']} ({told['file']} line {told['line_no']})."))
    hint = _not_set_up(facts, cause) if word.unseen and told is None and cause is not None else None
    if hint is not None:
        result.speaks_for.append(claim(f"The log says too: {hint['message']} ({hint['file']} line {hint['line_no']})."))
    failed = _card_not_up(facts) if word.unseen and told is None else None
    if failed is not None:
        result.speaks_for.append(claim(f"The kernel of {failed['node']} said as the job began: {failed['message']}"))
    fabric = fabric_not_up(facts) if word.whose == "infrastructure" else None
    if fabric is not None:
        result.speaks_for.append(
            claim(f"The fabric of {fabric['node']} had not come up, at {fabric['event_ts']}: {fabric['message']}")
        )
    found = told is not None or failed is not None
    result.attribution = whose = "infrastructure" if found else word.whose
    if overview is not None and overview.number("node_count") == 1 and overview.has("node_list"):
        result.speaks_for.append(claim(f"The job had a single node: {overview['node_list']}."))
    result.implies.append(
        claim(f"The program did not get to its own work: {word.why}. Its code is not to blame.", "supported")
    )
    if whose != "infrastructure":
        result.missing.append(missing("Whether the node, or how the job was set up, is to blame.", word.signal))
    result.actions.append(claim(_LOOK_AT_NODE if found else word.advice))
    return True


def _not_set_up(facts: Facts, cause: Raised) -> RowView | None:
    """A line of CUDA's that it could not be initialised: why no GPU is seen, though not whose fault that is."""
    own = (cause.row.text("file"), cause.row.get("line_no"))
    rows = facts.table("cuda_errors").where(
        lambda r: r.text("code") in ("initialization", "unknown_error") and (r.text("file"), r.get("line_no")) != own
    )
    return rows[0] if rows else None


def _card_not_up(facts: Facts) -> RowView | None:
    """The driver's word in the kernel log of one of the job's nodes that it could not bring up a card, while the job ran."""
    if not facts.times_known or facts.lone_nodes or facts.beside is not None:
        return None
    rows = facts.table("gpu_events").one_of("event", "init_failed", "fallen_off_bus")
    return next((r for r in rows if (r.number("before_end_s") or -1.0) >= 0), None)


def at_driver(facts: Facts, result: Assessment) -> Assessment:
    """Lay a communicator that could not be set up at the node's driver, where NCCL itself says that the driver is not ready."""
    for row in facts.table("nccl_events"):
        word = node_word(row.text("message"))
        if word is None or word.whose != "infrastructure":
            continue
        result.status, result.confidence, result.attribution = "confirmed", _SAID, "infrastructure"
        result.headline = "The process group could not be set up: a node's GPU driver did not come up for NCCL."
        result.speaks_for.append(claim(f"NCCL says: {row['message']} ({row['file']} line {row['line_no']})."))
        text = f"No network and no other rank has a part in it: {word.why}."
        result.implies, result.missing = [claim(text, "supported")], []
        result.actions = [claim(word.advice)]
        break
    return result


def _told_beside(facts: Facts, cause: Raised) -> RowView | None:
    """A line of the driver's own tools that says why no GPU is seen: that it is not ready, or does not fit its libraries.

    That it does not answer them is the node's where Slurm gave the job GPUs; elsewhere there may be none.
    """
    given = facts.overview is not None and (facts.overview.number("gpus") or 0) > 0
    codes = {"driver_mismatch", "system_not_ready", *(["nvml_failed"] if given else [])}
    own = (cause.row.text("file"), cause.row.get("line_no"))
    rows = facts.table("cuda_errors").where(
        lambda r: r.text("code") in codes and (r.text("file"), r.get("line_no")) != own
    )
    return rows[0] if rows else None
