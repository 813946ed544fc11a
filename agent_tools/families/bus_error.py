"""A process that a bus error ended: a page of memory that a file stands behind could not be brought in.

Weights and data sets that are mapped (safetensors, memmap, Arrow) are read by the kernel when they are touched. A read that
the storage refuses, or a file that was cut short or replaced meanwhile, comes out as SIGBUS, and so does a write to shared
memory that is full. The signal alone does not tell which.
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.native import kernel_word, native_crash
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from agent_tools.verdict import Claim

_LOADERS = ("dataloader_killed", "shared_memory", "worker_crashed")
_UNREAD = ("stale", "io_error", "disconnected", "timed_out")
"""A file system's words for what it had and could not give."""
_FULL = ("no_space", "quota")
_NEAR_S = 600.0
_SHM = (
    "Look at the size of /dev/shm inside the job or its container (df -h /dev/shm) and raise it (--shm-size, a larger "
    "mount or memory limit), or use fewer workers, a smaller prefetch or the sharing strategy file_system."
)


def bus_error(facts: Facts, row: RowView, result: Assessment) -> None:
    """Say what the bus error of `row` (of `fatal_signals`) can mean, and lay it where another source speaks of the cause."""
    if row.text("name") in _LOADERS:
        usual = "A bus error in a worker of a DataLoader means most often that shared memory (/dev/shm) is full: workers hand their batches over there."
        _full_memory(result, usual, "Whether shared memory was full.")
    elif kernel_word(facts, row) is not None:
        native_crash(facts, row, result, seen_by_kernel=False)
    elif (full := _said(facts, *_FULL, shared=True)) is not None:
        result.speaks_for.append(
            claim(f"The log says, too: {full['message']} ({full['file']} line {full['line_no']}).")
        )
        _full_memory(result, "A write to shared memory that is full ends in a bus error.", "What filled shared memory.")
    elif (storage := _unread(facts, row)) is not None:
        result.attribution = "infrastructure"
        result.speaks_for.append(storage)
        text = "A page of a mapped file that the storage does not give ends the process that touches it in a bus error."
        result.implies.append(claim(text, "supported"))
        result.missing.append(
            missing("Whether the file that was mapped lies there.", "the stack, the path of the file")
        )
        result.actions.append(claim("Have that storage looked at, then rerun from the last checkpoint."))
    else:
        _open(facts, result)


def _full_memory(result: Assessment, why: str, lacks: str) -> None:
    result.attribution = "job"
    result.implies.append(claim(why, "supported"))
    result.actions.append(claim(_SHM))
    result.missing.append(missing(lacks, "df of /dev/shm in the job, its memory limit"))


def _open(facts: Facts, result: Assessment) -> None:
    """Nothing but the signal is known."""
    result.attribution = "undetermined"
    result.implies.append(
        claim(
            "A bus error is how a program learns that a page which a file stands behind cannot be had: a mapped file (weights, "
            "a data set) that was cut short or replaced or that its storage does not give, or shared memory that is full.",
            "supported",
        )
    )
    kernel = "" if facts.has("host_event") else "the kernel log of its node (host_event), "
    result.missing.append(
        missing(
            "Whether the job, a full /dev/shm or the storage of a mapped file is at fault.",
            f"{kernel}a faulthandler stack that names the call, df of /dev/shm, the size of the file that was mapped",
        )
    )
    result.actions.append(
        claim(
            "Compare the files that it maps with their originals (size, checksum), look at /dev/shm, and rerun with "
            "PYTHONFAULTHANDLER set: the stack names the call.",
        )
    )


def _said(facts: Facts, *names: str, shared: bool = False) -> RowView | None:
    """A word of the file system in the log that the run did not outlive; `shared` where it has to be of /dev/shm."""
    for r in reversed(facts.table("other_events").one_of("name", *names)):
        if r.text("kind") != "storage" or facts.progress.moved_after(r.number("last_line") or 0.0):
            continue
        if not shared or "/dev/shm" in r.text("message") or r.text("peer").startswith("/dev/shm"):
            return r
    return None


def _unread(facts: Facts, row: RowView) -> Claim | None:
    """What the kernel of its node or the log says of storage that failed just then."""
    host = row.text("host").partition(".")[0]
    for r in facts.table("host_events").one_of("event", "storage", "filesystem"):
        near = r.has("before_end_s") and -60.0 <= (r.number("before_end_s") or 0.0) <= _NEAR_S
        if near and not r.get("hidden") and (not host or r.text("node").partition(".")[0] == host):
            return claim(f"The kernel of {r['node']} says, {r['before_end_s']} before the end: {r['message']}")
    told = _said(facts, *_UNREAD)
    if told is None:
        return None
    return claim(f"The log says, too: {told['message']} ({told['file']} line {told['line_no']}).")
