"""A4: the shell could not read its script to the end, or stopped at a variable that is not set; the log holds little else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_tools.facts import Facts
from agent_tools.facts.shell_words import LINE
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import quoted, say
from store import lazy

UNREADABLE = lazy.compile(r"syntax error|unexpected EOF while", re.IGNORECASE)
_SAYS = lazy.compile(rf"(?:{LINE}|\.(?:sh|sbatch|slurm|job|cmd): \d+: ).*(?:syntax error|unexpected EOF while)", re.I)
_READ_AT = lazy.compile(r"^\S{1,300}: line \d+: `.{1,400}'\s*$")  # the line itself, which bash prints after that
_PROGRAM = lazy.compile(
    r"<(?:class|enum) '[\w.]{1,80}'>|(?:^|\s)[\w.]{0,80}Warning: |\d(?:it/s|s/it)\b|`.{1,400}` failed\. \(See above for error\)"
    r"|^\W{0,3}\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,10}.{0,60}\b(?:INFO|DEBUG|WARNING)\b|^\s*File \"\S{1,300}\", line \d"
)
"""Python's own ways of printing, a bar, a logger's record, and conda's word of a command that it ran: a program was at work."""
_LITTLE, FURTHER = 20, 0.62
"""Lines of a log whose script may have loaded modules before it; how sure it is then that none of them was a program's."""
SHORT = 6
"""Lines of a log that holds nothing but the shell's complaint and what a script prints around it."""
# Under `set -u` a script ends at the first variable that nobody has set.
_UNSET = lazy.compile(
    r"^\S{1,300}: (?:line )?\d+: [A-Za-z_]\w*(?:\[\S{0,40}\])?: (?:unbound variable|parameter (?:null or )?not set)"
)


def program_spoke(tail: Sequence[RowView]) -> bool:
    """Whether a program printed one of these lines: bash reads a script bit by bit, so what stands above a breach was run."""
    return any(_PROGRAM.search(r.text("text")) for r in tail)


def unread(facts: Facts) -> RowView | None:
    """The shell's word of the grammar of its script, where the log ends with it."""
    tail = [r for r in facts.table("log_tail") if r.text("text").strip()]
    if facts.raised or facts.fatal or facts.ending.succeeded or not 0 < len(tail) <= _LITTLE:
        return None
    if program_spoke(tail):
        return None
    said = tail[-2:-1] if _READ_AT.search(tail[-1].text("text")) else tail[-1:]
    return next((r for r in said if _SAYS.search(r.text("text"))), None)


def unset(facts: Facts) -> Assessment | None:
    """The shell's word of a variable that is not set, with which a short log ends."""
    tail = [r for r in facts.table("log_tail") if r.text("text").strip()]
    if not 0 < len(tail) <= SHORT or not _UNSET.search(tail[-1].text("text")) or facts.raised:
        return None
    return Assessment(
        "A4",
        "confirmed",
        "launch",
        0.72,
        "job",
        "The program never started: the job script stopped at a variable that is not set.",
        say(f"The log says: {quoted(tail[-1], 'text', 'line_no')}."),
        implies=say("Under set -u the shell ends a script there; nothing below was run.", status="supported"),
        actions=say("Set the variable before that line, or give it a default there (${NAME:-})."),
    )
