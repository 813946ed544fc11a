"""Who sent a SIGKILL: by the process table where that tells, else by the node's memory where that was sampled, else by what is usual."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

_AT_ONCE_S = 120.0
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
    """Say what speaks for the host's out-of-memory killer, and what is left open; `host` is where the process ran, empty where that is not known."""
    if (seen := _at_work(facts, host)) is not None:
        result.speaks_for.append(
            claim(
                f"The kernel of {seen['node']} killed a process because the node was out of memory, {seen['before_end_s']} before the "
                f"end of the job: {seen['message']}"
            )
        )
    _by_memory(facts, host, result, seen is not None)
    result.missing.append(
        missing(
            "Whether that process was the job's, or the killer took others as well: nothing ties the kernel's line to the job."
            if seen is not None
            else "Whether the OOM killer, a memory limit, a watchdog or a person sent the signal.",
            "the job's processes (process), the whole kernel log of that node"
            if seen is not None
            else "slurmstepd's oom_kill line, the kernel log (host_event), cgroup memory (cgroup_sample), sacct's state",
        )
    )
    result.actions.append(
        claim(
            "See what used the node's memory; rerun with fewer dataloader workers or more memory."
            if seen is not None
            else "Look for an OOM kill in the kernel log of the node and in sacct (state, MaxRSS); rerun with fewer dataloader "
            "workers or more memory.",
            "supported",
        )
    )


def _at_work(facts: Facts, host: str) -> RowView | None:
    """A kill of the kernel's for want of the whole node's memory within two minutes before the end, of a process that nothing ties to the job.

    One for want of a cgroup's own memory is of that cgroup's job alone.
    """
    for row in facts.table("host_events").one_of("event", "oom_kill"):
        before = row.number("before_end_s")
        here = not host or row.text("node").partition(".")[0] == host.partition(".")[0]
        whole = row.text("limit_kind") == "CONSTRAINT_NONE" or row.text("message").startswith("Out of memory")
        if here and whole and not row.get("hidden") and before is not None and 0.0 <= before <= _AT_ONCE_S:
            return row
    return None


def _by_memory(facts: Facts, host: str, result: Assessment, seen: bool) -> None:
    """What the node's memory says of it, or else what is usual."""
    low = _scant(facts, host)
    if low is None and seen:
        result.implies.append(
            claim("The node's out-of-memory killer was at work at that time: it is the likeliest sender.", "supported")
        )
        return
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
