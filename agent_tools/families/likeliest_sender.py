"""Who sent a SIGKILL that nobody owns up to: by the node's memory where that was sampled, else by what is usual."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim

_SCANT = 0.05
"""Share of a node's memory below which its kernel may have had to kill for it."""


def likeliest_sender(facts: Facts, host: str, result: Assessment) -> None:
    """Say what speaks for the host's out-of-memory killer; `host` is where the process ran, empty where that is not known."""
    low = _scant(facts, host)
    if low is None:
        result.implies.append(
            claim(
                "A kill without a stack is most often the host's out-of-memory killer or a memory limit; dataloader workers and "
                "weights that are loaded into host memory are the usual cause.",
                "hypothesis",
            )
        )
        return
    before = f"; in the run before that it was {low['before_gib']} as a rule" if low.has("before_gib") else ""
    result.speaks_for.append(
        claim(
            f"{low['node']} had {low['available_gib']} of its {low['total_gib']} of memory left at {low['least_ts']}{before}."
        )
    )
    text = "The node's memory was all but used up: its out-of-memory killer is the likeliest sender."
    result.implies.append(claim(text, "supported"))


def _scant(facts: Facts, host: str) -> RowView | None:
    """The node of the job that had next to no memory left shortly before its end."""
    for row in facts.table("host_memory"):
        share = row.number("share")
        here = not host or row.text("node").partition(".")[0] == host.partition(".")[0]
        if here and share is not None and share < _SCANT:
            return row
    return None
