"""What several have in common, how many the others are, between which figures all lie: held against every row of the answer.

Both preempted attempts were ended by signal [[E5.exit_signal]].              the rows of that state are two, and have it
Both attempts of [[E6.job_id]] hit the limit, each after [[E6.elapsed_s]].       so have the rows of that job
Only the third attempt is [[E5:2.state]]; the other two are [[E5.state]].       all rows but the one that was told before
The launches of the ranks lie between [[E7:3.launches]] and [[E7.launches]].    the smallest and the largest of all
There were as many saves as steps, [[E8.saves]].                             the row has as many
Two checkpoints were saved before training finished at [[E9:2.ts]].             as many rows of that kind come before
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.kinds import finished, kind
from agent_tools.gate.scope import whole
from agent_tools.gate.vocabulary import means
from agent_tools.gate.words import singular
from agent_tools.references import HOLE
from store import lazy

_OF_STATE = lazy.compile(
    rf"(?i)^\W*(?P<n>both|all|all (?:the |of the )?(?:{SEVERAL})) (?:of )?(?:the )?(?P<state>preempted|cancelled|failed|completed|requeued|timed-out) (?P<noun>attempts|jobs)\b"
)
_OF_ONE_JOB = lazy.compile(rf"(?i)^\W*(?P<n>both) (?:of the )?(?P<noun>attempts|runs|tries) of (?:job )?(?P<j>{HOLE}+)")
_EACH = lazy.compile(r"(?i), (?P<w>each)\b(?= (?:after|for|with|at|by|on|of|having)\b)")
_OTHERS = lazy.compile(
    rf"(?i)\bthe (?P<w>other (?:(?P<n>{SEVERAL})|others?|ones?))(?: (?:attempts|jobs|ranks|nodes|gpus))? (?:are|were|is|was|ended as|ended in) (?={HOLE})"
)
_BETWEEN = lazy.compile(
    rf"(?i)\b(?P<w>(?:lie|lies|lay|ranges?|ranged|is|are|was|were)) (?P<b>between|from) (?P<lo>{HOLE}+) (?:and|to) (?P<hi>{HOLE}+)"
)
_AS_MANY = lazy.compile(
    r"(?i)(?<!twice )(?<!half )(?<!times )(?<!not )(?<!almost )(?<!nearly )\bas (?P<w>many)(?: (?P<a>[a-z]+))?(?P<op> as)(?: (?:there (?:are|were)|it had|it counts))?(?: (?P<k>[a-z]+))? (?P<b>[a-z]+)\b"
)
_BEFORE = lazy.compile(
    rf"(?i)^\W*(?:the last attempt (?:saved|wrote) )?(?P<n>{SEVERAL}) (?P<noun>[a-z]+)(?P<did>(?: (?:were|had been) (?:saved|written|announced|logged|recorded|reported))?) (?:before|until|by the time) [^{HOLE},;:]*? (?:at|in line) (?={HOLE})"
)
_SAME_NUMBER = lazy.compile(
    rf"(?i)\b(?:the (?P<w>same) number of [a-z]+(?: [a-z]+)?,? ?\(?|the (?P<v>(?:very )?same)(?: (?:moment|time|second|instant),? (?:at )?| ))(?={HOLE})"
)
_UNSURE = lazy.compile(
    r"(?i)\b(?:not|never|no|none|neither|nor|without|cannot|but|except|about|almost|nearly|if|or|may|might|could)\b|n['’]t\b"
)
_TWO = 2


def shared(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out; `before` are the clauses that were told before it."""
    cells = [c for g in clause.groups for c in g.cells]
    if _UNSURE.search(clause.own) or not cells:
        return
    yield from _as_many(clause, cells, ledger)
    if len({c.id for c in cells}) != 1:
        return
    evidence = ledger.get(cells[0].id)
    yield from _together(clause, cells, evidence, ledger)
    yield from _others(clause, cells, before, evidence, ledger)
    yield from _between(clause, evidence, ledger)
    yield from _counted_before(clause, cells, evidence, ledger)
    yield from _same_number(clause, cells, evidence, ledger)


