"""A1 where a native program aborted at the runtime's word that it was not built for this GPU or driver: no Python, no traceback."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.faults import classify
from agent_tools.families.base import Assessment
from agent_tools.families.remedies import remedy
from agent_tools.families.wording import claim, missing

_FATAL = ("no_kernel_image", "driver_insufficient")
"""Codes of `cuda_setup` with which no kernel runs at all; frameworks also warn of them and go on, so the abort has to follow."""
_SIGABRT = 6


def unfit_device(facts: Facts) -> Assessment | None:
    """The verdict where the process aborted itself after such a word and before training; None otherwise.

    Signals and errors are asked for only where they can count, so that no other verdict's evidence is numbered anew.
    """
    if facts.progress.begun or facts.ending.succeeded:
        return None
    told = facts.table("cuda_errors").where(lambda r: r.text("name") == "cuda_setup" and r.text("code") in _FATAL)
    ends = facts.table("fatal_signals").rows if told else []
    if not ends or any(r.get("signal") != _SIGABRT for r in ends):
        return None
    last, end = told[-1], ends[0]
    fault = classify("", last.text("message"), "")
    if (last.number("line_no") or 0) > (end.number("line_no") or 0):
        return None
    result = Assessment("A1", "confirmed", mode="env", confidence=0.7, attribution="job")
    result.headline = f"The program aborted itself before training began: {fault.why}."
    result.speaks_for += [
        claim(f"The log says: {last['message']} ({last['file']} line {last['line_no']})."),
        claim(f"The process was aborted after it: {end['message']} (line {end['line_no']})."),
        claim("No training step was reported before it."),
    ]
    result.implies.append(
        claim("Without a kernel that this GPU and its driver can run, nothing was computed.", "supported")
    )
    result.actions.append(claim(remedy(fault)))
    result.missing.append(
        missing(
            "Which call it was, and on which node.", "the program's own log, and nvidia-smi on the node (driver, GPU)"
        )
    )
    return result
