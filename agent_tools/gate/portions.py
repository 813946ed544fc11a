"""How large a part, how often as much, in the words of what was done: each is reckoned from the two figures of one row, or from a share.

It waited more than twice as long as it ran: [[E1.wait_s]] against [[E1.elapsed_s]].
It needed only a tiny part of its limit, [[E1.limit_share]].
Nearly all of [[E2.value]]'s jobs failed, [[E2.failed]] of [[E2.jobs]].
The best loss came at step [[E3.best_step]], about a quarter of the way to step [[E3.last_step]].
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_tools.evidence import CellValue
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, Group, size
from agent_tools.gate.denials import QUALIFIED
from agent_tools.gate.multiples import HEDGE, PARTS, TIMES, alike, bears, is_share
from agent_tools.references import HOLE
from store import lazy

_MULTIPLE = "|".join(sorted(TIMES, key=len, reverse=True))
_PART = "|".join(sorted(PARTS, key=len, reverse=True))
_AS_IT = lazy.compile(
    rf"(?i)\b(?P<w>(?:{HEDGE})?(?P<word>{_MULTIPLE}) (?:as (?:long|much|many)(?: (?:time|memory))? as|(?:the (?:time|memory)|what) (?:that )?)(?P<b> ?(?:it|the (?:job|run)|was|were)\b[^,;:.(]{{0,24}}))[:,(] ?(?=\(?{HOLE})"
)
_DID = {
    "wait": lazy.compile(r"(?i)\bwait(?:ed|s)?\b|\bin the queue\b"),
    "elapsed": lazy.compile(r"(?i)\b(?:ran|run|runs|lasted)\b"),
    "limit": lazy.compile(r"(?i)\b(?:allowed|given|granted|limit)\b"),
    "needed": lazy.compile(r"(?i)\bneed(?:ed|s)?\b"),
    "requested": lazy.compile(r"(?i)\b(?:asked|requested|tried to allocate)\b"),
    "free": lazy.compile(r"(?i)\b(?:free|left)\b"),
    "allocated": lazy.compile(r"(?i)\ballocated\b"),
}
"""What is said of figures of one row, by a part of their columns' names."""
_AS_LONG = lazy.compile(
    rf"(?i)\b(?P<w>(?:{HEDGE})?(?P<word>{_MULTIPLE}) as (?:long|much|many))(?=,? ?\(?(?P<b>{HOLE}))"
)
_LITTLE = lazy.compile(
    rf"(?i)\b(?P<w>(?:used|needed|took) (?:only |just |no more than |up )?(?:a (?P<tiny>tiny|minute|very small) (?:part|fraction|share) of|a small (?:part|fraction|share) of|(?P<next>next to nothing|hardly anything|hardly any) of)) (?:its|the) (?:time )?limit[,:]? ?\(?(?={HOLE})"
)
_TINY, _SMALL = 0.05, 0.2
_NEARLY_ALL = lazy.compile(
    rf"(?i)\b(?P<w>(?:nearly|almost|practically|virtually) all)(?: of)?\b[^,;:.]*?[,:]? ?\(?(?={HOLE})"
)
_NOT_QUITE = lazy.compile(r"(?i)(?:nearly|almost)(?= all\b)|(?<=,) but\b")
_MOST, _OF = 0.85, lazy.compile(r"(?i) (?:out )?of (?:the |its |all )?")
_ON_WAY = lazy.compile(
    rf"(?i)\b(?P<w>(?:{HEDGE})?(?P<word>{_PART}) of the way) (?:to|towards) (?:the |its )?(?:last |final )?step (?={HOLE})"
)
_AT_ITS = lazy.compile(
    rf"(?i) (?P<w>as at its (?P<e>best|lowest|highest|peak|first|start))[:,(] ?\(?(?P<a>{HOLE})+ (?:against|versus|vs\.?|compared (?:to|with)) (?P<b>{HOLE})"
)
_NAMES = {
    "best": "best lowest min",
    "lowest": "best lowest min",
    "highest": "highest max peak",
    "peak": "highest max peak",
}


