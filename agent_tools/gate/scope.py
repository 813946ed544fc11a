"""How far an answer of the store reaches: is it whole, was it asked of the whole job, and how large is that job?

What "two", "only" or "each" says of rows is true of an answer that holds every row; and an empty answer to a narrower question
(one node, one hour, a pattern) says nothing of the job.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_tools.evidence import Evidence, Ledger
from store.result import Cell

_WIDE = frozenset({"job_id", "attempt", "by"})
_PLACED = frozenset({"nodes", "gpus", "from_ts", "to_ts"})
_ASKED_WIDE = frozenset({"gpu_summary"})
"""What the families ask of all of the job's nodes and GPUs over its run, and of nothing else: others they also ask of the time around."""


def narrowed(evidence: Evidence, ledger: Ledger, kind: str = "", told: Mapping[str, Cell] | None = None) -> bool:
    """Whether the question left out a part of the job; the families' own questions say what the whole is.

    `kind` is a kind of event: an answer that was limited to it is whole for it. `told` are limits that the sentence itself tells."""
    limits = {k: v for k, v in evidence.params.items() if v is not None and k not in _WIDE}
    if kind and limits.get("kind") == kind:
        del limits["kind"]
    limits = {k: v for k, v in limits.items() if (told or {}).get(k) != v}
    wide = _wide(evidence, ledger)
    return any(k not in _PLACED or v not in wide.get(k, ()) for k, v in limits.items())


def nodes_of(evidence: Evidence, ledger: Ledger) -> frozenset[str]:
    """The nodes that a question was asked of: its own, else the job's."""
    own = evidence.params.get("nodes")
    said = [own] if own is not None else _wide(evidence, ledger).get("nodes", [])
    return frozenset(n for text in said for n in str(text).split(","))


def whole(evidence: Evidence, ledger: Ledger, kind: str = "", told: Mapping[str, Cell] | None = None) -> bool:
    """Whether every row is held, one of its cells shown of each, and the question left nothing of the job out."""
    return (
        0 < len(evidence.rows) == evidence.row_count
        and not evidence.truncated
        and all(
            any(ledger.is_shown(evidence.id, r, c.name) for c in evidence.columns) for r in range(len(evidence.rows))
        )
        and not narrowed(evidence, ledger, kind, told)
    )


def held_by_job(evidence: Evidence, ledger: Ledger, column: str) -> Cell:
    """What accounting says of the job that was asked about, in its last attempt: `gpus`, `node_count`; None where it says nothing."""
    job = evidence.params.get("job_id")
    for other in ledger.all():
        told = (
            other.query in ("job_attempts", "job_overview")
            and other.rows
            and (job is None or other.params.get("job_id") == job)
        )
        if told and any(c.name == column for c in other.columns):
            return other.value(column, len(other.rows) - 1)
    return None


def last_attempt(evidence: Evidence, ledger: Ledger) -> int | None:
    """The number of the last attempt of the job that was asked about; None where accounting does not tell."""
    found = held_by_job(evidence, ledger, "attempt")
    return found if isinstance(found, int) else None


def _wide(evidence: Evidence, ledger: Ledger) -> dict[str, list[Cell]]:
    job = evidence.params.get("job_id")
    found: dict[str, list[Cell]] = {}
    for other in ledger.all():
        same = job is None or other.params.get("job_id") in (None, job)
        if other.query in _ASKED_WIDE and other.tool == other.query and same:
            for name, value in other.params.items():
                found.setdefault(name, []).append(value)
    return found
