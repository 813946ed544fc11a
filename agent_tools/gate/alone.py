"""Is it the only one, or only so little? What is told to be of one alone is held against every row, and a small part against its whole.

Job [[E1.job_id]] is the only one that ended as [[E1.state]].          no other job's row has that state
Only node [[E4.node]] is idle.                                         every other row has another state
Of the job's [[E9.job_nodes]] nodes only [[E9.node]] was in trouble.   the row counts one node in trouble
It had only reached step [[E7.last_step]] of [[E7.total_steps]].       less than half of them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.gate.scope import whole
from agent_tools.gate.vocabulary import means
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

_WHOSE = r"node|host|machine|job|rank|gpu|card|user"
_THE_ONE = lazy.compile(
    rf"(?i)^\W*(?:(?:{_WHOSE}) )?(?P<a>{HOLE}+) (?:is|was) (?P<w>the only (?:one|{_WHOSE}))(?: (?:that|which|to|who))?\b(?P<said>.*)$"
)
_ONLY = lazy.compile(
    rf"(?i)^\W*(?P<w>only) (?:the )?(?:{_WHOSE}) (?P<a>{HOLE}+) (?P<said>(?:is|was|has|had|ended|ran|failed|completed|timed)\b.*)$"
)
_ALONE = lazy.compile(
    rf"(?i)^\W*(?:{_WHOSE}) (?P<a>{HOLE}+) (?P<w>alone) (?P<said>(?:is|was|has|had|ended|ran|failed|completed|timed|counts)\b.*)$"
)
_OF_NODES = lazy.compile(
    rf"(?i)^\W*(?:out )?of (?:the |its |all |all of )?(?:job['’]s |run['’]s )?(?P<n>{HOLE}+) (?:nodes|hosts),? (?P<w>only) (?:(?:node|host) )?(?P<a>{HOLE}+) (?:was|is|went|had been) (?:down|in trouble|lost)\b"
)
_SO_LITTLE = lazy.compile(
    r"(?i)\b(?P<w>only) (?:(?:reached|got to|got as far as|done|did|made|trained|completed|finished|covered|at|up to) )?(?:(?:step|steps|epoch) )?"
    rf"(?P<a>{HOLE}+)(?: steps?| epochs?)?(?: out)? of (?:the |its |all )?(?:planned )?(?P<b>{HOLE}+)"
)
_UNSURE = lazy.compile(
    r"(?i)\b(?:no|not|never|none|nobody|neither|nor|without|but|except|besides|nearly|almost|about|or|if|whether|may|might|could|would|first|last"
    r"|most|half|other|others|another|more|less|than|yet|still)\b|n['’]t\b"
)
_STATE = lazy.compile(r"[a-z]+")
_TROUBLE = lazy.compile(r"(?i)\bin trouble\b")
_SLOW = lazy.compile(r"(?i)^\W*(?:that (?:is|was) )?(?:listed|named|found)(?: (?:as|to be) slow)?\W*$")
"""All that a list of slow nodes says of each."""
_HALF = 0.5


def alone(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out."""
    return [*_only_one(clause, ledger), *_of_nodes(clause, ledger), *_so_little(clause)]


def _only_one(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    m = _THE_ONE.match(clause.own) or _ONLY.match(clause.own) or _ALONE.match(clause.own)
    group = clause.sole(m.start("a")) if m else None
    if m is None or group is None or _UNSURE.search(m["said"]):
        return
    cell = group.cells[0]
    cells = [c for g in clause.groups for c in g.cells]
    evidence = ledger.get(cell.id)
    named = cell.column in SUBJECTS or (evidence.query == "fleet_tally" and cell.column == "value")
    if not named or any((c.id, c.row) != (cell.id, cell.row) for c in cells):
        return
    if not whole(evidence, ledger) or any(
        c.name in (f"{cell.column}s", f"all_{cell.column}s") for c in evidence.columns
    ):
        return
    met = [r for r in range(len(evidence.rows)) if _meets(r, cell, cells, m["said"], evidence)]
    which = {_name(evidence, cell, r) for r in met}
    if which == {_name(evidence, cell, cell.row)} and (len(evidence.rows) > 1 or _of_fleet(evidence)):
        yield m.span("w")


def _meets(row: int, cell: CellValue, cells: Sequence[CellValue], said: str, evidence: Evidence) -> bool:
    """Whether a row has what the clause says of the one: the cells that it cites besides its name, and the state that it names."""
    told = [c for c in cells if c is not cell and c.column not in SUBJECTS and not c.column.endswith("_ts")]
    words = (
        [w for w in _STATE.findall(said.lower()) if means(w, evidence.value("state", cell.row))]
        if _has_state(evidence)
        else []
    )
    if told or words:
        return all(evidence.value(c.column, row) == c.value for c in told) and all(
            means(w, evidence.value("state", row)) for w in words
        )
    return bool(_SLOW.match(said) if evidence.query == "slow_nodes" else _TROUBLE.search(said)) and evidence.query in (
        "nodes_in_trouble",
        "slow_nodes",
    )


def _has_state(evidence: Evidence) -> bool:
    return any(c.name == "state" for c in evidence.columns)


def _name(evidence: Evidence, cell: CellValue, row: int) -> tuple[Cell, ...]:
    columns = ("node", cell.column) if cell.column == "gpu" else (cell.column,)
    return tuple(evidence.value(c, row) for c in columns if any(k.name == c for k in evidence.columns))


def _of_fleet(evidence: Evidence) -> bool:
    """Whether a question was of no job: its single row is all that the fleet has of it."""
    return evidence.params.get("job_id") is None


def _of_nodes(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`of its * nodes only * was in trouble`: its row counts one."""
    m = _OF_NODES.match(clause.own)
    total, one = (clause.sole(m.start(w)) if m else None for w in "na")
    if m is None or total is None or one is None or _UNSURE.search(clause.own[m.end() :]):
        return
    a, b = total.cells[0], one.cells[0]
    row = (a.id, a.row) == (b.id, b.row) and a.column == "job_nodes" and b.column == "node"
    if row and held(ledger, b, "bad_nodes") == 1 and held(ledger, b, "at_end") is True:
        yield m.span("w")


def _so_little(clause: Clause) -> Iterator[tuple[int, int]]:
    """`only * of *`: of one row, and less than half."""
    if _UNSURE.search(clause.own):
        return
    for m in _SO_LITTLE.finditer(clause.own):
        part, total = (clause.sole(m.start(w)) for w in "ab")
        if part is None or total is None:
            continue
        a, b = part.cells[0], total.cells[0]
        x, y = size(a.value), size(b.value)
        one = (a.id, a.row) == (b.id, b.row) and a.column != b.column
        if one and isinstance(x, float) and isinstance(y, float) and 0 <= x < y * _HALF:
            yield m.span("w")


def of_one_only(own: str) -> bool:
    """Whether a clause tells of how many nodes of the job it is only one."""
    return _OF_NODES.match(own) is not None
