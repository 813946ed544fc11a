"""Is one figure below or above the other, by a little or by far? Each is held against both, of one row or of one column.

The lowest loss was [[E7.min_loss]], a little under the last one, [[E7.last_loss]].      of one measure, within a tenth
The peak was [[E6.peak_gib]], far below the limit of [[E6.limit_gib]].                   of one row and unit, by a fifth at least
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_tools.evidence import CellValue
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, size
from agent_tools.gate.multiples import alike
from agent_tools.references import HOLE
from store import lazy

_LEVEL = lazy.compile(
    rf"(?i)(?<={HOLE})[,(]? ?(?:which (?:is|was) |(?:and )?(?:so|thus) |and )?(?P<w>(?:(?:only |just )?(?P<little>slightly|marginally|a little|a bit|just)|(?P<far>far|well|much)) )?(?P<way>(?P<less>below|under)|above|over) "
    rf"(?:(?:its|the|that|their) )?(?:[a-z]+ ){{0,3}}?(?:one|loss|value|limit|figure|norm|rate|mean|median|peak|average|total)?(?: (?:of|in))?,? ?(?:the )?\(?(?={HOLE})"
)
_DENIED = lazy.compile(r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|but|except)\b|n['’]t\b")
_NEAR, _FAR = 0.1, 0.2


def levelled(clause: Clause) -> Iterator[tuple[int, int]]:
    """Where in a clause a figure is told to lie below or above the next one, and does, by as much as is said."""
    if _DENIED.search(clause.own):
        return
    for m in _LEVEL.finditer(clause.own):
        ahead = next((g.cells[0] for g in clause.groups if g.end == m.start() and len(g.cells) == 1), None)
        behind = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        if ahead is None or behind is None or not _akin(ahead, behind):
            continue
        x, y = size(ahead.value), size(behind.value)
        if not isinstance(x, float) or not isinstance(y, float) or (x >= y if m["less"] else x <= y):
            continue
        apart = abs(x - y) / max(abs(x), abs(y))
        if not (m["little"] and apart > _NEAR) and not (m["far"] and apart < _FAR):
            yield m.start("w") if m["w"] else m.start("way"), m.end("way")


def _akin(a: CellValue, b: CellValue) -> bool:
    """Whether two figures can be set against each other: of one row and unit, or of one column."""
    if a.column in SUBJECTS or b.column in SUBJECTS or unit_of(a) != unit_of(b) or a.id != b.id:
        return False
    return alike(a, b) or (a.row == b.row and bool(unit_of(a)) and _of_limit(a, b))


def _of_limit(a: CellValue, b: CellValue) -> bool:
    """Whether one of them is the limit of what the other is of."""
    return any(re.search(r"(?:^|_)(?:limit|total)(?:_|$)", c.column) for c in (a, b))
