"""Which run of a requeued job do its failures belong to? One log file often holds several, and the last one decides.

What ended an earlier run is no news of the last: an error of a GPU that the job has left behind blames nobody for how it ended.
Where the log's rows are known to be of one run or another, questions about the end are asked of the last alone. Where they are
not (a file without times), only order tells: an error that another run's own failure follows belongs to the run before.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView, View

OF_THE_END = frozenset(
    {
        "closing_words",
        "cuda_errors",
        "end_words",
        "exceptions",
        "fatal_signals",
        "host_oom_words",
        "launcher_failures",
        "nccl_events",
        "oom_events",
        "other_events",
        "plain_errors",
        "rendezvous_events",
        "run_ending",
        "signals",
        "slurm_messages",
    }
)
"""Queries about how a run ended. What spans runs (requeues, checkpoints, the loss over a resumption) is asked of all."""


def last_told(overview: RowView | None, told: View) -> int | None:
    """The number of the last attempt, where there were others and something of the log may be of it; None otherwise.

    Where all that is told is known to be of earlier ones, it is the best there is: a crash prints no times of its own.
    """
    if overview is None or (overview.number("attempts") or 0) < 2 or not overview.has("attempt"):
        return None
    last = int(overview.number("attempt") or 0)
    own = [r for r in told if not r.has("attempt") or int(r.number("attempt") or 0) == last]
    return last if any((r.number("reports") or 0) + (r.number("failures") or 0) > 0 for r in own) else None


def of_run_before(row: RowView, overview: RowView | None, causes: Iterable[Raised]) -> bool:
    """Whether a job that ran several times failed of something else further down in the same file."""
    if overview is None or (overview.number("attempts") or 0) < 2:
        return False
    line, file = row.number("line_no") or 0, row.text("file")
    return any(r.row.text("file") == file and (r.row.number("line_no") or 0) > line for r in causes)