def _together(
    clause: Clause, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`both preempted attempts`, `both attempts of *`: so many rows are of that state, or of that job, and each has what is cited."""
    rows: list[int] = []
    if (m := _OF_STATE.search(clause.own)) and whole(evidence, ledger):
        rows = (
            [r for r in range(len(evidence.rows)) if means(m["state"], evidence.value("state", r))]
            if _has(evidence, "state")
            else []
        )
        if m["noun"].lower() == "jobs" and len({evidence.value("job_id", r) for r in rows}) != len(rows):
            return
    elif m := _OF_ONE_JOB.search(clause.own):
        job = next((g.cells[0] for g in clause.groups if g.start == m.start("j")), None)
        if job is None or job.column != "job_id" or not _has(evidence, "attempt"):
            return
        rows = [r for r in range(len(evidence.rows)) if evidence.value("job_id", r) == job.value]
        if {evidence.value("attempt", r) for r in rows} != {1, _TWO} or not all(
            ledger.is_shown(evidence.id, r, "attempt") for r in rows
        ):
            return
    if m is None or not rows:
        return
    word = m["n"].lower().split()[-1]
    number = _TWO if word == "both" else NUMBER_WORDS.get(word, len(rows))
    own = [c for c in cells if c.column not in SUBJECTS]
    if len(rows) != number or number < _TWO or any(c.row not in rows for c in cells):
        return
    if not own or all(evidence.value(c.column, r) == c.value for c in own for r in rows):
        yield m.span("n")
        yield from (e.span("w") for e in _EACH.finditer(clause.own))


def _others(
    clause: Clause, cells: Sequence[CellValue], before: Sequence[Clause], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`the other two are *`: every row of the answer but those that were told before it in the sentence has it."""
    m = _OTHERS.search(clause.own)
    told = {c.row for b in before[-1:] for g in b.groups for c in g.cells if c.id == evidence.id}
    if m is None or not told or not whole(evidence, ledger):
        return
    rest = [r for r in range(len(evidence.rows)) if r not in told]
    number = NUMBER_WORDS[m["n"].lower()] if m["n"] else len(rest)
    own = [c for c in cells if c.row in rest]
    if (
        len(rest) == number
        and len(own) == len(cells)
        and all(evidence.value(c.column, r) == c.value for c in own for r in rest)
    ):
        yield m.span("w")


def _between(clause: Clause, evidence: Evidence, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`lie between * and *`: the smallest and the largest of the column, of every row."""
    for m in _BETWEEN.finditer(clause.own):
        ends = [c for g in clause.groups if m.start("lo") <= g.start <= m.start("hi") for c in g.cells]
        if len(ends) != _TWO or ends[0].column != ends[1].column or not whole(evidence, ledger):
            continue
        low, high = ends
        values = [size(evidence.value(low.column, r)) for r in range(len(evidence.rows))]
        known = [v for v in values if isinstance(v, float)]
        if len(known) == len(values) > 1 and size(low.value) == min(known) and size(high.value) == max(known):
            yield m.span("w")


def _as_many(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`as many saves as steps, *`: two counts that are equal, both cited or of one row."""
    m = _AS_MANY.search(clause.own)
    figures = [
        c for c in cells if isinstance(c.value, int) and not isinstance(c.value, bool) and c.column not in SUBJECTS
    ]
    if m is None or not 1 <= len(figures) <= _TWO:
        return
    if len(figures) == _TWO:
        a, b = figures
        names = f"{b.column} {b.doc}".lower().replace("_", " ")
        nouns = [w for w in (m["k"], m["b"]) if w]
        if a.value == b.value and a.column != b.column and any(singular(n)[:5] in names for n in nouns):
            yield m.span("w")
        return
    columns = [w.lower() for w in (m["a"], m["k"], m["b"]) if w]
    own = [held(ledger, figures[0], c) for c in dict.fromkeys(columns)]
    there = [v for v in own if isinstance(v, int)]
    if len(there) == _TWO and there[0] == there[1] and figures[0].column in columns:
        yield m.span("w")


def _counted_before(
    clause: Clause, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`two checkpoints were saved before training finished at *`: so many rows of that kind come before the row that is cited."""
    m = _BEFORE.search(clause.own)
    if m is None or len({c.row for c in cells}) != 1 or not whole(evidence, ledger):
        return
    what = kind(evidence, singular(m["noun"]))
    order = next((c for c in ("line_no", "ts") if _has(evidence, c)), "")
    own = str(evidence.value(order, cells[0].row)).rjust(40) if order else ""
    if what is None or not own:
        return
    rows = [r for r in range(len(evidence.rows)) if evidence.value(what[0], r) == what[1]]
    names = {str(evidence.value("name", r)) for r in rows}
    done = f"{m['did']} {m[0]}"
    if len(names) != 1 or finished(next(iter(names)), done):
        return
    early = [r for r in rows if str(evidence.value(order, r)).rjust(40) < own]
    if cells[0].row not in rows and len(early) == len(rows) == NUMBER_WORDS[m["n"].lower()]:
        yield m.start("n"), m.end("did")


def _same_number(
    clause: Clause, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`the same number of collectives, *`: every row of the answer has it."""
    m = _SAME_NUMBER.search(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.end()), None)
    if m is None or cell is None or not whole(evidence, ledger) or len(evidence.rows) < _TWO:
        return
    if {evidence.value(cell.column, r) for r in range(len(evidence.rows))} == {cell.value}:
        yield m.span("w" if m["w"] else "v")


def _has(evidence: Evidence, column: str) -> bool:
    return any(c.name == column for c in evidence.columns)
