"""Is what is told to have gone on, stopped, been done or been another's what the row says? Each is held against what its cell is.

Collectives went on completing after [[E6.completed_ts]].               the last time that one did: refused
Launches stopped before the end: [[E7.launches_late]] came late.         some came late: refused
The checkpoint was loaded: [[E8.load_start_message]].                    its loading only began: refused
Between the attempts it waited [[E5.wait_s]].                            the first attempt's own wait: refused
The job on which it depends was [[E5.state]].                            the state of the one that depends: refused
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held, size
from agent_tools.gate.denials import DENIED
from agent_tools.gate.order import is_time
from agent_tools.gate.ordinals import ORDINALS
from agent_tools.gate.tries import attempt_of
from agent_tools.gate.words import stems
from agent_tools.references import HOLE
from store import lazy

_WENT_ON = lazy.compile(
    rf"(?i)\b(?:(?:went|goes|kept|carried) on|continued|kept|(?:was|were) still)\b[^,;:.{HOLE}]{{0,30}}\bafter (?={HOLE})"
)
_LAST = lazy.compile(r"(?i)^last\b|\bthe last\b")
_STOPPED = lazy.compile(
    rf"(?i)\b(?:stopped|ceased|ended|stalled|broke off|came to (?:a|an) (?:halt|stop|end))\b[^,;:{HOLE}]{{0,20}}\bbefore (?:the|its|their) (?:very )?end\b"
)
_LATE = lazy.compile(r"_late$")
_ONLY_BEGUN = lazy.compile(r"^load_start_")
_LOADED = lazy.compile(r"(?i)(?<!be )(?<!not )\b(?:loaded|restored|resumed|picked up)\b")
_BETWEEN = lazy.compile(r"(?i)\bbetween (?:the |its |these )?(?:two |both )?(?:attempts|tries|runs)\b")
_NTH = lazy.compile(
    rf"(?i)\b(?:on|in|at|with) (?:its|the) (?P<n>{'|'.join(ORDINALS)}) (?:one|attempt|try)\b[ :,(]*(?={HOLE})"
)
_DEPENDED = lazy.compile(
    r"(?i)\bjob (?:(?:on|for) which (?:it|the job|this job) (?:depend|wait)(?:s|ed)|(?:which |that )?(?:it|the job|this job) (?:depend|wait)(?:s|ed) (?:on|for))\b"
)
_AFTER_CRASH = lazy.compile(
    r"(?i)\b(?:saved|written|announced|made)\b[^,;:.]{0,24}\bafter (?:the|its) (?:crash|failure|exception|error|kill)\b"
)
_OWN = frozenset({"state", "exit_code", "exit_signal", "elapsed_s", "start_ts", "end_ts", "state_reason"})


def refuted(clause: Clause, ledger: Ledger) -> str:
    """Why a clause is not what its cells say of what went on, stopped, was done or is whose; "" where it is."""
    own = clause.own
    for group in clause.groups:
        cell = group.cells[0]
        found = (
            _after_last(cell, group.start, own),
            _late(cell, own),
            _begun(cell, own),
            _saved_after(cell, own, ledger),
            _nth(cell, group.start, own),
            _first_wait(cell, own, ledger),
            _of_other_job(cell, group.start, own, ledger),
        )
        wrong = next((f for f in found if f), "")
        if wrong:
            about = f" ({cell.doc})" if cell.doc else ""
            return (
                f"[[{cell.ref}]] is {cell.column}{about}, and {wrong!r} says otherwise: turn it round, or leave it out"
            )
    return ""


def _after_last(cell: CellValue, at: int, own: str) -> str:
    """What is told to have gone on after the last time of that very thing."""
    m = next((m for m in _WENT_ON.finditer(own) if m.end() == at), None)
    if m is None or not is_time(cell) or DENIED.search(own[: m.start()]):
        return ""
    last = _LAST.search(cell.doc) or cell.column.startswith("last_")
    what = stems(" ".join(p for p in cell.column.split("_") if p not in ("last", "ts")))
    return m[0].strip() if last and what & stems(own[: m.end()]) else ""


def _late(cell: CellValue, own: str) -> str:
    """What is told to have stopped before the end, of which there was some in the last minutes."""
    m = _STOPPED.search(own)
    value = size(cell.value)
    some = _LATE.search(cell.column) and isinstance(value, float) and value > 0
    return m[0] if m and some and not DENIED.search(own[: m.start()]) else ""


def _begun(cell: CellValue, own: str) -> str:
    """What is told as loaded, of a loading that the cell only says has begun."""
    m = _LOADED.search(own) if _ONLY_BEGUN.match(cell.column) else None
    return m[0] if m and not DENIED.search(own[: m.start()]) else ""


def _first_wait(cell: CellValue, own: str, ledger: Ledger) -> str:
    """The wait before the first attempt, told as one between two."""
    m = _BETWEEN.search(own) if cell.column == "wait_s" else None
    return m[0] if m and attempt_of(cell, ledger) == 1 else ""


def _saved_after(cell: CellValue, own: str, ledger: Ledger) -> str:
    """A save that is told to have come after what ended the run, of which no line or time is cited."""
    m = _AFTER_CRASH.search(own) if ledger.get(cell.id).query == "checkpoints" else None
    return m[0] if m and HOLE not in own[m.end() : m.end() + 12] else ""


def _nth(cell: CellValue, at: int, own: str) -> str:
    """The number of an attempt, told as that of another one."""
    m = next((m for m in _NTH.finditer(own) if m.end() == at), None) if cell.column == "attempt" else None
    return m[0].strip(" (") if m and ORDINALS[m["n"].lower()] != cell.value else ""


def _of_other_job(cell: CellValue, at: int, own: str, ledger: Ledger) -> str:
    """What is of the job that depends on another, told of that other one."""
    m = _DEPENDED.search(own[:at]) if cell.column in _OWN else None
    return m[0] if m and held(ledger, cell, "dependency") is not None else ""
