"""Small words about the others, about the whole and about what came back: each is held against the rows beside it.

Both nodes, [[E2.node_list]], were allocated.                            the list has two
The other node, [[E5:1.node]], peaked at [[E5:1.peak_gib]].                  the answer has two, and no more
Jobs [[E6:5.job_id]] and [[E6:6.job_id]] both raised [[E6:5.event]].           each of their rows has it
Node [[E7:3.node]] has been back as [[E7:3.state]] since [[E7:3.begin_ts]].    a row of it before that was down
It was logged only once.                                                a row of one event, and no other row of that name
The job waits for another job to end.                                    its reason is its dependency
Training had got up to step [[E8.last_step]].                              how far it came
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.gate.denials import QUALIFIED
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.scope import whole
from agent_tools.gate.words import singular
from agent_tools.references import HOLE
from store import lazy

_LIST = lazy.compile(
    rf"(?i)^\W*(?P<w>both|all (?:{SEVERAL})|all of its (?:{SEVERAL})) (?:of its )?nodes,? \(?(?P<l>{HOLE}+)\)?,? (?:were|had been) (?:allocated|held|reserved|used|given)\b"
)
_OTHER_ONE = lazy.compile(rf"(?i)\bthe (?P<w>other) (?P<noun>node|rank|gpu|attempt),? (?P<c>{HOLE}+)")
_ALL_OF_LIST = lazy.compile(rf"(?i){HOLE},? (?P<w>all|both|each) (?P<did>[a-z]+(?: [a-z]+){{0,2}}) (?={HOLE})")
_BACK = lazy.compile(
    rf"(?i)\b(?:has been|is|was|came) (?P<w>back)(?: again)?(?: as (?P<s>{HOLE}+))? (?:since|at|from) (?P<t>{HOLE}+)"
)
_ONLY_ONCE = lazy.compile(
    r"(?i)\b(?<!at )(?<!all )(?P<w>(?:(?:only|just|exactly) )?once)\b(?=\W*$|[,.;:]| on\b| in the (?:log|run)\b| during the run\b)"
)
_ANOTHER_JOB = lazy.compile(
    r"(?i)\b(?P<w>(?:waits|waiting|has to wait) for another job(?: (?:to (?:end|finish|complete)|that it depends on))?)(?=\W*$|[,;.])"
)
_UP_TO_STEP = lazy.compile(
    rf"(?i)\b(?:got|gone|come|came|went|reached|trained|reported|ran) (?P<w>up to|as far as) step (?={HOLE})"
)
_LASTED = lazy.compile(rf"(?i)\b(?:lasted|went on|continued) (?P<w>up to) (?={HOLE})")
_FULL = lazy.compile(r"(?i)\b(?:the )?(?P<w>(?:disk|file ?system|storage) (?:was|is|ran|had run|had become) full)\b")
_NO_SPACE = lazy.compile(r"(?i)no space left on device|disk quota exceeded")
_OWN_USER = lazy.compile(rf"(?i)\bcancelled by (?P<c>{HOLE}+), (?:the job['’]s|its) (?P<w>own) (?:user|owner)\b")
_ONLY_EVENT = lazy.compile(
    rf"(?i)^\W*the (?P<w>only) (?:event|entry) (?:(?:in|of) (?:the|its) log|that the log holds)\b[^{HOLE}]{{0,12}}(?={HOLE})"
)
_IS_ONLY_EVENT = lazy.compile(rf"(?i){HOLE},? (?:is|was) (?P<w>the only) (?:event|entry) (?:in|of) (?:the|its) log\W*$")
_ONE_EVENT = lazy.compile(
    r"(?i)^\W*(?:there (?:is|was) )?(?P<w>(?:only|just) one) (?:event|entry) (?:(?:stands|is|was|is logged|was logged) )?in (?:the|its) log\b"
)
_EVERY_ONE = lazy.compile(rf"(?i)\b(?P<w>every (?:single )?one) of (?:the|its) (?P<n>{HOLE}+) (?P<noun>[a-z]+)\b")
_EVER_SINCE = lazy.compile(r"(?i)\b(?P<w>ever) since (?:it was submitted|its submission)\b")
_FALLEN = lazy.compile(
    rf"(?i)\b(?:loss|it) (?:had |has )?(?P<w>(?P<down>fallen|fell|dropped|come down|gone down)|risen|rose|climbed|gone up) from (?P<c>{HOLE}+)"
)
_OF = {"node": "node", "rank": "rank", "gpu": "gpu", "attempt": "attempt"}
_TIMES = ("events", "times")
_NAMED = ("xid", "name", "event", "exception")
_TWO = 2


def small(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out."""
    cells = [c for g in clause.groups for c in g.cells]
    if not cells:
        return
    yield from _once(clause, cells, ledger)
    yield from _waiting(clause, cells, ledger)
    if QUALIFIED.search(clause.own):
        return
    yield from _listed(clause)
    yield from _other_one(clause, ledger)
    yield from _all_of_list(clause, ledger)
    yield from _back(clause, ledger)
    yield from _up_to(clause)
    yield from _of_disk(clause, cells, ledger)
    yield from _whole_log(clause, cells, ledger)
    yield from _fallen(clause, cells, ledger)


