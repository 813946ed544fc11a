"""Small makers of claims, so that a family reads as sentences."""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.progress import CLOSING
from agent_tools.facts.shared_output import failed_beside
from agent_tools.facts.views import RowView
from agent_tools.verdict import Claim, ClaimStatus, Missing
from store import lazy


def say(*texts: str, status: ClaimStatus = "established") -> list[Claim]:
    """Claims from the texts that are not empty."""
    return [Claim(text=t, status=status) for t in texts if t]


UNENDED = (
    "RUNNING",
    "PENDING",
    "SUSPENDED",
    "CONFIGURING",
    "COMPLETING",
    "STOPPED",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
)
"""Slurm's states of jobs that have not ended."""


def recorded(overview: RowView) -> str:
    """What Slurm has of the end, without a full stop; that it has none where the job still waits or runs."""
    if overview.text("state") in UNENDED:
        return f"Slurm has the job as {overview['state']}"
    return f"Slurm recorded the end as {overview['state']}"


def lacks(text: str, signal: str) -> Missing:
    """Something that cannot be decided and the signal that would decide it."""
    return Missing(text=text, signal=signal)


_AT_ONCE = 2
"""Lines after the announcement of a save within which what a save raises is of that one."""
_FULL = lazy.compile(r"No space left|quota exceeded|Errno (?:28|122)\b", re.IGNORECASE)


def count(row: RowView | None, column: str) -> float:
    """A counter's value, zero where the row or the value is absent."""
    return (row.number(column) or 0.0) if row is not None else 0.0


def quoted(row: RowView, message: str, line: str) -> str:
    """A message and its line as references: `"[[E4.error_message]]" (line [[E4.error_line]])`."""
    where = f" (line {row[line]})" if row.has(line) else ""
    return f'"{row[message]}"{where}'


def resumption(facts: Facts) -> str:
    """Where a run that ended early can go on: the last checkpoint that its log announces; empty where nothing was trained."""
    if not facts.progress.begun:
        return ""
    if not facts.has_log:
        return "Resume from the last checkpoint, if the run wrote one: its log is not here."
    saved = [c for c in facts.table("checkpoints") if c.text("name") == "saved"]
    begun = [c for c in facts.table("checkpoints") if c.text("name") == "saving"]
    cut = _cut_saves(facts, begun)
    after = begun[-1] if begun and begun[-1] in cut else None
    begun = [c for c in begun if c not in cut]
    if not saved and not begun:
        return "Its log announces no saved checkpoint: look for one where the run writes before starting from the beginning."
    last, told = (saved[-1], "announced") if saved else (begun[-1], "its saving is announced")
    where = f", {last['path']}" if last.has("path") else ""
    what = f"the checkpoint of step {last['step']}{where}" if last.has("step") else f"the last checkpoint{where}"
    cut_off = f"; the writing of another one, begun in line {after['line_no']}, failed" if after and not saved else ""
    return f"Resume from {what} ({told} in line {last['line_no']}){cut_off}" + (
        "." if saved else "; see that it is whole."
    )


def _cut_saves(facts: Facts, begun: list[RowView]) -> list[RowView]:
    """Of the saves that were begun those that failed: the last one before a failure to save, or before what a save raised at once."""
    failures = [c for c in facts.table("checkpoints") if c.text("name") == "failed"]
    cut: list[RowView] = []
    for failure in failures:
        line = count(failure, "line_no")
        earlier = [c for c in begun if c.text("file") == failure.text("file") and count(c, "line_no") <= line]
        cut += earlier[-1:]
    raised = [
        (r.row.text("file"), count(r.row, "line_no"))
        for r in (facts.causes if begun else [])
        if r.saving or _FULL.search(r.message)
    ]
    cut += [
        c
        for c in begun[-1:]
        if any(file == c.text("file") and 0 < line - count(c, "line_no") <= _AT_ONCE for file, line in raised)
    ]
    return cut


