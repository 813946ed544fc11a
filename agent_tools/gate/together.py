"""Were two cells seen together? Those of one row were, and those of one subject, by their rows or by whom a question was asked of.

Rank [[E6.rank]] ran on [[E6:2.node]].                         two rows
GPU [[E8:6.gpu]] throttled for [[E9.reason]].                  a question that was asked of another GPU alone
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import SUBJECTS, held


def together(a: CellValue, b: CellValue, ledger: Ledger) -> bool:
    """Whether two cells are of one row, or of one subject as far as their rows and questions tell."""
    if a.id == b.id:
        return a.row == b.row or held(ledger, a, b.column) == b.value or held(ledger, b, a.column) == a.value
    if a.column == "job_id" and held(ledger, a, b.column) == b.value:
        return True  # its own row has the same, wherever it is cited from
    return _same(ledger, a, b) and _same(ledger, b, a)


def _same(ledger: Ledger, subject: CellValue, other: CellValue) -> bool:
    """Whether the row of another answer is of the same subject, as far as it, or what it was asked of, says so."""
    if subject.column not in SUBJECTS:
        return True
    evidence = ledger.get(other.id)
    own = held(ledger, other, subject.column)
    if own is None and subject.column not in {c.name for c in evidence.columns}:
        own = evidence.params.get(_asked_as(subject.column))
    return own is None or str(own) == str(subject.value)


def _asked_as(column: str) -> str:
    """By which parameter a question is limited to one of a kind: `gpu` by `of_gpu`, a job by its own name."""
    return column if column == "job_id" else f"of_{column.removeprefix('gpu_')}"
