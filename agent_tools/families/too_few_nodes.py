"""A launcher that was told to wait for more nodes than the job has: a group that can never form."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim
from store import lazy

_COMMAND = r"(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate launch)\b.*\s--(?:nnodes|num_machines)[= ]\d"
_NODES = lazy.compile(r"\s--(?:nnodes|num_machines)[= ](?P<least>\d{1,5})(?::\d{1,5})?\b")


def waits_for_more(facts: Facts) -> RowView | None:
    """The line of the log that shows such a command; None where one of them is content with the job's nodes, or none is shown."""
    nodes = facts.overview.number("node_count") if facts.overview is not None else None
    if not nodes:
        return None
    shown = [r for r in facts.table("log_search", pattern=_COMMAND) if _NODES.search(r.text("text"))]
    least = [int(m["least"]) for r in shown if (m := _NODES.search(r.text("text"))) is not None]
    return shown[0] if least and min(least) > nodes else None


def lay_at_command(facts: Facts, result: Assessment) -> bool:
    """Name that command as the cause, and the job's script as what has to change; False where there is none."""
    row = waits_for_more(facts)
    if row is None or facts.overview is None:
        return False
    held = f"{facts.overview['node_count']} node{'s' if (facts.overview.number('node_count') or 0) > 1 else ''}"
    result.headline = (
        f"The ranks never formed their process group: the launcher waits for more nodes than the job has ({held})."
    )
    result.attribution = "job"
    result.speaks_for.insert(
        0,
        claim(
            f"The job held {held}, and its command asks for more: {row['text']} ({row['file']} line {row['line_no']})."
        ),
    )
    result.actions.insert(
        0,
        claim(
            "Make the number of nodes in the launcher's command that of the allocation (SLURM_NNODES), or ask Slurm for as many."
        ),
    )
    return True
