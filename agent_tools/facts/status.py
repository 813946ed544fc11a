"""What an exit status of accounting leaves open: sacct's text prints one from 128 on without 128."""

from __future__ import annotations

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView

_SENT = frozenset({4, 6, 7, 8, 9, 10, 11, 12, 13, 15, 24, 25})
"""Signals of which a shell tells by 128 and their number, where the number by itself is a status that few programs give."""
_SHELLS = frozenset({126, 127})
"""A shell's words for a program that it did not start, and, with 128, what -2 and -1 become."""
BY_STATUS = {129: "SIGHUP", 130: "SIGINT", 141: "SIGPIPE", 143: "SIGTERM"}
"""What a shell's exit status says of the end of its last command, where somebody, or a pipe that was closed, ended it."""
WHOLE = "scontrol show job or squeue --json while Slurm's controller remembers the job; sacct --json of 23.11 and later"


def status_doubt(facts: Facts) -> RowView | None:
    """The row that has both readings of the job's exit status, where they say different things; no query elsewhere."""
    o = facts.overview
    if o is None or o.number("exit_code") not in _SENT | _SHELLS or o.number("exit_signal"):
        return None
    row = facts.table("status_doubt").first
    return row if row is not None and row.number("exit_code") == o.number("exit_code") else None


def either(row: RowView) -> str:
    """`9 or 137`."""
    return f"{row['exit_code']} or {row['full_code']}"


def recorded(row: RowView) -> str:
    """`FAILED with exit status 1`; the state alone where accounting was not asked for the status."""
    return f"{row['state']} with exit status {row['exit_code']}" if row.has("exit_code") else f"{row['state']}"
