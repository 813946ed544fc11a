"""What no job is or was, by an empty answer of the whole fleet's accounting to the question of one state.

No job ended as OUT_OF_MEMORY ([[E9.row_count]]).          asked for that state and for nothing else
No job is pending ([[E11.row_count]]).                     a word for the state that was asked for
No job failed ([[E9.row_count]]).                          another state than that which was asked for: refused
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.evidence import FOUND, CellValue, Ledger
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

STATES = frozenset(
    [
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "COMPLETED",
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
        "REQUEUED",
    ]
)
"""States of a job as accounting has them, in capitals; asked for in another spelling, an empty answer says nothing."""
QUERIES = frozenset({"find_jobs", "find_jobs_summary"})
_ALSO = {
    "pending": "PENDING",
    "running": "RUNNING",
    "suspended": "SUSPENDED",
    "cancelled": "CANCELLED",
    "preempted": "PREEMPTED",
    "requeued": "REQUEUED",
}
_NO_JOB = lazy.compile(
    rf"^\W*(?:[Nn]o jobs?|[Nn]one of the jobs) (?:(?:has|have) (?:been )?|was |were |is |are )?(?:(?:ended|finished|listed|recorded) (?:as |in (?:the )?(?:state )?)|in (?:the )?(?:state )?)?"
    rf"(?P<s>[A-Z]{{3,}}(?:_[A-Z]+)*|[a-z]+)(?: state)?(?: at the moment| now| right now| so far| at all)?\W*\(?{HOLE}+\)?\W*$"
)


def asked_of_fleet(query: str, params: dict[str, Cell]) -> str:
    """The one state that a question of all jobs was limited to; "" where it was limited to anything else, or to nothing."""
    given = {k: v for k, v in params.items() if v is not None}
    state = given.get("state")
    return state if query in QUERIES and set(given) == {"state"} and isinstance(state, str) and state in STATES else ""


def no_job(own: str, cells: Sequence[CellValue], ledger: Ledger) -> bool:
    """Whether all that a sentence says is that no job is, or was, in the state that the empty answer was asked for."""
    if len(cells) != 1 or cells[0].column != FOUND:
        return False
    evidence = ledger.get(cells[0].id)
    state = asked_of_fleet(evidence.query, evidence.params)
    m = _NO_JOB.match(own)
    return bool(state and m) and (m["s"] == state or _ALSO.get(m["s"]) == state) if m else False
