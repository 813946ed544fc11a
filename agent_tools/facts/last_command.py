"""The command of a batch script that failed after the program: the copy of its results, the archive, the next tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tools.say import count

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts
    from agent_tools.facts.views import RowView

_FEW = 2
"""Lines that may follow: a shell's exit status is that of its last command, whatever that prints."""


def last_command(facts: Facts) -> RowView | None:
    """The failed command that a log ends with, where training came before it and Slurm does not call the job completed."""
    if facts.overview is not None and not facts.ending.failed:
        return None
    steps = facts.progress.steps
    trained = steps.number("last_line") if steps is not None else None
    if facts.failed_children:
        return None
    for row in reversed(list(facts.table("command_failures"))):
        line = count(row, "line_no")
        same = steps is None or not steps.has("file") or steps.text("file") == row.text("file")
        if (
            (facts.progress.begun or facts.said_done(row))
            and count(row, "lines_after") <= _FEW
            and not count(row, "reports_after")
            and not (same and line < (trained or 0))
        ):
            return row
    return None
