"""A4: the shell could not read its script to the end, and the log holds little else than what the script loaded before."""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.shell_words import LINE
from agent_tools.facts.views import RowView

UNREADABLE = re.compile(r"syntax error|unexpected EOF while", re.IGNORECASE)
_SAYS = re.compile(rf"(?:{LINE}|\.(?:sh|sbatch|slurm|job|cmd): \d+: ).*(?:syntax error|unexpected EOF while)", re.I)
_READ_AT = re.compile(r"^\S{1,300}: line \d+: `.{1,400}'\s*$")  # the line itself, which bash prints after that
_LITTLE, FURTHER = 20, 0.62
"""Lines of a log whose script may have loaded modules before it; how sure it is then that none of them was a program's."""


def unread(facts: Facts) -> RowView | None:
    """The shell's word of the grammar of its script, where the log ends with it."""
    tail = [r for r in facts.table("log_tail") if r.text("text").strip()]
    if facts.raised or facts.fatal or facts.ending.succeeded or not 0 < len(tail) <= _LITTLE:
        return None
    said = tail[-2:-1] if _READ_AT.search(tail[-1].text("text")) else tail[-1:]
    return next((r for r in said if _SAYS.search(r.text("text"))), None)
