"""Crashes in native code, as the kernel of the node saw them: it names the library in which the process died."""

from __future__ import annotations

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from store import lazy

_IN = lazy.compile(r" in [\w.+-]+\[[0-9a-f]+\+[0-9a-f]+\]")
_BELOW = lazy.compile(r" in lib(?:cuda|nvidia|nccl|mlx|ibverbs|rdmacm|fabric|uc[pst]|psm)[\w.+-]*\[")
_NEAR_S = 300.0
_REFUSED = lazy.compile(r"\bstd::bad_alloc\b")


def native_crash(facts: Facts, row: RowView, result: Assessment, *, seen_by_kernel: bool) -> None:
    """What a crash below Python implies, and in which library it was; `row` is of `host_events` where the kernel saw it."""
    result.attribution = "job"
    if not seen_by_kernel and _REFUSED.search(row.text("message")):
        _given_no_memory(result)
        return
    result.implies.append(
        claim(
            "A native crash: a C or CUDA extension, a library or a full shared memory segment, below Python.",
            "supported",
        )
    )
    result.actions.append(
        claim("Set PYTHONFAULTHANDLER, keep a core file and rerun: the stack names the library; check its version.")
    )
    line = row if seen_by_kernel and _IN.search(row.text("message")) else None
    if not seen_by_kernel and (line := kernel_word(facts, row)) is not None:
        result.speaks_for.append(claim(f"The kernel of {line['node']} names the library: {line['message']}"))
    if line is None:
        kernel = "" if seen_by_kernel else "; the node's kernel log (host_event)"
        result.missing.append(missing("Which library crashed.", f"a core file or a faulthandler stack{kernel}"))
        return
    if _BELOW.search(line.text("message")):  # the site brings such a library, or the hardware makes it crash
        result.attribution = "undetermined"
    result.missing.append(missing("Why it crashed there.", "a core file or a faulthandler stack"))


def _given_no_memory(result: Assessment) -> None:
    """C++ ends a program by an exception of this type that nobody catches: no library broke, an allocation was refused."""
    result.headline = "A process aborted, with no Python traceback: it asked for host memory and was given none."
    result.implies.append(
        claim(
            "The memory that it asked for was refused: the job's limit or the host's memory was used up, or the size that it asked "
            "for was computed wrongly. It is host RAM, not GPU memory.",
            "supported",
        )
    )
    result.missing.append(
        missing(
            "Whether memory was used up, or the size was wrong.",
            "MaxRSS against the job's limit (sacct), cgroup memory (cgroup_sample), a core file",
        )
    )
    result.actions.append(
        claim(
            "Compare what it held with what it may hold (sacct: MaxRSS, ReqMem) and ask for more host memory; where it held little, "
            "look in a core file how the size is computed."
        )
    )


def kernel_word(facts: Facts, crash: RowView) -> RowView | None:
    """The kernel's line on the process that `crash` (a row of `fatal_signals`) tells of, where it names a library.

    Known by the process id, else as the only such line of that node near the end.
    """
    if not facts.times_known:
        return None
    lines = [
        r
        for r in facts.table("host_events").one_of("event", "segfault", "trap")
        if _IN.search(r.text("message")) and abs(r.number("before_end_s") or 0.0) <= _NEAR_S
    ]
    if crash.has("pid") and (same := [r for r in lines if r.get("pid") == crash.get("pid")]):
        return same[0]
    near = [r for r in lines if crash.has("host") and r.text("node") == crash.text("host")]
    return near[0] if len(near) == 1 else None
