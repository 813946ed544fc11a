"""Is one as the other, or as it was? What is told to be level, or nearly so, is held against both figures, or against every row.

Both ranks made about the same number of launches: [[E6.launches]] and [[E6:1.launches]].      within a twentieth
As many collectives completed on rank [[E6.rank]] as on rank [[E6:1.rank]]: [[E6.completed]].  both rows have that number
The learning rate stayed at [[E7.learning_rate]].                                              every row has it
The pace hardly changed: [[E8.early_s]] early on and [[E8.late_s]] late.                       one measure's two figures
The activity lay between [[E9.all_sm_min]] and [[E9.all_sm_max]].                              the lowest and the highest
The loss ended at [[E7.last_loss]], close to its lowest value of [[E7.min_loss]].
An earlier job of that name, [[E9:1.job_id]], failed too.                                       so did the job that was asked about
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.gate.jobs import STATES
from agent_tools.gate.scope import whole
from agent_tools.gate.words import spoken_of, stems
from agent_tools.references import HOLE
from store import lazy

_ABOUT = lazy.compile(
    rf"(?i)\b(?P<w>(?:(?P<h>about|roughly|nearly|almost) )?(?:the same|equal)) (?P<noun>number|count|amount|share|time|loss|temperature|memory|speed)s?\b[^{HOLE}.;]*(?P<a>{HOLE})"
)
_AS_MANY = lazy.compile(
    rf"(?i)^\W*(?P<w>as many) (?P<what>[a-z ]+?) (?:on|by|in|from|of) (?:the )?(?P<n>rank|node|gpu|process|attempt) (?P<a>{HOLE}+) (?P<as>as) (?:on|by|in|from|of) (?:the )?(?P=n) (?P<b>{HOLE}+)[,:( ]+(?P<x>{HOLE}+)(?P<each> each)?[).]*$"
)
_STAYED = lazy.compile(rf"(?i)\b(?P<w>stayed|remained|was (?:always|constantly)|was constant) (?P<at>at )?(?={HOLE})")
_CLOSE = lazy.compile(
    rf"(?i),? (?P<w>(?:very )?close to|near) (?:its|the) (?:(?:lowest|highest|best|first|last|peak|mean|median) )?(?:value|loss|figure|one)?(?: of)? ?(?={HOLE})"
)
_TOO = lazy.compile(
    r"(?i)\b(?P<v>failed|completed|timed out|(?:was|were) (?:cancelled|canceled|preempted))[^.;:,]{0,3}(?P<w>,? (?:too|as well))\b(?=\W*$|,)"
)
_ENDED_TOO = lazy.compile(rf"(?i)\b(?:ended|went) (?:as )?(?P<s>{HOLE}+)(?P<w>,? (?:too|as well))\b(?=\W*$|,)")
_HARDLY = lazy.compile(
    r"(?i)\b(?P<w>(?:hardly|barely|scarcely) (?:changed|moved|varied|differed)|(?:was|were|stayed|remained) (?:about|nearly|almost|roughly) (?:the same|level|constant))\b"
)
_LITTLE_USED = lazy.compile(r"(?i)\b(?:was|were|is|are|stood|sat) (?P<w>little|hardly|barely) (?:used|busy|active)\b")
_USE = lazy.compile(r"^(?:engine|sm)_(?:mean|median|late)$")
_LITTLE = 0.3
_BETWEEN = lazy.compile(
    rf"(?i)\b(?P<w>lay|lies|ranged|varied) (?:between|from) (?P<a>{HOLE}+) (?:and|to) (?P<b>{HOLE}+)"
)
_DENIED = lazy.compile(r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|but|except)\b|n['’]t\b")
_LOW, _HIGH = (lazy.compile(rf"(?:^|_)(?:{w})(?=_|$)") for w in ("min|lowest|best", "max|highest|peak"))
_SLACK = 0.05
_EDGES = (
    "first_",
    "last_",
    "start_",
    "end_",
    "min_",
    "max_",
    "best_",
    "lowest_",
    "highest_",
    "peak_",
    "mean_",
    "median_",
)


def likened(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the figures beside them, or all rows, bear out."""
    if _DENIED.search(clause.own):
        return
    yield from _about(clause, ledger)
    yield from _hardly(clause)
    yield from _little_used(clause)
    yield from _between(clause, ledger)
    yield from as_many(clause, ledger)
    yield from _stayed(clause, ledger)
    yield from _close(clause)
    yield from _too(clause, ledger)


