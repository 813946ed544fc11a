"""A program that ended with an exit status of its own and, near its end, a line in its own words that speaks of failure."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.status import status_doubt
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing, spread
from store import lazy

LOOK_AT_LINE = "Look at what that line names: the input, the setting or the call."
_FATAL = lazy.compile(r"\W*(?:FATAL|Fatal) (?:ERROR|[Ee]rror)\b")
"""By its own word the program does not go on."""
_OF_OTHERS = ("nccl_events", "rendezvous_events", "cuda_errors")
_SHELLS = 126
"""From this status on it is the shell's word."""
_MOSTLY_FATAL = lazy.compile(r"\W*VERY BAD NEWS! internal error in subroutine\b")
"""VASP goes on after some of these."""


def gave_up(facts: Facts) -> bool:
    """The program left with a status of its own choice: no signal, no teardown, nothing else that ended it."""
    aborted = facts.table("launcher_failures").one_of("name", "abort_called")
    if aborted and not facts.host_oom and not facts.table("signals"):
        # What the program says to MPI is its own decision; the cancel of the step follows.
        cancelled = facts.ending.marks.get("cancelled")
        return cancelled is None or (aborted[0].number("line_no") or 0) < (cancelled.number("line_no") or 0)
    statuses = [r.number("exit_code") for r in (*facts.failed_children, *facts.table("slurm_messages"))]
    signalled = any(r.has("signal") for r in facts.failed_children) or facts.ending.torn_down
    if signalled or facts.ending.says("cancelled", "host_oom") or facts.table("signals"):
        return False
    return any(s for s in statuses) and all(0 <= s < 126 for s in statuses if s is not None)


def last_words(facts: Facts) -> RowView | None:
    """The line that speaks of failure among the last that the program printed, where Slurm has an error status of the job's own.

    The status is that of the script's last command, so a line further up may be of another one.
    """
    o = facts.overview
    status = (o.number("exit_code") or 0) if o is not None and facts.state == "FAILED" else 0
    if o is None or not 0 < status < _SHELLS or o.number("exit_signal") or status_doubt(facts) is not None:
        return None
    if facts.ending.torn_down or facts.ending.says("cancelled", "host_oom") or facts.table("signals"):
        return None
    row = next((r for r in facts.table("plain_errors") if _closes(facts, r)), None)
    # What NCCL, the rendezvous or CUDA prints is judged by those that know their words.
    return None if row is None or any(facts.table(t) for t in _OF_OTHERS) else row


def _closes(facts: Facts, row: RowView) -> bool:
    """The line is the last that the program said, and no launcher's about it."""
    told = {r.number("line_no") for r in facts.table("launcher_failures") if r.text("file") == row.text("file")}
    return bool(row.get("closing")) and row.number("line_no") not in told


def ends_it(row: RowView) -> bool:
    """By the program's own word it does not go on after this line."""
    said = row.text("text")
    return _FATAL.match(said) is not None or (bool(row.get("closing")) and _MOSTLY_FATAL.match(said) is not None)


def own_words(facts: Facts, row: RowView, code: str, mode: str, *, sure: bool) -> Assessment:
    """What the line says, quoted; `sure` where its words are those of a known fault."""
    last = sure or _closes(facts, row)
    result = Assessment(code, "confirmed" if last else "suspected", mode=mode, attribution="job")
    result.confidence = 0.7 if sure else 0.62 if last else 0.45
    result.speaks_for.append(claim(f"{spread(row)} printed: {row['text']} ({row['file']} line {row['line_no']})."))
    result.missing.append(
        missing(
            "Whether that line is why the program ended.", "the program's own log, or a run with more verbose output"
        )
    )
    return result


def stopped_itself(facts: Facts) -> RowView | None:
    """The line in which a program whose work was under way says why it leaves, where no exception does."""
    row = facts.table("plain_errors").first
    if row is None or facts.raised or facts.ending.succeeded or not facts.progress.begun:
        return None
    if not gave_up(facts) and not ends_it(row) and (row := last_words(facts)) is None:
        return None
    return None if facts.progress.moved_after(int(row.number("line_no") or 0)) else row
