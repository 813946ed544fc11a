"""Of both, of all, of the others: how many ranks it is by the number and the list that a row has of them, beside the job's own number.

Both ranks raised [[E4.name]].                                              the row has two ranks, and so has the job
The launcher stopped the other three ranks: [[E6:1.all_ranks]].             three in the row, and the one that is named is none of them
All four ranks ran on node [[E8.node]].                                     the node's row has as many as the job
Both tasks exited with code [[E3.exit_code]].                               two messages of that kind, each of one task, and both say so
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held
from agent_tools.gate.denials import DENIED
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.order import order
from agent_tools.gate.scope import held_by_job, whole
from agent_tools.references import HOLE
from store import lazy

_RANKS = r"(?:ranks|processes)\b(?!['’])"
_ALL = lazy.compile(rf"(?i)^\W*(?P<w>both|all (?:of )?(?:the |its )?(?P<n>{SEVERAL})) (?:of the )?{_RANKS}")
_OTHERS = lazy.compile(
    rf"(?i)\b(?P<w>(?P<the>the )?(?:all )?(?:others?(?: (?P<n>{SEVERAL}|{HOLE}+))?|(?P<m>{SEVERAL}) others?|(?P<h>{HOLE}+) others?)) {_RANKS}"
    rf"|\b(?P<alone>the (?:(?P<p>{SEVERAL}) )?others)(?= (?:were|got|had|all)\b)"
)
_BOTH_TASKS = lazy.compile(
    r"(?i)^\W*(?P<w>both) tasks (?:of (?:the job|it) )?(?:exited|ended|failed|stopped|got|were|had)\b"
)
_ONE_TASK = lazy.compile(r"\btask (\d+):")
_UNSURE = lazy.compile(
    r"(?i)\b(?:not|never|none|neither|nor|but|except|nearly|almost|about|some|any|or|if|whether|half|different|first)\b|n['’]t\b"
)
_DIED = lazy.compile(
    rf"(?i)\b(?:rank|process|pid|task) (?P<a>{HOLE}+) (?:had )?(?P<w>died) (?:of|from|by|with) (?:(?:the )?signal )?(?P<b>{HOLE}+)"
)
_DIED_AT = lazy.compile(rf"(?i)\branks? (?P<a>{HOLE}+) (?:had )?(?P<w>died)(?: (?:first|last))?,? at (?P<b>{HOLE}+)")
_LIVED = lazy.compile(rf"(?i)\b(?P<w>lived|lived on|ran on) (?:until|till|up to) (?P<b>{HOLE}+)")
_ONLY_GOT = lazy.compile(
    rf"(?i)\branks? (?P<a>{HOLE}+) (?:(?:was|were) )?(?P<w>only|merely) (?:(?:got|received|saw)|(?:ended|stopped|terminated) (?:with|by)) (?:signal )?(?P<b>{HOLE}+)"
)
_LATER = lazy.compile(
    rf"(?i)\b(?:ended|died|stopped|terminated|killed|got {HOLE}+|failed)(?: only)? (?P<w>later|afterwards)\b(?=\W*$|,? (?:at|by|with|on) {HOLE})"
)
_SIGNALS = ("signal", "signal_name", "exit_signal")
_TWO = 2


def several(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where a clause says of how many ranks or tasks it is so, as the rows that it cites have it."""
    own = clause.own
    yield from _ended_at(clause, ledger)
    if _UNSURE.search(own):
        return
    cells = [c for g in clause.groups for c in g.cells]
    if (m := _ALL.match(own)) and len({(c.id, c.row) for c in cells}) == 1:
        many = _many(cells[0], ledger)
        said = NUMBER_WORDS[m["n"].lower()] if m["n"] else _TWO
        if many == said and _of_job(cells[0], ledger) == many and not any(c.column == "rank" for c in cells):
            yield m.span("w")
    if (m := _BOTH_TASKS.match(own)) and _both_say(cells, ledger):
        yield m.span("w")
    yield from _others(clause, before, ledger)
    yield from _died(clause, ledger)
    yield from _later(clause, before, ledger)
    yield from _only_got(clause, ledger)


