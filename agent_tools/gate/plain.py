"""Plain words of a story that a row's text, or every row of its answer, bears out.

GPU [[E5.gpu]] fell off the bus.                                   the row's text says that it has fallen off the bus
XID [[E5.xid]] is the only one that was logged.                     no other row of the whole answer has another
The three other ranks got signal [[E6:1.exit_signal]].              so have three rows, and one has not
Neither rank was behind the other ([[E7.behind]]).                  a zero of each
Not a single loss after step [[E8.last_good_step]] is finite.       those at the end are not, from that step on
The node was idle again at [[E9:5.ts]].                             a row before it has the node allocated
The run completed all the same.                                    nevertheless
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_tools.evidence import Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held, job_of, size
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.jobs import STATES
from agent_tools.gate.lastly import lastly
from agent_tools.gate.order import is_time
from agent_tools.gate.portions import portions
from agent_tools.gate.scope import held_by_job, whole
from agent_tools.gate.tallies import more_of, most_of, only_one
from agent_tools.gate.tries import states_of
from agent_tools.references import HOLE
from store import lazy

_PARTICIPLES = {"fell": "fallen", "rose": "risen", "broke": "broken", "froze": "frozen", "wrote": "written"}
_AS_TOLD = lazy.compile(rf"(?i)\b(?P<w>{'|'.join(_PARTICIPLES)}) (?P<rest>[a-z]+(?: [a-z]+){{1,3}})")
_ONLY_LOGGED = lazy.compile(
    rf"(?i)^(?:[a-z]+ )?(?P<a>{HOLE}+) (?:is|was) (?P<w>the only one)(?: that (?:was|is|had been|has been))? (?:logged|raised|reported|recorded|seen)(?=\W*$|,)"
)
_OTHER_RANKS = lazy.compile(
    rf"(?i)^\W*(?P<w>the (?P<n>{SEVERAL}) other|the other (?P<m>{SEVERAL})|all (?:of )?the other) (?:ranks|processes)\b"
)
_NOT_BEHIND = lazy.compile(
    r"(?i)^\W*(?:(?P<two>neither) (?:of the (?:two )?ranks|rank)|(?P<no>no rank)) (?:is|was|ever was) behind(?: (?:the|any) others?| another| the rest)?\W*"
)
_ALL_AS_FAR = lazy.compile(
    rf"(?i)^\W*(?:by the number of collectives,? )?(?P<w>no rank|none of the (?:{SEVERAL} )?ranks) (?P<v>(?:is|was|lags|lagged|fell|falls) behind)(?: the others?)?[:;] (?P<u>all|each|every rank)(?: of them)? (?:has |have |had )?completed (?:all )?{HOLE}+(?: collectives)?\W*$"
)
_NONE_AFTER = lazy.compile(
    rf"(?i)^\W*(?P<w>not a single|no|none of the) (?:losses|loss|reports?) after step (?P<a>{HOLE}+) (?:is|was|are|were|has been) finite\b"
)
_IDLE_AGAIN = lazy.compile(
    rf"(?i)^\W*the (?:node|host) (?:{HOLE}+ )?(?:was|is|has been) (?:free|idle) (?P<w>again) (?:at|since|from) (?P<t>{HOLE}+)"
)
_NO_COLLECTIVE = lazy.compile(
    rf"(?i)^\W*(?P<w>no) collectives? (?:has |have |had |was |were )?(?:been )?completed (?:since|after) (?P<t>{HOLE}+)"
)
_AT_WORK = lazy.compile(
    rf"(?i)\b(?:was|were|is|are|been) (?P<w>at work)\b|\bgpu {HOLE}+(?: (?:of|on) {HOLE}+)? (?P<v>works|worked)\b"
)
_ACTIVITY = lazy.compile(r"^(?:rest_|peer_)?(?:engine|sm)_(?:mean|median|max|late)$")
_ALL_THE_SAME = lazy.compile(
    r"(?i)\b(?:completed|finished|succeeded|failed|went on|ran on) (?P<w>all the same)(?=\W*$|[,;.])|^\W*(?P<v>all the same),? (?=(?:the|this|it|its)\b)"
)
_UNSURE = lazy.compile(r"(?i)\b(?:not|never|no|none|neither|nor|but|except|almost|nearly|if|or|may|might)\b|n['’]t\b")
_ENDED = lazy.compile(
    r"(?i)^\W*(?:the|this) (?:run|job) (?P<w>(?P<s>completed|failed|timed out|was cancelled|was preempted))(?=,? (?:but|although|though|and)\b)"
)
_EVENTS = {"gpu_events": "xid", "exceptions": "name"}
_FIRST_WORDS, _TWO, _SOME = 2, 2, 0.05


def plainly(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out."""
    yield from lastly(clause, ledger)
    yield from portions(clause)
    yield from more_of(clause, ledger)
    yield from only_one(clause, ledger)
    yield from most_of(clause, ledger)
    yield from (m.span("w" if m["w"] else "v") for m in _ALL_THE_SAME.finditer(clause.own))
    yield from _ended(clause, ledger)
    yield from _not_behind(clause, ledger)
    yield from _none_after(clause, ledger)
    yield from _no_collective(clause, ledger)
    if _UNSURE.search(clause.own):
        return
    yield from _as_told(clause, ledger)
    yield from _only_logged(clause, ledger)
    yield from _other_ranks(clause, ledger)
    yield from _idle_again(clause, ledger)
    busy = [c for g in clause.groups for c in g.cells if c.column not in SUBJECTS]
    if busy and all(_ACTIVITY.match(c.column) and isinstance(v := size(c.value), float) and v > _SOME for c in busy):
        yield from (m.span("w" if m["w"] else "v") for m in _AT_WORK.finditer(clause.own))


