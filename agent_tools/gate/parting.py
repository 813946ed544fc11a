"""Small words that are so where the figures beside them are: `just *`, `slightly above`, `not on the same node`, `all: * of *`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agent_tools.evidence import CellValue
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, size
from agent_tools.references import HOLE
from store import lazy

_MERE = lazy.compile(rf"(?i)\b(?P<w>just|only|merely|no more than) (?=(?:about |some )?{HOLE})")
_SLIGHT = lazy.compile(
    r"(?i)\b(?P<w>slightly|marginally|a little|a bit)(?= (?:above|below|over|under|more|less|higher|lower|longer|shorter|larger|smaller|later|earlier)\b)"
)
_FAR = lazy.compile(
    r"(?i)\b(?P<w>far|much|considerably|clearly|a lot) (?=(?:above|below|more|less|higher|lower|longer|shorter|larger|smaller|hotter|cooler)\b)"
)
_ALL_OF = lazy.compile(
    rf"(?i)^\W*(?P<w>all|every) (?:of )?(?:the |its )?(?:(?P<p>planned) )?(?P<noun>steps|epochs|attempts|checkpoints|iterations) (?:were|was|had been|are)(?: (?P<d>done|completed|reached|run))?\W*{HOLE}+ (?:out )?of (?:the )?{HOLE}+\W*$"
)
_ALL_FIGURE = lazy.compile(rf"(?i)^\W*(?P<w>all) (?:of the )?{HOLE}+ [^{HOLE}]*\({HOLE}+\)\W*$")
_UNLIKE = lazy.compile(
    r"(?i)\b(?P<a>not|never|\w+n['’]t)\b[^,;:]{0,24}\b(?P<b>the same|on one and the same) (?P<noun>[a-z]+)"
)
_SHARE = lazy.compile(
    r"(?i)(?:^\W*|[,;:] (?:and |but )?)(?P<w>most|few|a minority)(?: of)?(?: the| its| these)? (?:[a-z]+ )?[a-z]+s\b"
    r"|\b(?<!the )(?P<of>most) of (?:the|its|their|all|them|these|those)\b"
)
"""A part of many, or of a whole; `most ranks`, not `the most ranks`."""
_OF = lazy.compile(r"(?i)\s*(?:out )?of (?:the )?")
_IDLE_MOST = lazy.compile(r"(?i)\b(?:idle|unused)\b[^,;:]{0,12}\bmost\b")
_HALF = 0.5
_NEAR = 0.1
_FAR_APART = 1.5


def parted(clause: Clause) -> list[tuple[int, int]]:
    """Where in a clause such words stand that the cells beside them bear out."""
    return [*_mere(clause), *_slight(clause), *_far(clause), *_all_of(clause), *_unlike(clause)]


def overstated(clause: Clause) -> str:
    """Why a share in words ("most attempts") is not what the figures beside it show; "" where it is, or none is said."""
    own = clause.own
    m = _SHARE.search(own)
    if m is None:
        return ""
    pair = next(
        ((a.cells[0], b.cells[0]) for a, b in pairwise(clause.groups) if _OF.fullmatch(own[a.end : b.start])), None
    )
    word = (m["w"] or m["of"]).lower()
    parts = [c for g in clause.groups for c in g.cells if unit_of(c) == "ratio" and _figure(c)]
    if pair is None and len(parts) == 1:
        idle = bool(_IDLE_MOST.search(own)) and parts[0].column.startswith(
            ("engine_", "sm_")
        )  # how busy it was says how idle
        so = (float(str(parts[0].value)) > _HALF) == ((word == "most") != idle)
        return "" if so else f"{word!r} is not what [[{parts[0].ref}]] shows"
    if pair is None or not all(isinstance(size(c.value), float) and _figure(c) for c in pair) or not pair[1].value:
        return f"{word!r} is a share: cite how many of how many, as [[E1.part]] of [[E1.whole]]"
    share = float(str(pair[0].value)) / float(str(pair[1].value))
    if share > _HALF if word == "most" else share < _HALF:
        return ""
    return f"{word!r} is not what [[{pair[0].ref}]] of [[{pair[1].ref}]] shows"


def _mere(clause: Clause) -> list[tuple[int, int]]:
    """Before a figure they say no more than the figure; before one of several (a rank, a node) they would say that no other is."""
    starts = {g.start: g.cells[0] for g in clause.groups if len(g.cells) == 1}
    said = [(m, starts.get(m.end())) for m in _MERE.finditer(clause.own)]
    return [m.span("w") for m, c in said if c is not None and _figure(c)]


def _slight(clause: Clause) -> list[tuple[int, int]]:
    sizes = [s for c, _, _ in clause.measures() if isinstance(s := size(c.value), float)]
    if len(sizes) != 2 or not all(sizes) or abs(sizes[0] - sizes[1]) > _NEAR * max(abs(s) for s in sizes):
        return []
    return [m.span("w") for m in _SLIGHT.finditer(clause.own)]


def _far(clause: Clause) -> list[tuple[int, int]]:
    """`far longer`: of two figures of one unit, the larger is half as large again."""
    cells = [c for c, _, _ in clause.measures() if isinstance(size(c.value), float)]
    if len(cells) != 2 or unit_of(cells[0]) != unit_of(cells[1]):
        return []
    low, high = sorted(float(str(c.value)) for c in cells)
    return [m.span("w") for m in _FAR.finditer(clause.own)] if 0 <= low * _FAR_APART <= high and high > 0 else []


def _all_of(clause: Clause) -> list[tuple[int, int]]:
    cells = [c for g in clause.groups for c in g.cells]
    m = _ALL_OF.match(clause.own)
    if (whole := _ALL_FIGURE.match(clause.own)) and len(cells) == 2 and all(_figure(c) for c in cells):
        same = (cells[0].id, cells[0].row, cells[0].value) == (cells[1].id, cells[1].row, cells[1].value)
        return [whole.span("w")] if same and cells[0].column in cells[1].column else []
    if m is None or len(cells) != 2 or not all(_figure(c) for c in cells) or cells[0].value != cells[1].value:
        return []
    noun = m["noun"].lower().removesuffix("s")
    if (cells[0].id, cells[0].row) != (cells[1].id, cells[1].row) or not all(noun[:4] in c.column for c in cells):
        return []
    return [m.span("w"), *(m.span(g) for g in ("p", "d") if m[g])]


def _unlike(clause: Clause) -> list[tuple[int, int]]:
    m = _UNLIKE.search(clause.own)
    if m is None:
        return []
    noun = m["noun"].lower().removesuffix("s")
    columns = {c.column for g in clause.groups for c in g.cells if noun in c.column}
    values = [str(c.value) for g in clause.groups for c in g.cells if c.column in columns]
    several: Sequence[str] = values if len(columns) == 1 else ()
    return [m.span("a"), m.span("b")] if len(several) > 1 and len(set(several)) == len(several) else []


def _figure(cell: CellValue) -> bool:
    return cell.column not in SUBJECTS and isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool)
