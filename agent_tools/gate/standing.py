"""Is it so now, and did it come about at all? What is told as lasting, or as a restart, is held against the row and the job's attempts.

Node [[E3.node]] is down.                                       the row of that state says that it is over: it was down
Node [[E3.node]] was down from [[E3.begin_ts]].                 so it was
The job was restarted at step [[E9.first_step]].                accounting has one attempt of it, and no restart

A finding is called "silent restart" where a run began anew in its training: Slurm restarted nothing then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.again import attempts_of
from agent_tools.gate.clauses import Clause, clauses, held, job_of
from agent_tools.gate.scope import held_by_job
from agent_tools.gate.vocabulary import means
from agent_tools.gate.words import spoken_of, stem, stems
from agent_tools.references import HOLE
from store import lazy

_NOW = lazy.compile(
    rf"(?i)\b(?:is|are|remains?|stays?|keeps?|ha(?:s|ve) (?:been|stayed|remained))(?: (?:still|now|currently|again|at present|presently|yet))*"
    rf" (?:(?:in|listed as|marked(?: as)?) (?:the )?(?:state )?)?(?P<s>[a-z]+|{HOLE}+)"
)
_STILL = lazy.compile(r"(?i)\bstill\b(?! (?:short|far|within|inside|below|under)\b)")
_PAST = lazy.compile(r"(?i)\b(?:was|were|had)\b[^,;:]{0,24}$")
_WORSE = {"trouble", "unavailable", "lost", "out", "unusable", "offline"}
"""What a node in trouble is said to be, whatever its state is called."""


def over(text: str, ledger: Ledger) -> str:
    """The reference to a state that is told as lasting, and of which its row says that it has ended; "" for none."""
    for clause in clauses(text, ledger):
        for m in _NOW.finditer(clause.own):
            cell = _of(clause, m.start(), m.start("s"))
            if cell is not None and _ended(cell, ledger) and _names(m["s"], clause, m.start("s"), cell, ledger):
                return cell.ref
        for m in _STILL.finditer(clause.own):
            cell = _of(clause, m.start(), m.end())
            if cell is not None and held(ledger, cell, "still") is False and not _PAST.search(clause.own[: m.start()]):
                return cell.ref
    return ""


def _of(clause: Clause, begin: int, end: int) -> CellValue | None:
    """What a state is told of: the nearest cell ahead, else the first behind."""
    ahead = [g for g in clause.groups if g.end <= begin]
    behind = [g for g in clause.groups if g.start >= end]
    return (ahead[-1].cells[-1] if ahead else behind[0].cells[0]) if ahead or behind else None


def _ended(cell: CellValue, ledger: Ledger) -> bool:
    """Whether the row of a state says that it is over: by itself, or by when something else followed."""
    still = held(ledger, cell, "still")
    if held(ledger, cell, "state") is None or still is True:
        return False
    return still is False or held(ledger, cell, "until_ts") is not None


def _names(said: str, clause: Clause, at: int, cell: CellValue, ledger: Ledger) -> bool:
    """Whether a word is for the state of a row, or a cell that is cited there is that state."""
    if said[0] == HOLE[0]:
        return any(g.start == at and g.column == "state" for g in clause.groups)
    return means(said, held(ledger, cell, "state")) or said.lower() in _WORSE


def unrestarted(word: str, cells: Sequence[CellValue], said: Iterable[str], ledger: Ledger) -> bool:
    """Whether a word tells of a restart of jobs that ran once, and no cited row (their texts are `said`) speaks of one."""
    counted = word.lower() != "restart" and any(c.column == "restarts" for c in cells)
    if stem(word) != "restart" or counted:
        return False
    jobs = {job for c in cells if (job := job_of(ledger, c))}
    once = [
        set(attempts_of(job, ledger)) <= {1} and held_by_job(ledger.get(c.id), ledger, "restarts") == 0
        for c in cells
        if (job := job_of(ledger, c))
    ]
    return bool(jobs) and all(once) and not spoken_of(word, stems(" ".join(said)))
