"""Which run of a requeued job do its failures belong to? One log file often holds several, and the last one decides.

What ended an earlier run is no news of the last: an error of a GPU that the job has left behind blames nobody for how it ended.
Where the log's rows are known to be of one run or another, questions about the end are asked of the last alone. Where they are
not (a file without times), only order tells: an error that another run's own failure follows belongs to the run before.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView, View


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
