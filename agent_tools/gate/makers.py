"""Who made what, and whose end is it? What stands in rows side by side is told as one's making of the other, or as the other's.

[[E5:2.name]] raised [[E5.name]]                          two exceptions of a log: no row says that one raised the other
[[E5.cause_name]] was raised because of [[E5.name]]       Python says which of the two was the cause, and it is the other one
The job ended as [[E6.state]]                             of a step of the job, whose own state is another
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held
from agent_tools.gate.order import is_time
from agent_tools.gate.scope import held_by_job
from agent_tools.references import HOLE
from store import lazy

_MAKES = lazy.compile(
    r"(?i)\b(?:raised|raises|threw|throws|printed|prints|produced|produces|created|creates|made|makes|gave|gives|started|starts|triggered|triggers"
    r"|provoked|provokes|caused|causes)(?: by)? (?:(?:the|an|a|another|its) )?(?:(?:[a-z]+ )?(?:exception|error|message) )?$"
)
"""Between two texts of one column, of which one is made the maker of the other."""
_CAUSE = "cause_"
_ENDS = frozenset({"state", "exit_code", "exit_signal"})
_NOUN = lazy.compile(rf"(?i)\b(?:(?P<step>step)(?P<n> {HOLE}+)?|(?P<job>job|run)(?: {HOLE}+)?)(?:'s)?\b(?!')")
_APART = lazy.compile(r"[,;:(]")
BY_WHOM = lazy.compile(
    r"(?i)\b(?:by (?:the |its |another |some )?(?=\w+\b(?!['’]|\W*\*))|(?:the|its|a) (?=\w+['’]s (?:own )?(?:signal|kill|cancel|command)))(?P<who>user|owner)s?\b"
)
BY_THING = lazy.compile(
    r"(?i)\b(?:(?:cancell?ed|ended|stopped|terminated|requeued|preempted|restarted|evicted|sent back) by (?:the |its |his |their |a )?|(?:the|its|a) (?=\w+['’]s signal\b))(?P<who>nodes?|hosts?|machines?|gpus?|cards?|ranks?|process(?:es)?|steps?)\b"
)
"""Whose word it is, and who did it: more than a name of what every job has; a machine does none of this by a row's word."""


def made_by(clause: Clause) -> str:
    """Why one of two of a kind did not make the other, as a clause says; "" where it says nothing of the sort."""
    for i, second in enumerate(clause.groups[1:], 1):
        first = clause.groups[i - 1]
        a, b = first.cells[-1], second.cells[0]
        texts = all(isinstance(c.value, str) and not is_time(c) and c.column not in SUBJECTS for c in (a, b))
        if texts and a.column == b.column and a.ref != b.ref and _MAKES.search(clause.own[first.end : second.start]):
            return f"no row says that [[{a.ref}]] and [[{b.ref}]] made one the other: tell them beside each other"
    return ""


def chained(reasons: Sequence[CellValue], explained: Sequence[CellValue]) -> bool | None:
    """Whether the reason that is given is what Python chained an exception to: True of a row's `cause_name` for its `name`, False the
    other way round, None where the cells are none of a chain."""
    rows = {(c.id, c.row) for c in (*reasons, *explained)}
    of, other = ([c.column.startswith(_CAUSE) for c in cells] for cells in (reasons, explained))
    if len(rows) != 1 or not of or not other or not any((*of, *other)):
        return None
    return all(of) and not any(other)


def of_other_end(clause: Clause, ledger: Ledger) -> str:
    """Why an end is not that of the job or of the step to which a clause gives it; "" where it is."""
    own = clause.own
    for group in clause.groups:
        said = [m for m in _NOUN.finditer(own, 0, group.start) if not _APART.search(own[m.end() : group.start])]
        if group.column not in _ENDS or not said:
            continue
        word, cell = said[-1], group.cells[0]
        names = {c.name for c in ledger.get(cell.id).columns}
        numbered = [g.column for g in clause.groups if word["n"] and g.start == word.end() - len(word["n"].lstrip())]
        if word["job"] and "step_id" in names:
            wrong = held_by_job(ledger.get(cell.id), ledger, cell.column) != cell.value
        elif word["step"] and (not numbered or numbered == ["step_id"]):
            wrong = (
                bool({"restarts", "job_id"} & names) and "step_id" not in names and held(ledger, cell, "step") is None
            )
        else:
            wrong = False
        if wrong:
            whose = "a step" if "step_id" in names else "the job"
            return (
                f"[[{cell.ref}]] is {cell.column} of {whose}, and not of the {word[0].split()[0].lower()}: cite its own"
            )
    return ""
