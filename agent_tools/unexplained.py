"""What a log says at an end of which nothing tells whether it came of it: told beside an undetermined verdict, a doubt of a good one."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.shared_output import shared_meanwhile
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from agent_tools.references import plain
from agent_tools.verdict import Claim

CAUGHT = 0.6
"""Highest confidence in a good end below which the program prints the text of an exception that it had caught."""
_ENDED_WELL = frozenset({"G1", "E3"})
_CRASHES = frozenset({4, 6, 7, 8, 11})
"""ILL, ABRT, BUS, FPE, SEGV: what a fault of a program raises, and hardly anybody sends."""
_BY_SLURM = frozenset({"F1", "F2", "F3", "F4"})
"""Families that go by Slurm's word first."""
_NO_ROOM = frozenset({"no_space", "quota", "write_failed"})
_KEPT = (
    "Whether what the run was to leave behind is whole.",
    "its checkpoints and results, and the space that is left there",
)
_MOST = 3
"""Events that are told."""
_TOLD = frozenset({"slurm", "nccl_info", "checkpoint"})
"""Kinds of which a verdict tells anyway, or which are no trouble."""
_SEVERE = ("fatal", "error", "warning")
_ALIKE = 60
"""Characters of a message by which it is known again."""


def unexplained(facts: Facts, chosen: Assessment) -> list[Claim]:
    """The worst events of the log that the undetermined verdict does not tell yet."""
    if not facts.has("log_event"):
        return []
    said = (chosen.headline, *(c.text for c in chosen.speaks_for))
    told = _one_line(" ".join(plain(t, facts.ledger) for t in said))
    rows = [
        r
        for r in facts.table("log_events")
        if (r.text("severity") in _SEVERE or r.text("name") == "on_cpu")
        and r.text("kind") not in _TOLD
        and r.has("message")
        and _one_line(r.text("message"))[:_ALIKE] not in told
    ]
    return [
        claim(
            f"The log also says, without telling what came of it: {_name(r)}{r['message']} ({r['file']} line {r['line_no']})."
        )
        for r in rows[:_MOST]
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def doubt_later_crash(facts: Facts, chosen: Assessment) -> None:
    """Make a verdict on a good end less sure where the script then started a program that crashed, and went on over it.

    The shell says that of a program for which it waited. Only signals count that a fault raises: a script ends its helpers itself.
    """
    if chosen.code not in _ENDED_WELL or not facts.ending.succeeded or not facts.progress.begun:
        return
    for row in facts.table("fatal_signals"):
        crashed = row.text("source") == "shell" and row.number("signal") in _CRASHES
        if crashed and row.has("line_no") and not facts.progress.moved_after(row.number("line_no") or 0):
            chosen.confidence = min(chosen.confidence, CAUGHT)
            text = f"After the training a program of the batch script was ended by {row['signal_name']}, and the script went on: {row['message']} ({row['file']} line {row['line_no']})."
            chosen.warnings.append(claim(text, "established"))
            return


def doubt_lost_write(facts: Facts, chosen: Assessment) -> None:
    """Say beside a good end that something could not be written for want of room: the program went on, what it kept may lack it."""
    if chosen.code not in _ENDED_WELL:
        return
    rows = facts.table("other_events").where(lambda r: r.text("kind") == "storage" and r.text("name") in _NO_ROOM)
    if not rows:
        return
    text = f"Something could not be written, and the program went on: {rows[0]['message']} ({rows[0]['file']} line {rows[0]['line_no']})."
    chosen.warnings.append(claim(text, "established"))
    chosen.missing.append(missing(*_KEPT))


def doubt_shared_output(facts: Facts, chosen: Assessment) -> None:
    """Say that another job wrote into the same file meanwhile, and how it ended; what rests on the log's words is less sure for it."""
    if chosen.code in _BY_SLURM or (other := shared_meanwhile(facts)) is None:
        return
    if other.number("exit_code"):
        chosen.confidence = min(chosen.confidence, CAUGHT)
    text = f"Job {other['job_id']} wrote into the same file while this one ran, and is {other['state']}: whose a line is, nothing tells."
    chosen.warnings.append(claim(text, "established"))
    chosen.missing.append(
        missing("Which lines of the log are its own.", "a file of output for each job (--output with %j)")
    )


def _name(row: RowView) -> str:
    return f"{row['name']}: " if row.text("kind") == "exception" else ""


def doubt_last_word(facts: Facts, chosen: Assessment) -> None:
    """Make a verdict on a run that came to its end less sure where an error that it caught is the last of its log."""
    last = next((r for r in facts.raised if r.untyped), None)
    if chosen.code not in _ENDED_WELL or last is None or facts.ending.succeeded:
        return
    chosen.confidence = min(chosen.confidence, CAUGHT)
    chosen.missing.append(
        missing(
            f"Whether the program failed in the end of what its log ends with: {last.message_ref}.",
            "its exit status, from sacct (slurm_job)",
        )
    )
