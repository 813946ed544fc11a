"""Is a time told as what its column says? `The job ended at [[E7.last_ts]]` is false where that is the time of the last report.

A time has to be named by a word of its column, its description, its query or, where it is the row's own time, of its row.
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import Clause, Group, clauses, held
from agent_tools.gate.machines import ENDINGS
from agent_tools.gate.order import is_time
from agent_tools.gate.vocabulary import ALSO_SAID, MEANS, word_set
from agent_tools.gate.words import stem, stems
from store import lazy

_OTHERS = lazy.compile(r"(?:^|_)(?:start|begin|end|submit|eligible|last|until|progress|bucket)(?:_|$)")
"""Names of times of something else than what the row is about."""
_ALSO: dict[str, str] = {
    "start": "begin began begun start started starts restarted resumed rerun launched from since ran",
    "begin": "begin began begun start started starts launched from since went was",
    "since": "from since went was",
    "first": "from since start started began begun",
    "end": "end ended ends finish finished stop stopped over died gone exit exited fail failed fails complete completed crash crashed killed"
    " cancelled terminated to until ran back",
    "event": "back",
    "last": "to until",
    "until": "to until back",
    "submit": "submit submitted submission queued waiting waits waited pending",
    "eligible": "eligible queued",
    "oom": "allocation memory error",
}
"""What parts of a time's name say in other words."""
_END_OF_ONE = lazy.compile(r"\b(?:end|begin|start)\w* of the (?:first|last)\b")
"""In a description: that of one of many within, and not of what the row is about."""
_WORD = lazy.compile(r"[^\W\d_]+")
_EDGE_OF_MANY = lazy.compile(
    r"(?i)\b(?:first|earliest|last|latest|newest|oldest|most recent|from|since|between|until|to|start\w*|beg[aiu]n\w*)\b"
)
"""Of which of many a time is, or that it is that of a start."""
_BARE = word_set(
    """at on in by the a an and or of it is was were time utc then also after before later next while another other that its
    job jobs run attempt attempts rank ranks node nodes gpu gpus process step"""
)
"""Words beside a time that say nothing of it."""
_OF_ROW = lazy.compile(r"(?:\bof|\(|,|:|\|)\s*$")
"""Ahead of a time that tells which one it is: `job 4801 of ...`, `4801 (...)`."""


def unsaid(text: str, ledger: Ledger) -> str:
    """The reference to a time that its clause does not say to be what it is; "" where each is told as its own."""
    for clause in clauses(text, ledger):
        own = clause.own
        times = [g for g in clause.groups if is_time(g.cells[0])]
        told: set[str] = set()
        for i, group in enumerate(times):
            begin = times[i - 1].end if i else 0
            end = times[i + 1].start if i + 1 < len(times) else len(own)
            # "rank A ended at ..., then rank B at ...", "the first ended at ..., the last at ..."
            again = group.column in told and _words(own[begin : group.start]) <= {
                "first",
                "second",
                "third",
                "last",
                "again",
                "once",
                "did",
                "had",
            }
            if not again and not any(_told(cell, group, own, begin, end, clause, ledger) for cell in group.cells):
                return group.cells[0].ref
            told.add(group.column)
    return ""


def _words(own: str) -> set[str]:
    return {w.lower() for w in _WORD.findall(own)} - _BARE


def _told(cell: CellValue, group: Group, own: str, begin: int, end: int, clause: Clause, ledger: Ledger) -> bool:
    beside = [g for g in clause.groups if begin <= g.start and g.end <= end and g is not group]
    same = [c for g in beside for c in g.cells if (c.id, c.row) == (cell.id, cell.row)]
    ahead = own[begin : group.start]
    if same and _OF_ROW.search(ahead):
        return True
    evidence = ledger.get(cell.id)
    about = _own_time(cell, evidence)
    if about and any(c.column not in ("node", "job_id", "rank", "user") for c in same):
        return True
    if cell.column in ("first_ts", "last_ts") and isinstance(many := held(ledger, cell, "attempts"), int):
        if many == 1 and cell.column == "last_ts" and _ended_so(cell, own, ledger):
            return True  # the latest end of one attempt is its end
        if not _EDGE_OF_MANY.search(own[max(begin - 24, 0) : end]):
            return False  # one time told of several, or a start told as an end
    if "end" in cell.column.split("_") and any(c.column in ENDINGS for c in same):
        return True
    said = _words(ahead) or _words(own[group.end : end])
    parts = cell.column.lower().split("_")
    names = [*(p for p in parts if p != "ts"), *(_ALSO.get(p, "") for p in parts), *cell.doc.split(), evidence.query]
    known = set(stems(" ".join(names))) | set(" ".join(names).lower().split())
    about_end = _END_OF_ONE.sub(" ", cell.doc.lower())
    known |= {w for part in _WORD.findall(about_end) for w in _ALSO.get(part, "").split()}
    if about:
        known |= _of_row(evidence, cell.row)
    elif "end" in parts:
        known |= _of_row(evidence, cell.row, only=("state",))
    return any(w in known or stem(w) in known for w in said)


def _ended_so(cell: CellValue, own: str, ledger: Ledger) -> bool:
    """Whether a clause says how the jobs of a summary's row ended."""
    state = str(held(ledger, cell, "state"))
    return state not in ("RUNNING", "PENDING") and not _words(own).isdisjoint(MEANS.get(state, "").split())


def _own_time(cell: CellValue, evidence: Evidence) -> bool:
    """Whether a time is that of what its row is about: an event, a line, a node's state; no other time of its subject."""
    names = {c.name for c in evidence.columns}
    if cell.column in ("begin_ts", "since_ts") and "state" in names:
        return True
    return not _OTHERS.search(cell.column.removesuffix("_ts"))


def _of_row(evidence: Evidence, row: int, only: tuple[str, ...] = ()) -> frozenset[str]:
    """The stems of what a row says: its texts, and the names of what it counts."""
    said: list[str] = []
    for c in evidence.columns:
        value = evidence.value(c.name, row)
        if value and (not only or c.name in only):
            said += [value[:4000], ALSO_SAID.get(value, "")] if isinstance(value, str) else [c.name]
    return stems(" ".join(said))
