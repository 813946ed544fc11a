"""Is a figure that is put to an end or a beginning of that moment? The highest loss of a run is not its loss at the end.

The run's loss at its end was [[E7.max_loss]]        the highest of all
The loss at the start was [[E7.last_loss]]           that of the other end
"""

from __future__ import annotations

import re

from agent_tools.evidence import Ledger
from agent_tools.gate.clauses import Clause, Group, clauses

_OF = r"(?:its|the|their|his|her|this|that)"
_AT_END = re.compile(
    rf"(?i)\b(?:at|by|in) {_OF} (?:very )?end\b|\bin the end\b|\bwhen (?:it|they|{_OF} [a-z]+) (?:had )?(?:ended|stopped|finished|failed|died)\b"
)
_AT_BEGIN = re.compile(
    rf"(?i)\b(?:at|in) {_OF} (?:very )?(?:start|beginning|outset)\b|\bwhen (?:it|they|{_OF} [a-z]+) (?:had )?(?:started|began)\b"
)
_FIRST, _LAST = (
    re.compile(r"(?:^|_)(?:first|start|begin)(?:_|$)"),
    re.compile(r"(?:^|_)(?:last|end|final|late)(?:_|$)"),
)
_WHOLE: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(rf"(?:^|_)(?:{columns})(?:_|$)"), re.compile(rf"(?i)\b(?:{words})\b"))
    for columns, words in (
        ("max|peak|highest", r"high\w*|peak\w*|max\w*|most|largest|up to|record"),
        ("min|lowest|best", r"low\w*|min\w*|least|smallest|best|down to"),
        ("mean|avg|median", r"mean|average|median"),
        ("total|sum", r"total|sum|all|together|in all"),
    )
)
"""Columns of a whole run, and the words by which a sentence says that it is one of the whole."""


def beside_edge(text: str, ledger: Ledger) -> str:
    """The reference to a figure that a sentence puts to an end or a beginning that it is not of; "" where there is none."""
    for clause in clauses(text, ledger):
        for edge, other in ((_AT_END, _FIRST), (_AT_BEGIN, _LAST)):
            for said in edge.finditer(clause.own):
                group = _nearest(clause, said)
                if group is not None and (other.search(group.column) or _of_whole(group.column, clause.own)):
                    return group.cells[0].ref
    return ""


def _nearest(clause: Clause, said: re.Match[str]) -> Group | None:
    """The group of figures that stands next to the words for the moment."""
    figures = [g for g in clause.groups if isinstance(g.cells[0].value, (int, float)) and not g.subject]
    return min(figures, key=lambda g: min(abs(g.start - said.end()), abs(said.start() - g.end)), default=None)


def _of_whole(column: str, own: str) -> bool:
    return any(columns.search(column) and not words.search(own) for columns, words in _WHOLE)
