"""A part of a job that an exception ended while its other parts worked on: one of several steps side by side, or a task of a step.

Their reports go on below the traceback in the same file, as they do where a program has caught what it prints. What tells the two
apart is Slurm's word: the part ended with the exit status of an uncaught exception, and nothing was begun after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tools.facts.core import Facts
    from agent_tools.facts.views import RowView

_UNCAUGHT = 1
"""SOURCE: Python's Py_RunMain (Modules/main.c) returns this where an exception went through the whole program."""


def like_another(facts: Facts) -> RowView | None:
    """The step that such an exception ended beside another one of the same name, which ran before and after that end.

    Steps of one name are parts of one work, of which a part failed. A monitor or a server beside the work goes by another.
    """
    if not any(_uncaught(r.row) for r in facts.raised):
        return None
    failed, steps = _failed(facts)
    return (
        failed if failed is not None and any(_outlasts(s, failed) and _named_alike(s, failed) for s in steps) else None
    )


def fell(facts: Facts, row: RowView) -> bool:
    """Whether this exception ended a task or a step of a job that failed, whatever others reported after it.

    It has to be the last of its kind: one before it may have been printed by a program that went on.
    """
    if not facts.ending.failed or not _uncaught(row) or not _told_of(facts, row):
        return False
    later = (r for r in facts.raised if r.role == "application" and _uncaught(r.row))
    if any(_line(r.row) > _line(row) and r.row.text("file") == row.text("file") for r in later):
        return False
    failed, steps = _failed(facts)
    return failed is not None and ((failed.number("tasks") or 1) > 1 or any(_outlasts(s, failed) for s in steps))


def _failed(facts: Facts) -> tuple[RowView | None, list[RowView]]:
    """The one step that ended so, and the others; no step where another was begun after that end, or several ended so."""
    steps = [
        r for r in facts.table("job_steps") if r.text("step_id").isdigit() and r.has("start_ts") and r.has("end_ts")
    ]
    failed = [r for r in steps if r.text("state") == "FAILED" and r.number("exit_code") == _UNCAUGHT]
    if not failed and facts.overview is not None and facts.overview.number("exit_code") == _UNCAUGHT:
        # Of several tasks accounting may keep another one's status, where srun was to let the others go on.
        failed = [r for r in steps if (r.number("tasks") or 1) > 1 and all(_outlasts(r, s) for s in steps)]
    if len(failed) != 1 or any(s.text("start_ts") > failed[0].text("end_ts") for s in steps):
        return None, []
    return failed[0], [s for s in steps if s is not failed[0]]


def _outlasts(other: RowView, failed: RowView) -> bool:
    return other.text("start_ts") <= failed.text("end_ts") <= other.text("end_ts")


def _named_alike(one: RowView, other: RowView) -> bool:
    return one.has("name") and one.text("name") == other.text("name")


def _told_of(facts: Facts, row: RowView) -> bool:
    """srun's word of a task that ended with that status, below the traceback where both are in one file."""
    exits: Iterable[RowView] = facts.table("slurm_messages").one_of("name", "task_exit")
    return any(
        r.number("exit_code") == _UNCAUGHT and (r.text("file") != row.text("file") or _line(r) > _line(row))
        for r in exits
    )


def _uncaught(row: RowView) -> bool:
    return row.text("severity") == "fatal" and row.text("entry_frame").endswith(" in <module>")


def _line(row: RowView) -> float:
    return row.number("line_no") or 0