def _listed(clause: Clause) -> Iterator[tuple[int, int]]:
    """`both nodes, *`: the list has as many."""
    m = _LIST.match(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.start("l")), None)
    if m and cell and cell.column == "node_list" and isinstance(cell.value, str) and "[" not in cell.value:
        word = m["w"].lower().split()[-1]
        if len(set(cell.value.split(","))) == (_TWO if word == "both" else NUMBER_WORDS[word]):
            yield m.span("w")


def _other_one(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the other node, *`: of two, which the whole answer has and no more."""
    for m in _OTHER_ONE.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("c") and len(g.cells) == 1), None)
        if cell is None or cell.column != _OF[m["noun"].lower()]:
            continue
        evidence = ledger.get(cell.id)
        if whole(evidence, ledger) and len({evidence.value(cell.column, r) for r in range(len(evidence.rows))}) == _TWO:
            yield m.span("w")


def _all_of_list(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`jobs *, * and * all raised *`: each row that is listed has what is cited behind."""
    for m in _ALL_OF_LIST.finditer(clause.own):
        listed = next((g for g in clause.groups if m.start() < g.end <= m.start("w") and g.subject), None)
        what = next((g.cells[0] for g in clause.groups if g.start == m.end()), None)
        if listed is None or what is None or len(listed.cells) < _TWO or any(c.id != what.id for c in listed.cells):
            continue
        if m["w"].lower() == "both" and len(listed.cells) != _TWO:
            continue
        if what.column not in SUBJECTS and all(held(ledger, c, what.column) == what.value for c in listed.cells):
            yield m.span("w")


def _back(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`has been back since *`: the row of a node in a state that is no trouble, which came after one of the same node that is;
    or the end of a trouble that is over."""
    for m in _BACK.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("t")), None)
        over = cell is not None and (held(ledger, cell, "still"), held(ledger, cell, "lost")) == (False, True)
        if cell is not None and cell.column == "until_ts" and over and not m["s"]:
            yield m.span("w")
        if cell is None or cell.column != "begin_ts" or held(ledger, cell, "troubled") is not False:
            continue
        evidence, node = ledger.get(cell.id), held(ledger, cell, "node")
        named = {str(c.value) for g in clause.groups for c in g.cells if c.column == "node"}
        earlier = [
            r
            for r in evidence.dicts()
            if r.get("node") == node and r.get("lost") is True and str(r.get("begin_ts")) < str(cell.value)
        ]
        later = [r for r in evidence.dicts() if r.get("node") == node and str(r.get("begin_ts")) > str(cell.value)]
        lasting = "since" not in m[0].lower() or (held(ledger, cell, "until_ts") is None and not later)
        if earlier and lasting and named <= {str(node)}:
            yield m.span("w")


def _once(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`only once`: a row that counts one, of the whole answer, and no other row is of the same name."""
    m = _ONLY_ONCE.search(clause.own)
    rows = {(c.id, c.row) for c in cells}
    if m is None or len(rows) != 1 or re.search(r"(?i)\b(?:not|never)\b|n['’]t\b", clause.own):
        return
    id, row = next(iter(rows))
    evidence = ledger.get(id)
    many = next((c.name for c in evidence.columns if c.name in _TIMES), "")
    name = next((c.name for c in evidence.columns if c.name in _NAMED), "")
    if not many or not name or not whole(evidence, ledger) or evidence.value(many, row) != 1:
        return
    if sum(evidence.value(name, r) == evidence.value(name, row) for r in range(len(evidence.rows))) == 1:
        yield m.span("w")


def _waiting(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`waits for another job to end`, `ever since it was submitted`: of a job that is pending, with that reason."""
    rows = [(held(ledger, c, "state"), held(ledger, c, "state_reason")) for c in cells]
    if any(state != "PENDING" for state, _ in rows) or QUALIFIED.search(clause.own):
        return
    yield from (m.span("w") for m in _EVER_SINCE.finditer(clause.own))
    if all(reason == "Dependency" for _, reason in rows):
        yield from (m.span("w") for m in _ANOTHER_JOB.finditer(clause.own))


def _up_to(clause: Clause) -> Iterator[tuple[int, int]]:
    """`had got up to step *`: the last step that was reached."""
    for m in _UP_TO_STEP.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end()), None)
        if cell is not None and cell.column == "last_step":
            yield m.span("w")
    for m in _LASTED.finditer(clause.own):
        if any(g.start == m.end() and g.column == "last_ts" for g in clause.groups):
            yield m.span("w")


def _of_disk(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the disk was full`, of a row whose text says that no space was left; `its own user`, of one who cancelled a job of his."""
    texts = [v for c in cells for n in ("message", "text") if isinstance(v := held(ledger, c, n), str)]
    if any(_NO_SPACE.search(t) for t in texts):
        yield from (m.span("w") for m in _FULL.finditer(clause.own))
    for m in _OWN_USER.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("c")), None)
        if cell is not None and cell.column == "cancelled_by" and held(ledger, cell, "user") == cell.value:
            yield m.span("w")


def _whole_log(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the only event in the log is *`, where the answer has that one and no other; `every one of the * steps`, of as many."""
    evidence: Evidence = ledger.get(cells[0].id)
    found = (p.search(clause.own) for p in (_ONLY_EVENT, _ONE_EVENT, _IS_ONLY_EVENT))
    if (m := next((f for f in found if f), None)) and {c.id for c in cells} == {evidence.id}:
        one = (
            len(evidence.rows) == 1 and evidence.value("times", 0) == 1
            if any(c.name == "times" for c in evidence.columns)
            else False
        )
        if evidence.query == "log_events" and one and whole(evidence, ledger):
            yield m.span("w")
    for m in _EVERY_ONE.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("n")), None)
        if cell is None or cell.column != f"{singular(m['noun'])}s":
            continue
        saves = held(ledger, cell, "saves")
        if saves is not None and saves == cell.value and re.search(r"(?i)\b(?:saved|save|checkpoint)\b", clause.own):
            yield m.span("w")


def _fallen(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`before its best loss of *, the loss had fallen from *`: from the larger of the two, of one row."""
    for m in _FALLEN.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("c") and len(g.cells) == 1), None)
        ahead = [c for g in clause.groups if g.end <= m.start() for c in g.cells if c.column.endswith("_loss")]
        behind = [g for g in clause.groups if g.start > m.end()]
        if cell is None or not cell.column.endswith("_loss") or len(ahead) != 1 or behind:
            continue
        x, y = size(cell.value), size(ahead[0].value)
        if not isinstance(x, float) or not isinstance(y, float) or (cell.id, cell.row) != (ahead[0].id, ahead[0].row):
            continue
        early = cell.column in ("first_loss", "start_loss") or ahead[0].column in ("last_loss", "end_loss")
        before = re.search(r"(?i)\b(?:before|until|up to|by)\b", clause.own[: m.start()])
        if early and before and (x > y if m["down"] else x < y):
            yield m.span("w")
