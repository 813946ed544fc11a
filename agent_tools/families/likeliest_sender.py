"""Who sent a SIGKILL: by the process table where that tells, else by the node's memory where that was sampled, else by what is usual."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

_SCANT = 0.05
"""Share of a node's memory below which its kernel may have had to kill for it."""


def sent_by(facts: Facts, row: RowView) -> RowView | None:
    """The row that tells who sent that signal: itself, or another source's of the same process or rank."""
    if "sender" not in row.columns:
        return None
    if row.has("sender"):
        return row
    return next((r for r in facts.table("fatal_signals") if r.has("sender") and _same(r, row)), None)


def _same(told: RowView, row: RowView) -> bool:
    """Whether two sources tell of the end of one process; each may know more of them, and tells of its first by name."""
    if told.get("signal") != row.get("signal"):
        return False
    shared = {r for r in row.text("all_ranks").split(", ") if r} & set(told.text("all_ranks").split(", "))
    return bool(shared) or (row.has("pid") and row.get("pid") == told.get("pid"))


def known_sender(sent: RowView, result: Assessment) -> None:
    """Say of a kill whose sender is on record what that leaves open."""
    text = f"{sent['sender']} ended it: not the program itself, and not the kernel for want of memory."
    result.implies.append(claim(text, "supported"))
    result.missing.append(
        missing(f"Why {sent['sender']} sent it.", "the operators, or the log of that program on the node")
    )
    result.actions.append(
        claim(f"Ask whoever stands behind {sent['sender']} on {sent['host']} why, then resubmit.", "supported")
        if sent.has("host")
        else claim(f"Ask whoever stands behind {sent['sender']} why, then resubmit.", "supported")
    )


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
