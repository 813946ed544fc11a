"""A count in words beside the cell that holds it: `four ranks ([[E2.ranks]])`, `only one job ([[E9.jobs]])`.

The cell has to be the count of that very thing, by its column's name.
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause
from agent_tools.gate.grounds import NUMBER_WORDS
from agent_tools.gate.ordinals import ORDINALS
from agent_tools.gate.scope import narrowed, whole
from agent_tools.gate.words import singular
from agent_tools.references import HOLE
from store import lazy

_NUMBER = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True)) + "|single"
_SPELLED = lazy.compile(
    rf"(?i)\b(?P<lead>(?:only|just|exactly|all|all of the|all the) (?:a )?)?(?P<n>{_NUMBER}) (?:different |distinct )?(?P<noun>[a-z]+)(?P<only> only)?\b(?!-)"
)
_HEDGED = lazy.compile(
    r"(?i)\b(?:at least|at most|more than|fewer than|less than|nearly|almost|about|around|roughly|over|under|up to|another|other|no|not|all but"
    r"|or|than|every|each|first|last|next|than|to|and|rank|node|gpu|step|-)\s*$"
)
_OF_CITED = lazy.compile(rf"(?i)^\W*(?P<n>{_NUMBER[:-7]}) of (?:its|the|the job's) (?P<of>{HOLE}+) (?P<noun>[a-z]+)\b")
_RESTATED = lazy.compile(
    rf"(?i)\b(?P<n>{_NUMBER[:-7]}) of (?:the |its )?(?P<m>{_NUMBER[:-7]}) [a-z]+\b[^{HOLE};]*?\((?P<a>{HOLE}+) (?:out )?of (?P<b>{HOLE}+)\)"
)
"""`Three of the four GPUs were spinning (* of *)`."""
_THE_OTHER = lazy.compile(
    rf"(?i), (?:and |but )?(?P<w>the (?:(?P<o>{'|'.join(ORDINALS)})|other|last)(?: one)?) (?:is|was)\b"
)
_ALL_RESTATED = lazy.compile(
    rf"(?i)\b(?P<w>all (?:of the |its )?(?P<n>{_NUMBER[:-7]})) [a-z]+\b[^{HOLE};]*?\((?P<a>{HOLE}+) (?:out )?of (?P<b>{HOLE}+)\)"
)
_TALLY = frozenset({"fleet_tally", "find_jobs_summary"})


def spelled(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause counts stand in words that a cell beside them holds."""
    own = clause.own
    cells = [c for g in clause.groups for c in g.cells]
    found: list[tuple[int, int]] = []
    for m in _SPELLED.finditer(own):
        if _HEDGED.search(own[: m.start()]):
            continue
        noun = m["noun"].lower()
        number = 1 if m["n"].lower() == "single" else NUMBER_WORDS[m["n"].lower()]
        names = _names(singular(noun))
        counts = [c for c in cells if c.column in names and isinstance(c.value, int) and not isinstance(c.value, bool)]
        values = {c.value for c in counts} or _of_row(cells, names, ledger)
        if values != {number}:
            continue
        if (m["lead"] or "").lower().startswith("all") and not (counts and _of_row(cells, names, ledger) == {number}):
            # of a tally's row: as many as there are, and the cited count is as large
            totals = _of_row(cells, names, ledger)
            if totals != {number} or not any(c.value == number and c.column not in names for c in cells):
                continue
        only = bool(m["lead"] or m["only"])
        if only and any(narrowed(ledger.get(c.id), ledger) for c in counts or cells):
            continue
        found.append((m.start(), m.end("n")))
        if m["only"]:
            found.append(m.span("only"))
    for m in _RESTATED.finditer(own):
        pair = [g.cells[0].value for w in "ab" for g in clause.groups if g.start == m.start(w)]
        if pair == [NUMBER_WORDS[m[w].lower()] for w in "nm"]:
            found.append((m.start(), m.end("m")))
            rest = _THE_OTHER.search(own, m.end("m"), m.start("a"))
            one_left = NUMBER_WORDS[m["m"].lower()] - NUMBER_WORDS[m["n"].lower()] == 1
            if rest and one_left and ORDINALS.get((rest["o"] or "").lower(), pair[1]) == pair[1]:
                found.append(rest.span("w"))
    for m in _ALL_RESTATED.finditer(own):
        of = [g.cells[0] for w in "ab" for g in clause.groups if g.start == m.start(w)]
        one_row = len({(c.id, c.row) for c in of}) == 1 and of[0].column != of[1].column
        if one_row and {c.value for c in of} == {NUMBER_WORDS[m["n"].lower()]}:
            found.append(m.span("w"))
    for m in _OF_CITED.finditer(own):
        total = next((g.cells[0] for g in clause.groups if g.start == m.start("of")), None)
        column = m["noun"].lower().removesuffix("s")
        if total is None or total.column not in (f"job_{column}s", f"{column}s", f"{column}_count"):
            continue
        of_rows = [total, *(c for c in cells if c.column == column)]
        for evidence in (ledger.get(c.id) for c in of_rows):
            if column in {c.name for c in evidence.columns}:
                several = {evidence.value(column, r) for r in range(len(evidence.rows))}
                if whole(evidence, ledger) and len(several) == NUMBER_WORDS[m["n"].lower()]:
                    found.append(m.span("n"))
                break
    return found


def _names(noun: str) -> tuple[str, ...]:
    return (f"{noun}s", f"{noun}es", f"{noun}_count", f"{noun}_n")


def _of_row(cells: list[CellValue], names: tuple[str, ...], ledger: Ledger) -> set[object]:
    """What the one cited row of a tally has as that count: a tally's row is of nothing but what it counts."""
    rows = {(c.id, c.row) for c in cells}
    if len(rows) != 1:
        return set()
    id, row = next(iter(rows))
    evidence = ledger.get(id)
    held = [c.name for c in evidence.columns if c.name in names and ledger.is_shown(id, row, c.name)]
    return {evidence.value(n, row) for n in held} if evidence.query in _TALLY else set()
