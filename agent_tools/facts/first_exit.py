"""Which process of a step or launcher ended first, by a status of its own: the others were killed because of it."""

from __future__ import annotations

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView

_BY_SIGNAL = 128
"""A shell's exit status above this names the signal that ended the program."""
_BEYOND_SIGNALS = 160
"""A status from here on is a program's own (Fortran's runtime ends with 174): no signal that ends a program has such a number."""


def peers_first(facts: Facts, line: float) -> bool:
    """A task had failed before the cancellation: then srun cancelled the step because of it."""
    exits = facts.table("slurm_messages").one_of("name", "task_exit")
    return any((r.number("line_no") or 0) < line for r in exits)


def exited_first(facts: Facts, rows: list[RowView]) -> RowView | None:
    """The task whose end with a status of its own made srun kill the others; None where there is none.

    srun reports that end before the first killed task, or had told before it that it aborts the step: it kills only then.
    """
    if any(r.text("source") != "slurm" or r.get("signal") != 9 for r in rows):
        return None
    killed, messages = min((r.number("line_no") or 0 for r in rows), default=0), facts.table("slurm_messages")
    aborted = any((r.number("line_no") or killed) < killed for r in messages.one_of("name", "step_aborted"))
    exits = messages.where(
        lambda r: (
            r.text("name") == "task_exit"
            and (0 < (r.number("exit_code") or 0) < _BY_SIGNAL or (r.number("exit_code") or 0) >= _BEYOND_SIGNALS)
            and (aborted or (r.number("line_no") or 0) < killed)
        )
    )
    return exits[0] if exits else None


def child_exited_first(facts: Facts, rows: list[RowView]) -> RowView | None:
    """The child that ended with a status of its own before a launcher saw any child of that host killed; None where there is none."""
    if any(r.text("source") != "launcher" or r.get("signal") != 9 for r in rows):
        return None
    summed = [r for r in facts.failed_children if r.text("kind") == "launcher_summary" and _failed_at(r)]
    killed = [r for r in summed if r.get("signal") == 9]
    left = [r for r in summed if not r.has("signal") and 0 < (r.number("exit_code") or 0) < _BY_SIGNAL]
    if not killed or not left:
        return None
    first = min(left, key=_failed_at)
    after = all(_failed_at(first) < _failed_at(r) and r.get("host") == first.get("host") for r in killed)
    return first if after else None


def _failed_at(row: RowView) -> str:
    """When a launcher saw the child fail; a summary's own time stands for the line's."""
    return row.text("failed_ts") or row.text("printed_ts")
