"""Which run of a requeued job do its failures belong to? One log file often holds several, and the last one decides.

What ended an earlier run is no news of the last: an error of a GPU that the job has left behind blames nobody for how it ended.
Where the log's rows are known to be of one run or another, questions about the end are asked of the last alone. Where they are
not (a file without times), only order tells: an error that another run's own failure follows belongs to the run before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView, View

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts

_TRAINED = 3
"""Reports of training by which a run is known to have begun."""


def last_told(overview: RowView | None, told: View, runs: Iterable[RowView]) -> int | None:
    """The number of the last attempt, where there were others and something of the log may be of it; None otherwise.

    Where all that is told is known to be of earlier ones, it is the best there is: a crash prints no times of its own. A log
    that holds several runs, one after the other, tells of the last one, unless that one is not why the job failed.
    """
    last = int(overview.number("attempt") or 0) if overview is not None and overview.has("attempt") else None
    several = [r for r in runs if (r.number("sure_runs") or 0) > 1 and r.has("attempt")]
    if several and sound_at_last(overview, runs) is None:
        newest = max(int(r.number("attempt") or 0) for r in several)
        if last is None or newest >= last:
            return newest
    if overview is None or last is None or (overview.number("attempts") or 0) < 2:
        return None
    own = [r for r in told if not r.has("attempt") or int(r.number("attempt") or 0) == last]
    return last if any((r.number("reports") or 0) + (r.number("failures") or 0) > 0 for r in own) else None


def sound_at_last(overview: RowView | None, runs: Iterable[RowView]) -> RowView | None:
    """The last run of a log, where it says that it finished though its job failed: in a loop an earlier one gives the status.

    None too where Slurm ended a run before it, since a job that Slurm starts again forgets what it had failed of.
    """
    if overview is None or overview.text("state") != "FAILED":
        return None
    told = list(runs)
    for last in {r.text("file"): r for r in told}.values():
        how = [r.text("ended_how") for r in told if r.text("file") == last.text("file")]
        if how[-1] == "finished" and "job" not in how and not {"program", "launcher"}.isdisjoint(how):
            return last
    return None


def of_run_before(row: RowView, overview: RowView | None, causes: Iterable[Raised]) -> bool:
    """Whether a job that ran several times failed of something else further down in the same file."""
    if overview is None or (overview.number("attempts") or 0) < 2:
        return False
    line, file = row.number("line_no") or 0, row.text("file")
    return any(r.row.text("file") == file and (r.row.number("line_no") or 0) > line for r in causes)


def before_training(facts: Facts, row: RowView) -> bool:
    """Whether this line is a bare word above all training of its file, which then came to its own end: by an uncaught exception, or done.

    A script that prints what an earlier job or a check of the node left says as much. With a traceback it may be the program's own;
    and without one below the training it may be of its end, since standard error runs ahead of a buffered standard output.
    """
    steps, file, line = facts.progress.steps, row.text("file"), row.number("line_no") or 0
    if steps is None or steps.text("file") != file or (row.number("events") or 1) > 1:
        return False
    first, last = steps.number("first_line") or 0, steps.number("last_line") or 0
    if not line < first or (steps.number("reports") or 0) < _TRAINED:
        return False
    if any(r.row.has("frame") and _holds(r.row, file, line) for r in facts.raised):
        return False
    below = [r.row for r in facts.causes if r.row.text("severity") == "fatal" and r.row.text("file") == file]
    done = facts.progress.finish
    ended = [*(r for r in below if r.has("frame")), *([done] if done is not None and done.text("file") == file else [])]
    return any((r.number("last_line" if "last_line" in r.columns else "line_no") or 0) > last for r in ended)


def _holds(row: RowView, file: str, line: float) -> bool:
    """Whether a traceback goes over this line."""
    first = row.number("line_no") or 0
    return row.text("file") == file and first <= line <= (row.number("line_end") or first)
