"""What is said of a file server that did not answer the job's nodes: a standstill or a starved GPU that it explains is not the job's."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.rests import rest_since
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

_MUCH = 0.1
"""Share of the run without an answer that starves a training, all together."""
_AS_IT_BEGAN_S = 300.0
"""Between the first line of the kernel's, which waits for minutes itself, and the standstill."""
_MOST_OF_IT = 0.5
_REMOTE = lazy.compile(r"nfs|lustre|ceph|fuse|beegfs|gpfs")
_AGAIN = 3
_LONG = 0.4
"""Share of the run that a rank waits in calls on files, which starves its GPU."""


def silent_to_the_end(facts: Facts, stood_s: float | None = None) -> RowView | None:
    """A server that had not answered when the job ended, since the standstill began where that is known, else for most of the run."""
    row = _worst(facts)
    if row is None or not row.get("still"):
        return None
    if stood_s is None:
        return row if (row.number("share") or 0.0) >= _MOST_OF_IT else None
    before = row.number("before_end_s") or 0.0
    return row if abs(before - stood_s) <= max(_AS_IT_BEGAN_S, 0.1 * stood_s) else None


def silent_since(facts: Facts) -> RowView | None:
    """A server that had not answered when the job ended, and since whose silence the GPUs did nothing."""
    row = _worst(facts)
    return row if row is not None and row.get("still") and rest_since(facts, row.text("last_ts")) else None


def often_silent(facts: Facts) -> RowView | None:
    """A server that was silent for a good part of the run, again and again or for long."""
    row = _worst(facts)
    return row if row is not None and (row.number("share") or 0.0) >= _MUCH else None


def _worst(facts: Facts) -> RowView | None:
    scope = facts.scope
    if not scope["nodes"] or not scope["from_ts"] or not scope["to_ts"]:
        return None
    return facts.table("storage_stalls").first


def slow_files(facts: Facts) -> RowView | None:
    """The file system over a network on whose files a rank waited longest, where that was for a good part of the run."""
    o = facts.overview
    elapsed = o.number("elapsed_s") if o is not None else None
    row = next((r for r in facts.table("io_waits") if _REMOTE.match(r.text("fs_type"))), None)
    return row if row is not None and elapsed and (row.number("total_s") or 0.0) >= _LONG * elapsed else None


def lay_at_files(facts: Facts, row: RowView, result: Assessment) -> None:
    """Say who waited for which file system; whose that is, is told by the kernels where a server fell silent again and again."""
    text = f"What keeps the GPUs waiting are the files on {row['mount']}, which come slowly."
    result.implies.append(claim(text, "supported"))
    stall = _worst(facts)
    if stall is not None and (stall.number("stalls") or 0) >= _AGAIN:
        lay_at_storage(facts, stall, result)
        return
    who = f"rank {row['rank']}" if row.has("rank") else "a process"
    text = f"On {row['node']} {who} waited {row['total_s']} in calls on {row['mount']} ({row['fs_type']}), {row['max_s']} at once."
    result.speaks_for.append(claim(text))
    result.attribution = "undetermined"
    result.missing.append(
        missing(
            "Whether that file system is slow for everybody, or for how the job reads.",
            "the file server's own load and latency, the same read from another node, sizes and order of the reads",
        )
    )


def lay_at_storage(facts: Facts, row: RowView, result: Assessment) -> None:
    """Write down what the server did, and what of it is surely the job's: that a process waits for it, where that was seen."""
    result.attribution = "infrastructure"
    also = f" (so say {row['nodes']} of its nodes)" if (row.number("nodes") or 0) > 1 else ""
    if row.get("still"):
        text = f"The kernel of {row['node']} says at {row['last_ts']}{also}: {row['message']} It had not answered when the job ended."
    else:
        text = (
            f"The kernel of {row['node']} tells{also} {row['stalls']} times of a file server that did not answer, for {row['stalled_min']} in "
            f"all, {row['share']} of the run, the last time: {row['message']}"
        )
    result.speaks_for.append(claim(text))
    waits = next(
        (r for r in facts.table("io_waits") if _REMOTE.match(r.text("fs_type"))),
        None,
    )
    stuck = next((r for r in facts.table("host_events").one_of("event", "hung_task") if not r.get("hidden")), None)
    if waits is not None:
        result.speaks_for.append(
            claim(
                f"A process of the job waited {waits['total_s']} for {waits['mount']} ({waits['fs_type']}), {waits['max_s']} at once."
            )
        )
    elif stuck is not None:
        result.speaks_for.append(claim(f"The kernel of {stuck['node']} says, too: {stuck['message']}"))
    result.implies.append(
        claim(
            "The processes wait for that file server, and not for anything of their own: the storage is at fault.",
            "supported",
        )
    )
    result.actions.insert(
        0, claim(f"Have the file server that the kernel of {row['node']} names looked at, then rerun.")
    )