def _about(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`about the same number of launches: * and *`: figures of one column of two rows, and nothing else but whose they are; then of every row."""
    m = _ABOUT.search(clause.own)
    cells = [c for g in clause.groups if m and g.start >= m.start("a") for c in g.cells]
    names = [c for c in cells if c.column in SUBJECTS]
    cells = [c for c in cells if c not in names]
    values = [v for c in cells if isinstance(v := size(c.value), float)]
    if m is None or len(values) != len(cells) or len(cells) < 2 or len({(c.id, c.column) for c in cells}) != 1:
        return
    rows = {(c.id, c.row) for c in cells}
    if len(rows) != len(cells) or not all((n.id, n.row) in rows for n in names):
        return
    if names:
        evidence = ledger.get(cells[0].id)
        every = [size(evidence.value(cells[0].column, r)) for r in range(len(evidence.rows))]
        values = [v for v in every if isinstance(v, float)]
        if len(values) != len(every) or not whole(evidence, ledger):
            return
    low, high = min(values), max(values)
    if low == high or (m["h"] and high - low <= _SLACK * abs(high)):
        yield m.span("w")


def _hardly(clause: Clause) -> Iterator[tuple[int, int]]:
    """`hardly changed: * early on and * late`: the two figures of one measure of one row, within a twentieth of each other."""
    m = _HARDLY.search(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    if m is None or len(cells) != 2 or (cells[0].id, cells[0].row) != (cells[1].id, cells[1].row):
        return
    x, y = (size(c.value) for c in cells)
    edges = (*_EDGES, "early_", "late_")
    measures = [c.column.removeprefix(e) for c in cells for e in edges if c.column.startswith(e)]
    of_one = len(measures) == len(cells) and len(set(measures)) == 1 and cells[0].column != cells[1].column
    if not of_one or not isinstance(x, float) or not isinstance(y, float):
        return
    if abs(x - y) <= _SLACK * max(abs(x), abs(y)):
        yield m.span("w")


def _little_used(clause: Clause) -> Iterator[tuple[int, int]]:
    """`were little used: * and *`: each figure is of how busy a GPU was, and below a third."""
    m = _LITTLE_USED.search(clause.own)
    cells = [c for g in clause.groups if not g.subject for c in g.cells]
    values = [v for c in cells if _USE.match(c.column) and isinstance(v := size(c.value), float)]
    if m and cells and len(values) == len(cells) and all(v <= _LITTLE for v in values):
        yield m.span("w")


def _between(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`lay between * and *`: the lowest and the highest of one measure by their columns' names, or of every row of their column."""
    for m in _BETWEEN.finditer(clause.own):
        ends = [c for g in clause.groups if m.start("a") <= g.start < m.end("b") for c in g.cells]
        if len(ends) != 2 or ends[0].id != ends[1].id or ends[0].column in SUBJECTS:
            continue
        a, b = ends
        x, y = size(a.value), size(b.value)
        if not isinstance(x, float) or not isinstance(y, float) or x > y:
            continue
        if a.row == b.row and _LOW.search(a.column) and _HIGH.search(b.column):
            if _LOW.sub("", a.column) == _HIGH.sub("", b.column):
                yield m.span("w")
        elif a.column == b.column and whole(ledger.get(a.id), ledger):
            rows = range(len(ledger.get(a.id).rows))
            every = [v for r in rows if isinstance(v := size(ledger.get(a.id).value(a.column, r)), float)]
            if len(every) == len(rows) and (x, y) == (min(every), max(every)):
                yield m.span("w")


def as_many(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`as many ... on rank * as on rank *: *`: the rows of both have that figure."""
    m = _AS_MANY.match(clause.own)
    if m is None:
        return
    a, b, x = (
        next((g.cells[0] for g in clause.groups if g.start == m.start(n) and len(g.cells) == 1), None) for n in "abx"
    )
    if a is None or b is None or x is None or a.column != b.column or not a.column.startswith(m["n"].lower()[:4]):
        return
    if len({a.id, b.id, x.id}) != 1 or x.row not in (a.row, b.row) or x.column in SUBJECTS or a.row == b.row:
        return
    if not any(spoken_of(w, stems(x.column)) for w in m["what"].split()):
        return
    if isinstance(size(x.value), float) and held(ledger, a, x.column) == held(ledger, b, x.column) == x.value:
        yield m.start("w"), m.end("what")
        yield m.end("what"), m.start("a")
        yield m.end("a"), m.start("b")
        yield from [m.span("each")] if m["each"] else []


def _stayed(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`stayed at *`: of a curve or a series, every row of which has it."""
    for m in _STAYED.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        if cell is None or not isinstance(size(cell.value), float):
            continue
        evidence = ledger.get(cell.id)
        rows = range(len(evidence.rows))
        series = {"first_step", "bin", "ts", "bucket_ts"} & {c.name for c in evidence.columns}
        if (
            series
            and len(rows) > 2
            and whole(evidence, ledger)
            and all(evidence.value(cell.column, r) == cell.value for r in rows)
        ):
            yield m.span("w")


def _close(clause: Clause) -> Iterator[tuple[int, int]]:
    """`*, close to its lowest value of *`: one measure's two, within a twentieth of each other."""
    for m in _CLOSE.finditer(clause.own):
        other = next((g.cells[0] for g in clause.groups if g.start == m.end()), None)
        own = next((g.cells[-1] for g in reversed(clause.groups) if g.end <= m.start()), None)
        if own is None or other is None or (own.id, own.row) != (other.id, other.row) or unit_of(own) != unit_of(other):
            continue
        x, y = size(own.value), size(other.value)
        if _of(own) == _of(other) and isinstance(x, float) and isinstance(y, float) and abs(x - y) <= _SLACK * abs(y):
            yield m.span("w")


def _of(cell: CellValue) -> str:
    return next((cell.column.removeprefix(e) for e in _EDGES if cell.column.startswith(e)), "")


def _too(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`failed too`, of another job than the one that was asked about: both ended so."""
    m = _TOO.search(clause.own) or _ENDED_TOO.search(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    if m is None or len({(c.id, c.row) for c in cells}) != 1 or held(ledger, cells[0], "same_job") is not False:
        return
    evidence = ledger.get(cells[0].id)
    own = [evidence.value("state", r) for r in range(len(evidence.rows)) if evidence.value("same_job", r) is True]
    state = held(ledger, cells[0], "state")
    said = m.groupdict().get("v")
    meant = STATES[said.lower().removeprefix("was ").removeprefix("were ")][1] if said else {state}
    if own and state in meant and all(s in meant for s in own):
        yield m.span("w")
