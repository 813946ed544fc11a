"""Whether a program's crash is the last thing that it said, in a job that Slurm calls completed.

A batch script without `set -e` ends with the exit status of its last command: after `python train.py; echo done` accounting
shows COMPLETED and 0:0, and no step either where no srun started the program. Then only the log tells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tools.facts.ending import Ending, uncovered
from agent_tools.facts.fallen_part import like_another
from agent_tools.facts.shared_output import failed_beside
from store import lazy

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts
    from agent_tools.facts.views import RowView

_ECHOED = 5
"""Lines of a script's own, of its end or of what it copied, that may follow its program."""
_SUMMED = 25
"""The same, where a launcher sums up what failed."""
_SPEAKERS = frozenset({"shell", "launcher", "slurm", "program"})
_OTHER_LOG = 20
"""Lines from which on another log is one of work that may have gone well."""
_DONE = 0.9
"""Share of the planned steps from which on the work may have been done."""
_PROGRAM = lazy.compile(r"(?!.*(?:site|dist)-packages/)(?!.*/bin/).*\S+\.py:\d+ in <module>$")
_SLURMS = lazy.compile(r"(?:srun|slurmstepd)[\w.-]*: ")
_ENDS = frozenset({"application", "cuda_oom", "rendezvous", "worker_killed", "ecc"})


def beneath(ending: Ending, facts: Facts) -> Ending:
    """The ending of a job that Slurm calls completed, as its program's steps or last words show it."""
    if not ending.succeeded:
        return ending
    if (part := like_another(facts)) is not None:
        return replace(ending, succeeded=False, failed=True, hidden=part)
    if facts.progress.finished:
        return ending
    raised = any(r.row.text("severity") == "fatal" for r in facts.raised)
    shown = uncovered(ending, facts.overview, facts.table("job_steps")) if raised else ending
    if shown.succeeded and ((raised and _crashed_last(facts)) or _killed_last(facts)) and failed_beside(facts) is None:
        return replace(shown, succeeded=False, failed=True, by_log=True)
    return shown


def _crashed_last(facts: Facts) -> bool:
    """An uncaught exception that went through a whole program, and after it a few lines at most, in the job's one log.

    Where it trained, steps of its plan have to be missing: what fails after the last of them is not the training.
    """
    rows = [r.row for r in facts.raised if r.role in _ENDS and r.row.text("severity") == "fatal"]
    whole = [r for r in rows if _PROGRAM.match(r.text("entry_frame"))]
    end = facts.table("run_ending").first
    if not whole or end is None or not end.number("errors"):
        return False
    last = max(whole, key=lambda r: r.number("line_no") or 0)
    file, line = last.text("file"), last.number("line_end") or 0
    if any(r.text("file") != file and (r.number("lines") or 0) > _OTHER_LOG for r in facts.table("log_extent")):
        return False
    if facts.progress.begun and not _short(facts, end):
        return False
    if facts.progress.moved_after(line) or any((r.number("line_no") or 0) > line for r in facts.table("checkpoints")):
        return False
    told = line + (last.number("lines_left") or 0)  # the other ranks' words, and the launcher's
    after = facts.table("log_tail").where(lambda r: r.text("file") == file and (r.number("line_no") or 0) > told)
    return sum(not _SLURMS.match(r.text("text")) for r in after) <= _ECHOED


def _killed_last(facts: Facts) -> bool:
    """A process that a signal ended, by the shell's or the launcher's word, with steps of the plan missing and little after it."""
    end = facts.table("run_ending").first
    killed = facts.table("fatal_signals").where(lambda r: r.text("source") in _SPEAKERS and r.has("line_no"))
    if end is None or not killed or not _short(facts, end):
        return False
    last = max(killed, key=lambda r: r.number("line_no") or 0)
    file, line = last.text("file"), last.number("line_no") or 0
    if facts.progress.moved_after(line):
        return False
    after = facts.table("log_tail").where(lambda r: r.text("file") == file and (r.number("line_no") or 0) > line)
    return sum(not _SLURMS.match(r.text("text")) for r in after) <= _SUMMED


def _short(facts: Facts, end: RowView) -> bool:
    """Whether steps of the plan, or on the loop's own bar, are missing at the end."""
    done = end.number("done") if end.has("done") else facts.progress.done_by_bar
    return 0 < (done or 0) < _DONE