def left_last(facts: Facts) -> str:
    """What srun says of a task that left with a status of its own after all that was trained; empty where accounting tells more."""
    if facts.overview is not None:
        return ""
    steps = facts.progress.steps
    for row in facts.table("slurm_messages").one_of("name", "task_exit"):
        trained = steps.number("last_line") if steps is not None and steps.text("file") == row.text("file") else None
        if row.number("exit_code") and (row.number("line_no") or 0) > (trained or 0):
            return f"{row['message']} ({row['file']} line {row['line_no']})"
    return ""


def own_failure(facts: Facts, *, causes_only: bool = False) -> str:
    """What the program itself failed of, by its log, in words with a reference; empty where it printed nothing of the kind.

    A cancel, a time limit or a shutdown that comes after one of these is its consequence. `causes_only` leaves out what the
    death of one process does to the others: broken collectives, signals, a launcher's summary. Where a job that failed wrote into
    the same file, the word of a failure says nothing of one that Slurm calls completed.
    """
    said = _own_failure(facts, causes_only=causes_only)
    if said and facts.ending.succeeded and failed_beside(facts) is not None:
        return ""
    return said


def _own_failure(facts: Facts, *, causes_only: bool = False) -> str:
    end = facts.table("run_ending").first
    if end is None:
        return ""
    if count(end, "cuda_ooms"):
        return f"CUDA ran out of memory ({end['cuda_ooms']} messages)"
    if count(end, "host_ooms"):
        return f"the host ran out of memory ({end['host_ooms']} messages)"
    passed = _outlived(facts, end) or _cut_after(facts, end) or _caught_after(facts, end)
    if count(end, "errors") and not passed:
        where = f" (line {end['error_line']})" if end.has("error_line") else ""
        return f"{end['error_name']} was raised{where}"
    if causes_only:
        return ""
    if count(end, "collective_errors") and not _all_past(facts, "nccl_events"):
        return f"a collective timed out or failed ({end['collective_errors']} messages)"
    if count(end, "rendezvous_errors"):
        return f"the process group did not form ({end['rendezvous_errors']} messages)"
    if count(end, "fatal_signals") and not _reported_after(end) and not _all_past(facts, "fatal_signals"):
        return f"a process was ended by a fatal signal ({end['fatal_signals']} messages)"
    if count(end, "failed_children"):
        return f"a launcher lists failed children ({end['failed_children']})"
    if count(end, "aborts"):
        return f"the program called MPI_Abort ({end['aborts']} messages)"
    return ""


def _all_past(facts: Facts, query: str) -> bool:
    """Whether the run trained on after all that this query tells of, and came to its end."""
    rows = facts.table(query)
    return bool(rows) and all(facts.trained_past(r) for r in rows)


def _reported_after(end: RowView) -> bool:
    """Whether a batch system says at the end of the output that it killed the job: the shell tells of that kill before."""
    return end.text("stop_system") in ("lsf", "pbs", "sge", "htcondor", "flux")


def _outlived(facts: Facts, end: RowView) -> bool:
    """Whether a loop that no parser knows went on after the only error: its bar or its lines moved further down."""
    hints = facts.progress.hints
    if hints is None or count(end, "errors") > 1:
        return False
    own = next((r.row for r in facts.raised if r.row.number("line_no") == end.number("error_line")), None)
    line = count(own, "line_end") or count(end, "error_line")
    bar = count(hints, "bar_line") if count(hints, "bar_step") > 1 else 0
    return count(hints, "last_line") > line or bar > line + CLOSING


def _cut_after(facts: Facts, end: RowView) -> bool:
    """Whether all that was raised is what a log ends inside of, below the word of who stopped the run: raised by that end."""
    stop, cuts = count(end, "stop_line"), [r for r in facts.of_role("cut", "wrapper") if r.name == "Traceback"]
    if not stop or count(end, "progress_line") > stop or count(end, "errors") != len(cuts):
        return False
    return all(r.row.text("file") == end.text("stop_file") and count(r.row, "line_no") > stop for r in cuts)


def _caught_after(facts: Facts, end: RowView) -> bool:
    """Whether all that was raised is a text that the program printed, having caught it, after it had said that its training was done."""
    own = next((r for r in facts.raised if count(r.row, "line_no") == count(end, "error_line")), None)
    return own is not None and own.untyped and count(end, "errors") == 1 and facts.left_over(own)
