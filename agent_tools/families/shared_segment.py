"""NCCL could not make the shared memory through which the ranks of a node exchange data: /dev/shm is full, too small or not to be written."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

_NO_ROOM = lazy.compile(r"No space left on device|Cannot allocate memory|failed to extend|posix_fallocate")
_DENIED = lazy.compile(r"Permission denied|Operation not permitted|Read-only file system")


def unshared(facts: Facts) -> list[RowView]:
    """What NCCL said of it; first the line that tells why."""
    rows = facts.table("nccl_events").one_of("name", "shm_failed")
    return sorted(rows, key=lambda r: not (_NO_ROOM.search(r.text("message")) or _DENIED.search(r.text("message"))))


def shared_segment(rows: list[RowView], code: str) -> Assessment:
    """It stopped the communicator while it was set up; whose the memory is that was lacking, the words do not tell."""
    row, said = rows[0], rows[0].text("message")
    result = Assessment(code, "confirmed", mode="env", confidence=0.75, attribution="undetermined")
    result.headline = (
        f"The ranks could not make the shared memory that they exchange data through on their node: {row['message']}"
    )
    result.speaks_for.append(claim(f"NCCL says: {row['message']} ({row['file']} line {row['line_no']})."))
    result.speaks_for.append(claim("No training step was reported."))
    if _DENIED.search(said):
        why = "The process may not write to /dev/shm, or to a file of that name which somebody else left there."
    elif _NO_ROOM.search(said):
        why = "/dev/shm was full or too small where the process ran; it is memory, and no disk of the job."
    else:
        why = "/dev/shm was full, too small or not to be written where the process ran."
    result.implies.append(claim(why, "supported"))
    result.missing.append(
        missing(
            "Whether the job's container gives too little of it, or something else on the node has filled or closed it.",
            "df and ls -l of /dev/shm inside the job and on the node, the container's options",
        )
    )
    advice = (
        "Look at /dev/shm inside the job (df -h, ls -l): give the container more of it (--shm-size, a larger tmpfs), have removed what "
        "earlier jobs left there, or do without it (NCCL_SHM_DISABLE), which is slower."
    )
    result.actions.append(claim(advice))
    return result
