"""Two of a kind in one clause, of which a word says that they are alike, that one is more, or that neither is: their rows tell.

Neither rank [[E6.rank]] nor rank [[E6:1.rank]] was ended by signal [[E6:2.exit_signal]].       both rows have another
Ranks [[E6:2.rank]] and [[E6:3.rank]] ran on the same node.                                   both rows have one node
Attempt [[E5:1.attempt]] ran longer than attempt [[E5.attempt]].                              by the rows' running times
Job [[E2.job_id]] ran longer than job [[E3.job_id]]: [[E2.elapsed_s]] and [[E3.elapsed_s]].   each its own, in turn
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.gate.fates import ended_so
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.ordinals import ORDINALS
from agent_tools.gate.scope import whole
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

_NP = rf"(?:the )?(?:[a-z]+ )?{HOLE}+"
_NEITHER = lazy.compile(
    rf"(?i)^\W*(?:(?:of the two|here|so)[, ]+)?(?P<n>neither)(?: of)? {_NP} (?P<r>nor) {_NP} (?P<did>[a-z' ]*?)(?: ?(?:the )?{HOLE}+)?\W*$"
)
_ALIKE = lazy.compile(
    rf"(?i)\bthe (?P<w>same(?: (?P<k>{SEVERAL}))?) (?P<noun>node|host|machine|user|owner|partition|gpu|card|signal|state|status|exit (?:code|status))s?\b"
    r"|\b(?:on|of|by|with|in|from|had) (?:the )?(?P<u>different|separate) (?P<nouns>node|host|machine|user|owner|partition|gpu|card|signal|state|exit code)s\b"
)
_COLUMNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("node", "host", "machine"), ("node", "node_list", "host")),
    **dict.fromkeys(("user", "owner"), ("user",)),
    **dict.fromkeys(("gpu", "card"), ("gpu_uuid", "gpu_uuids")),
    "signal": ("exit_signal", "signal"),
    "partition": ("partition",),
    **dict.fromkeys(("state", "status"), ("state",)),
    **dict.fromkeys(("exit code", "exit status"), ("exit_code",)),
}
_DENIED = lazy.compile(r"(?i)\b(?:not|never|no|neither|nor|cannot|without)\b|n['’]t\b")
_LONGER = lazy.compile(
    rf"(?i){HOLE} (?:had )?(?:ran|run|lasted|lived|took|went on)(?: for)? (?:much |far |a bit |slightly )?(?P<w>(?P<more>longer)|shorter) than {_NP}\W*$"
)
_RAN = ("elapsed_s", "lived_s")
_LIST = lazy.compile(r"(?i)[:(]\s*$")
_AND = lazy.compile(r"(?i)\s*(?:,? and|against|versus|vs\.?|compared (?:to|with))\s*")
_TWO = 2
_ORDINAL_ONE = lazy.compile(
    rf"(?i)^\W*the (?P<n>{'|'.join(ORDINALS)}) attempt (?:was|ran|lasted|took)(?: (?:for )?the)? (?P<w>(?P<more>longer)|shorter)(?P<one> one)?(?: of (?:the two|both))?[ ,:(–—]*(?:at )?{HOLE}+(?P<rest> (?:against|versus|and) {HOLE}+)?\W*$"
)


def neither(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where a clause says that neither of two is so, where both their rows are otherwise; empty where it does not, or they do not tell."""
    m = _NEITHER.match(clause.own)
    groups = clause.groups
    if m is None or not _TWO <= len(groups) <= _TWO + 1:
        return []
    a, b = groups[0], groups[1]
    if len(a.cells) != 1 or len(b.cells) != 1 or a.column != b.column or not (a.subject or a.column == "attempt"):
        return []
    rows = [a.cells[0], b.cells[0]]
    spans = [m.span("n"), m.span("r")]
    if len(groups) == _TWO:
        word = m["did"].lower().removeprefix("was ").removeprefix("had ").removeprefix("has ").strip()
        return [*spans, m.span("did")] if all(ended_so(c, word, ledger) is False for c in rows) else []
    what = groups[2].cells[0]
    if len(groups[2].cells) != 1 or any(c.id != what.id for c in rows):
        return []
    own = [held(ledger, c, what.column) for c in rows]
    return spans if all(v is not None and v != what.value for v in own) else []