def _died(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`rank * died of *`: the signal of its own row."""
    for m in _DIED.finditer(clause.own):
        first, last = (next((g for g in clause.groups if g.start == m.start(w)), None) for w in ("a", "b"))
        if first is None or last is None or len(first.cells) != 1 or len(last.cells) != 1:
            continue
        a, b = first.cells[0], last.cells[0]
        if (
            (a.id, a.row) == (b.id, b.row)
            and b.column in _SIGNALS
            and b.value
            and held(ledger, a, "ranks") in (None, 1)
        ):
            yield m.span("w")


def _ended_at(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`rank * died at *`, `lived until *`: the end of a process; `died`, where its own row has a signal or an exit status that is no zero."""
    for m in () if DENIED.search(clause.own) else (*_DIED_AT.finditer(clause.own), *_LIVED.finditer(clause.own)):
        end = next((g.cells[0] for g in clause.groups if g.start == m.start("b") and len(g.cells) == 1), None)
        if end is None or end.column != "end_ts" or ledger.get(end.id).query != "process_exits":
            continue
        whose = (
            next((g.cells[0] for g in clause.groups if g.start == m.start("a")), None) if "a" in m.groupdict() else end
        )
        badly = held(ledger, end, "exit_signal") or held(ledger, end, "exit_code")
        if whose and (whose.id, whose.row) == (end.id, end.row) and (badly or whose is end):
            yield m.span("w")


def _only_got(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`ranks * only got *`: none of those that the row lists is in another row of the answer."""
    for m in _ONLY_GOT.finditer(clause.own):
        a, b = (next((g for g in clause.groups if g.start == m.start(w)), None) for w in ("a", "b"))
        if a is None or b is None or len(a.cells) != 1 or len(b.cells) != 1 or a.column not in ("all_ranks", "rank"):
            continue
        cell, other = a.cells[0], b.cells[0]
        evidence = ledger.get(cell.id)
        own = _listed(cell, ledger)
        if (cell.id, cell.row) != (other.id, other.row) or other.column not in _SIGNALS or not own:
            continue
        rest = [_listed(evidence.cell("all_ranks", r), ledger) for r in range(len(evidence.rows)) if r != cell.row]
        if whole(evidence, ledger) and not any(of is None or of & own for of in rest):
            yield m.span("w")


def _later(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the other * ranks were ended later, at *`: every other row of the answer came before theirs, by its time."""
    cells = [c for g in clause.groups for c in g.cells]
    if len({(c.id, c.row) for c in cells}) != 1 or not any(_others(clause, before, ledger)):
        return
    evidence = ledger.get(cells[0].id)
    rest = [r for r in range(len(evidence.rows)) if r != cells[0].row]
    known = {"signal_ts", "end_ts"} & {c.name for c in evidence.columns}
    name = evidence.columns[0].name
    own = evidence.cell(name, cells[0].row)
    signs = [order(evidence.cell(name, r), own, ledger, ends=True) for r in rest]
    if rest and known and whole(evidence, ledger) and all(s == -1 for s in signs):
        yield from (m.span("w") for m in _LATER.finditer(clause.own))


def _others(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the other three ranks, *`: as many as the row lists, none of which is named before; `the`: all of the job's that are not."""
    for m in _OTHERS.finditer(clause.own):
        cells = [c for g in clause.groups if g.start >= m.start() for c in g.cells]
        rows = {(c.id, c.row) for c in cells}
        listed = _listed(cells[0], ledger) if len(rows) == 1 else None
        many, total = (_many(cells[0], ledger), _of_job(cells[0], ledger)) if listed is not None else (None, None)
        if listed is None or not isinstance(many, int) or not isinstance(total, int):
            continue
        ahead = [c for g in clause.groups if g.end <= m.start() for c in g.cells]
        told = {
            str(c.value)
            for c in (*ahead, *(c for b in before for g in b.groups for c in g.cells))
            if c.column == "rank"
        }
        said = m["n"] or m["m"] or m["p"]
        if said and said[0] != HOLE[0] and NUMBER_WORDS[said.lower()] != many:
            continue
        every = m["the"] or m["alone"]
        if told & listed or (every and many + max(len(told), 1) != total) or many >= total or (m["alone"] and not told):
            continue
        if told and len(listed) != many:
            continue  # a list that is cut off
        yield from _without_holes(clause.own, *m.span("alone" if m["alone"] else "w"))


def _without_holes(own: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a place between its references."""
    for part in re.finditer(rf"[^{HOLE}]+", own[begin:end]):
        yield begin + part.start(), begin + part.end()


def _listed(cell: CellValue, ledger: Ledger) -> set[str] | None:
    """The ranks that a row lists; None where it lists none."""
    value = held(ledger, cell, "all_ranks")
    return set(re.findall(r"\d+", value)) if isinstance(value, str) else None


def _many(cell: CellValue, ledger: Ledger) -> object:
    """How many ranks a row is of."""
    return held(ledger, cell, "ranks")


def _of_job(cell: CellValue, ledger: Ledger) -> object:
    """How many ranks the job has: one for each of its GPUs."""
    return held_by_job(ledger.get(cell.id), ledger, "gpus")


def _both_say(cells: Sequence[CellValue], ledger: Ledger) -> bool:
    """Whether an answer has two messages of one kind, each of another single task, that say the same of what is cited."""
    if not cells or len({(c.id, c.row) for c in cells}) != 1:
        return False
    evidence = ledger.get(cells[0].id)
    if not {"name", "message"} <= {c.name for c in evidence.columns} or not whole(evidence, ledger):
        return False
    of = [r for r in range(len(evidence.rows)) if evidence.value("name", r) == held(ledger, cells[0], "name")]
    tasks = [_ONE_TASK.search(str(evidence.value("message", r))) for r in of]
    alike = all(evidence.value(c.column, r) == c.value for c in cells for r in of)
    return len(of) == _TWO and alike and len({m[1] for m in tasks if m}) == _TWO