def _ended(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`The run completed, but ...`: so did its last attempt, by accounting."""
    m = _ENDED.match(clause.own)
    jobs = {job_of(ledger, c) for g in clause.groups for c in g.cells} if m else set[str]()
    states = states_of(next(iter(jobs)), ledger) if len(jobs) == 1 else {}
    if m and states and states[max(states)] in STATES[m["s"].lower().removeprefix("was ")][0]:
        yield m.span("w")


def _no_collective(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`no collective completed after *`: of every rank that is known, the last time that one did is no later."""
    m = _NO_COLLECTIVE.match(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.start("t")), None)
    if m is None or cell is None or cell.column != "completed_ts" or cell.bound:
        return
    evidence = ledger.get(cell.id)
    times = [evidence.value("completed_ts", r) for r in range(len(evidence.rows))]
    if whole(evidence, ledger) and all(t is not None and str(t) <= str(cell.value) for t in times):
        yield m.span("w")


def _none_after(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`not a single loss after step * is finite`: the step of the last that is, of a row whose last reports are not."""
    m = _NONE_AFTER.match(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.start("a")), None)
    if (
        m
        and cell
        and len(clause.groups) == 1
        and cell.column == "last_good_step"
        and held(ledger, cell, "trailing_bad")
    ):
        yield m.span("w")


def _idle_again(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the node was idle again at *`: the row of that state is of one node, which an earlier row of the answer has as allocated."""
    m = _IDLE_AGAIN.match(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.start("t") and len(g.cells) == 1), None)
    if m is None or cell is None or not is_time(cell) or held_by_job(ledger.get(cell.id), ledger, "node_count") != 1:
        return
    evidence = ledger.get(cell.id)
    state = next((n for n in ("state", "what") if n in {c.name for c in evidence.columns}), "")
    node = held(ledger, cell, "node")
    if not state or node is None or evidence.value(state, cell.row) != "IDLE":
        return
    rows = [r for r in range(len(evidence.rows)) if evidence.value("node", r) == node]
    if any(
        evidence.value(state, r) == "ALLOCATED" and str(evidence.value(cell.column, r)) < str(cell.value) for r in rows
    ):
        yield m.span("w")


def _as_told(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`fell off the bus`, of a row whose text has `fallen off the bus`: the words behind it are the text's own, two at least."""
    cells = [c for g in clause.groups for c in g.cells]
    texts = [
        str(held(ledger, c, n)).lower() for c in cells for n in ("message", "text") if held(ledger, c, n) is not None
    ]
    for m in _AS_TOLD.finditer(clause.own):
        words = [_PARTICIPLES[m["w"].lower()], *m["rest"].lower().split()]
        told = [" ".join(words[: n + 1]) for n in range(_FIRST_WORDS, len(words))]
        if len({(c.id, c.row) for c in cells}) == 1 and any(s in t for s in told for t in texts):
            yield m.span("w")


def _only_logged(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`XID * is the only one that was logged`: of the whole answer, every row is of that one."""
    m = _ONLY_LOGGED.match(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.start("a") and len(g.cells) == 1), None)
    if m is None or cell is None:
        return
    evidence = ledger.get(cell.id)
    every = {evidence.value(cell.column, r) for r in range(len(evidence.rows))}
    if _EVENTS.get(evidence.query) == cell.column and whole(evidence, ledger) and every == {cell.value}:
        yield m.span("w")


def _other_ranks(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the three other ranks got *`: three rows of the answer, which has each rank of the job, have what is cited; all the others: all but one."""
    m = _OTHER_RANKS.match(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    if m is None or len({(c.id, c.row) for c in cells}) != 1 or any(c.column in SUBJECTS for c in cells):
        return
    evidence = ledger.get(cells[0].id)
    ranks = (
        [evidence.value("rank", r) for r in range(len(evidence.rows))]
        if "rank" in {c.name for c in evidence.columns}
        else []
    )
    if (
        not whole(evidence, ledger)
        or len(set(ranks)) != len(ranks)
        or held_by_job(evidence, ledger, "gpus") != len(ranks)
    ):
        return
    met = [r for r in range(len(ranks)) if all(evidence.value(c.column, r) == c.value for c in cells)]
    number = m["n"] or m["m"]
    if len(met) == (NUMBER_WORDS[number.lower()] if number else len(ranks) - 1) < len(ranks):
        yield m.span("w")


def _not_behind(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`no rank was behind the others (*)`: each rank of the job has a row, and a zero in it."""
    cells = [c for g in clause.groups for c in g.cells]
    if (same := _ALL_AS_FAR.match(clause.own)) and [c.column for c in cells] == ["completed"]:
        evidence = ledger.get(cells[0].id)
        every = whole(evidence, ledger) and held_by_job(evidence, ledger, "gpus") == len(evidence.rows)
        if every and {evidence.value("completed", r) for r in range(len(evidence.rows))} == {cells[0].value}:
            yield from (same.span(g) for g in "wvu")
        return
    m = _NOT_BEHIND.match(clause.own)
    if m is None or [c.column for c in cells] != ["behind"]:
        return
    evidence = ledger.get(cells[0].id)
    rows = range(len(evidence.rows))
    every = whole(evidence, ledger) and held_by_job(evidence, ledger, "gpus") == len(evidence.rows)
    if every and all(evidence.value("behind", r) == 0 for r in rows) and (not m["two"] or len(evidence.rows) == _TWO):
        yield 0, m.end()