def alike(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where a clause says of those it names that they had the same of something, or different ones, and their rows say so."""
    m = _ALIKE.search(clause.own)
    if m is None or _DENIED.search(clause.own):
        return []
    if m["k"] and {
        len(set(str(c.value).split(","))) for g in clause.groups if g.column == "node_list" for c in g.cells
    } != {NUMBER_WORDS[m["k"].lower()]}:
        return []
    columns = _COLUMNS[(m["noun"] or m["nouns"]).lower()]
    named = [
        c for g in clause.groups if (g.subject or g.column == "attempt") and g.column not in columns for c in g.cells
    ]
    kinds = {c.column for c in named}
    told = [next((v for n in columns if (v := held(ledger, c, n)) is not None), None) for c in named]
    if m["w"] and len(named) < _TWO:
        every = [c for g in clause.groups if g.column in columns for c in g.cells]
        return [m.span("w"), m.span("noun")] if every and all(_of_all(c, ledger) for c in every) else []
    if len(named) < _TWO or len(kinds) != 1 or None in told or len({(c.id, c.row) for c in named}) != len(named):
        return []
    cited = {str(c.value) for g in clause.groups if g.column in columns for c in g.cells}
    several = {str(v) for v in told}
    if m["w"]:
        return [m.span("w"), m.span("noun")] if len(several) == 1 and cited <= several else []
    return [m.span("u"), m.span("nouns")] if len(several) == len(told) else []


def _of_all(cell: CellValue, ledger: Ledger) -> bool:
    """Whether every row of an answer of several, which is whole, has what the cell holds: `on the same nodes, *`."""
    evidence = ledger.get(cell.id)
    values = {str(evidence.value(cell.column, r)) for r in range(len(evidence.rows))}
    return len(evidence.rows) > 1 and len(values) == 1 and whole(evidence, ledger)


def longer(clause: Clause, ledger: Ledger) -> Iterator[tuple[tuple[int, int], bool]]:
    """Each word by which one of two is said to have run longer or shorter, and whether the running times of their rows say so."""
    m = _LONGER.search(clause.own)
    if m is not None and len(clause.groups) == _TWO and all(len(g.cells) == 1 for g in clause.groups):
        a, b = (_ran(g.cells[0], ledger) for g in clause.groups)
        if a is not None and b is not None and clause.groups[0].column == clause.groups[1].column:
            yield m.span("w"), (a > b) if m["more"] else (a < b)
    one = _ORDINAL_ONE.match(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    if one is None or not cells or any(c.column not in _RAN or c.id != cells[0].id for c in cells):
        return
    evidence = ledger.get(cells[0].id)
    rows = (
        [(evidence.value("attempt", r), size(evidence.value(cells[0].column, r))) for r in range(len(evidence.rows))]
        if "attempt" in {c.name for c in evidence.columns}
        else []
    )
    if len(rows) != _TWO or evidence.truncated or held(ledger, cells[0], "attempt") != ORDINALS[one["n"].lower()]:
        return
    own = size(cells[0].value)
    other = next((s for n, s in rows if n != held(ledger, cells[0], "attempt")), None)
    if isinstance(own, float) and isinstance(other, float):
        so = own > other if one["more"] else own < other
        yield one.span("w"), so
        if so:
            yield one.span("n"), True
            yield from [(one.span("one"), True)] if one["one"] else []


def in_turn(clause: Clause) -> tuple[CellValue, CellValue] | None:
    """The two figures that end a clause behind a colon or a bracket, where two are named before and each figure is of its own row."""
    cells = [(g, c) for g in clause.groups for c in g.cells]
    if len(cells) != 2 * _TWO or cells[0][1].column != cells[1][1].column or cells[2][1].column != cells[3][1].column:
        return None
    named, figures = cells[:_TWO], cells[_TWO:]
    ahead = clause.own[: figures[0][0].start]
    apart = figures[0][0] is figures[1][0] or _AND.fullmatch(clause.own[figures[0][0].end : figures[1][0].start])
    own = all((n.id, n.row) == (f.id, f.row) for (_, n), (_, f) in zip(named, figures, strict=True))
    if not (apart and own and _LIST.search(ahead)) or named[0][1].column not in (*SUBJECTS, "attempt", "value"):
        return None
    return figures[0][1], figures[1][1]


def mismatched(clause: Clause, ledger: Ledger) -> str:
    """Why one of two did not run longer than the other, as a clause says; "" where it did."""
    if any(not so for _, so in longer(clause, ledger)):
        a, b = clause.groups[0].cells[0], clause.groups[-1].cells[-1]
        return f"the running times of [[{a.ref}]] and [[{b.ref}]] say otherwise: turn it round, or leave the comparison out"
    return ""


def _ran(cell: CellValue, ledger: Ledger) -> float | None:
    found: Sequence[Cell] = [v for n in _RAN if (v := held(ledger, cell, n)) is not None]
    return s if found and isinstance(s := size(found[0]), float) else None
