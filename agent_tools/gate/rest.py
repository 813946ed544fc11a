"""Is a figure of the others told as that of the one that is named, or that one's as theirs?

The SM activity of GPU [[E9.gpu]] was [[E9.rest_sm_median]]                      the median of all the others
The others had [[E9.sm_mean]], GPU [[E9.gpu]] had [[E9.rest_sm_median]]           turned round
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Group, clauses, size
from store import lazy

_OF_REST = lazy.compile(
    r"^(?:rest|peer|peers|others|all)_(?!\w*(?:ranks|nodes|gpus|uuids|apart|culprits|missing|free)$)"
)
"""Columns of those beside the one that a row names, or of all together."""
_REST = lazy.compile(
    r"(?i)\b(?:others?|rest|peers?|remaining|all|every|each|neighbou?rs?|elsewhere|whole|job's|run's|against|than|versus|vs|compared|beside|gpus|cards|nodes|ranks|processes)\b"
)
"""What says so, or sets a figure against another."""
_THEIRS = lazy.compile(
    r"(?i)(?:^|[,;:.(]|\b(?:of|for|and|while|whereas|but)\b) ?(?:the |all (?:of )?the |all |its )?(?:others?|rest|peers?|remaining)\b[^,;:]*$"
)
"""Ahead of a figure that becomes that of the others."""


def of_another(text: str, ledger: Ledger) -> str:
    """Why a figure is not of the one that a text gives it to; "" where each is."""
    for clause in clauses(text, ledger):
        groups = sorted(clause.groups, key=lambda g: g.start)
        said = False
        for i, group in enumerate(groups):
            begin = groups[i - 1].end if i else 0
            end = groups[i + 1].start if i + 1 < len(groups) else len(clause.own)
            ahead, behind = clause.own[begin : group.start], clause.own[group.end : end]
            cell = group.cells[0]
            if group.subject or not _figure(group):
                said = False
                continue
            if _OF_REST.search(cell.column):
                said = said or bool(_REST.search(ahead) or _REST.search(behind))
                if not said:
                    return f"[[{cell.ref}]] is {cell.column} ({cell.doc}): say that it is of the others, or of all"
            else:
                said = False
                if _has_rest(cell, ledger) and _THEIRS.search(ahead):
                    return f"[[{cell.ref}]] is {cell.column} ({cell.doc}), of the one that its row names, and not of the others"
    return ""


def _figure(group: Group) -> bool:
    return size(group.cells[0].value) is not None


def _has_rest(cell: CellValue, ledger: Ledger) -> bool:
    """Whether a row has the same of the others: `rest_sm_median` beside `sm_mean`."""
    stem = cell.column.partition("_")[0]
    names = (c.name for c in ledger.get(cell.id).columns)
    return any(_OF_REST.search(n) and stem in n.split("_") for n in names)