def portions(clause: Clause) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that its figures bear out."""
    own = clause.own
    for m in _AT_ITS.finditer(own):
        other = clause.sole(m.start("b"))
        names = _NAMES.get(m["e"].lower(), "first start").split()
        if other and other.column.split("_")[0] in names:
            yield m.span("w")
    if QUALIFIED.search(_NOT_QUITE.sub(" ", own)):
        return
    for m in _AS_IT.finditer(own):
        a, b = _two_behind(clause, m.end())
        if a and b and _did(a, own[: m.start()]) and _did(b, m["b"]) and bears(m, TIMES, a, b):
            yield m.span("w")
    for m in _AS_LONG.finditer(own):
        b = clause.sole(m.start("b"))
        ahead = [g.cells[0] for g in clause.groups if g.end <= m.start() and g.column not in SUBJECTS]
        of_one = b is not None and ahead and (ahead[-1].id, ahead[-1].column) == (b.cells[0].id, b.column)
        if b and of_one and bears(m, TIMES, b.cells[0], ahead[-1]):
            yield m.span("w")
    for m in _LITTLE.finditer(own):
        limit = clause.sole(m.end())
        share = size(limit.cells[0].value) if limit and limit.column in ("limit_share", "limit_used") else None
        if isinstance(share, float) and share <= (_TINY if m["tiny"] or m["next"] else _SMALL):
            yield m.span("w")
    yield from _nearly_all(clause)
    yield from _on_the_way(clause)


def _on_the_way(clause: Clause) -> Iterator[tuple[int, int]]:
    """`at step *, about a quarter of the way to step *`: the one step over the other, of one row."""
    for m in _ON_WAY.finditer(clause.own):
        last = clause.sole(m.end())
        ahead = [g.cells[0] for g in clause.groups if g.end <= m.start() and g.column.endswith("step")]
        if last is None or not ahead or not last.column.endswith("step"):
            continue
        b = last.cells[0]
        if (ahead[-1].id, ahead[-1].row) == (b.id, b.row) and bears(m, PARTS, ahead[-1], b):
            yield m.span("w")


def _nearly_all(clause: Clause) -> Iterator[tuple[int, int]]:
    """`nearly all of *'s jobs failed, * of *`: of a share, or a part and its whole of one row, that is not quite one."""
    for m in _NEARLY_ALL.finditer(clause.own):
        i = next((i for i, g in enumerate(clause.groups) if g.start >= m.end() - 1 and not _subject(g)), None)
        if i is None:
            continue
        a = clause.groups[i].cells[0]
        behind = clause.groups[i + 1] if i + 1 < len(clause.groups) else None
        between = clause.own[clause.groups[i].end : behind.start] if behind else ""
        value, whole = size(a.value), size(behind.cells[0].value) if behind and _OF.fullmatch(between) else None
        if any(c.id == a.id and c.row != a.row for g in clause.groups[: i + 1] for c in g.cells):
            continue
        if is_share(a) and isinstance(value, float):
            value = value / (100.0 if a.unit == "%" else 1.0)
        elif (
            behind and isinstance(value, float) and isinstance(whole, float) and whole and behind.cells[0].row == a.row
        ):
            value = value / whole
        else:
            continue
        if _MOST <= value < 1:
            yield m.span("w")


def _subject(group: Group) -> bool:
    return group.subject or isinstance(group.cells[0].value, str)


def _two_behind(clause: Clause, at: int) -> tuple[CellValue | None, CellValue | None]:
    """The two figures that end a clause, of one row and unit."""
    cells = [c for g in clause.groups if g.start >= at - 1 for c in g.cells]
    if len(cells) != 2 or (cells[0].id, cells[0].row) != (cells[1].id, cells[1].row) or alike(*cells):
        return None, None
    return (cells[0], cells[1]) if unit_of(cells[0]) == unit_of(cells[1]) != "" else (None, None)


def _did(cell: CellValue, said: str) -> bool:
    """Whether words say of a figure what it is of."""
    return any(p in _DID and _DID[p].search(said) for p in cell.column.split("_"))
