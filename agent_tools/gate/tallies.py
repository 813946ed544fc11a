"""How many of the jobs of one that a tally counts ended so? Its row says it, wherever in the row the number stands.

One job of user [[E8:1.value]] was cancelled.              the row has one cancelled job
Users [[E8:3.value]] and [[E8:4.value]] had no failed jobs.      both rows have none
Every job of user [[E8:4.value]] completed.                none of its jobs failed, was cancelled, sent back or runs
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import Clause, held, size
from agent_tools.gate.fleetnone import STATES
from agent_tools.gate.grounds import COUNTED, NUMBER_WORDS
from agent_tools.gate.scope import whole
from agent_tools.gate.vocabulary import means
from agent_tools.references import HOLE
from store import lazy

_OF = rf"(?:of|by|on|from) (?:(?:the )?(?:users?|nodes?|partition) )?{HOLE}+"
_ENDED = r"(?P<v>failed|(?:was|were) (?:cancelled|canceled|sent back))"
_COUNT = lazy.compile(
    rf"(?i)^\W*(?:(?:only|just) )?(?P<n>{COUNTED}) (?:of the )?jobs? {_OF} (?:has |have |had )?{_ENDED}\W*$"
)
_NONE = lazy.compile(
    rf"(?i)^\W*(?:users?|nodes?|partition)? ?{HOLE}+(?:(?:, | and |, and )(?:user |node )?{HOLE}+)* (?:had|has|have) (?P<n>no) (?P<v>failed|cancelled|canceled) jobs?\W*$"
)
_EVERY = lazy.compile(
    rf"(?i)^\W*(?P<n>every|each|all|all the|all of the) jobs? {_OF} (?P<v>completed|failed|(?:was|were) (?:cancelled|canceled|sent back))\W*$"
)
_TAIL = rf"(?:\W* \(?{HOLE}+(?: (?:out )?of {HOLE}+)?\)?)?\W*$"
_NONE_OF = lazy.compile(
    rf"(?i)^\W*(?:none of (?:{HOLE}+['’]s jobs|the jobs {_OF})|(?P<n>no) jobs? {_OF}) (?P<v>failed|(?:was|were) (?:cancelled|canceled|sent back)|(?:is|are) (?:still |now |currently )?running){_TAIL}"
)
_ALL_OF = lazy.compile(
    rf"(?i)^\W*(?:(?:all|every one|each) (?:of )?{HOLE}+['’]s jobs|(?:every|each) job (?:called|named|of|by|on) {HOLE}+) (?P<v>completed|failed|(?:was|were) (?:cancelled|canceled|sent back)){_TAIL}"
)
_RUNS = lazy.compile(
    rf"(?i)^\W*(?:(?:the )?users? )?{HOLE}+['’]s (?:only |one )?job is (?:still )?(?P<v>running)\W*$|^\W*the (?:only |one )?job {_OF} is (?:still )?(?P<w>running)\W*$"
)
_EACH_HAD = lazy.compile(
    rf"(?i)^\W*(?:users?|nodes?)? ?{HOLE}+(?:(?:, | and |, and )(?:user |node )?{HOLE}+)+ (?P<w>each|both) had (?P<n>{COUNTED}) (?:attempts?|jobs?) (?P<v>failed|cancelled|canceled|sent back|that failed)(?P<q> to the queue)?\W*$"
)
_MORE_OF = lazy.compile(
    rf"(?i)^(?:users? |nodes? |partition )?(?P<a>{HOLE}+) (?:had|has|ran) (?P<w>(?P<more>more)|fewer) (?P<f>(?P<what>jobs|attempts)|failed jobs|failures|GPU-hours|GPU hours)(?P<than> than) (?:users?|nodes?|partition)? ?(?P<b>{HOLE}+)(?=\W*$|, )"
)
_ONLY_WITHOUT = lazy.compile(
    rf"(?i)^(?:users? |nodes? |partition )?(?P<a>{HOLE}+) (?:is|was) (?P<w>the only (?:one|user|node|partition|(?:job )?name|day) (?:without (?:a |any )?(?P<f>failed|cancelled|failure)s?(?: jobs?)?|that had no (?P<g>failed jobs|failures)))\W*$"
)
_ONLY_SO = lazy.compile(
    rf"(?i)^\W*the (?P<w>only) (?:job that (?:was |is |has )?(?:been )?)?(?P<state>cancelled|canceled|failed|completed|preempted|pending|running)(?: job)? (?:is|was) (?:job )?(?P<a>{HOLE}+)(?P<rest>.*)$"
)
_OWN_USER = lazy.compile(
    rf"(?i)\b(?:and |whom )?(?:it was )?its (?P<w>own) (?:user|owner),? (?P<b>{HOLE}+),? (?:who )?(?:cancelled|canceled) it\b"
)
_HAD_MOST = lazy.compile(
    r"(?i)\b(?:had|ran|held|has|saw|and) (?P<w>the (?:(?P<more>most)|fewest|least) (?P<f>(?P<what>jobs|attempts)|failed jobs|failures|GPU[- ]hours))\b"
)
_EXTREME = lazy.compile(r"(?i)\b(?:most|fewest|least)\b")
_NOT_FAILED = lazy.compile(
    rf"(?i)^(?:users? |nodes? |partition )?(?P<a>{HOLE}+) (?:had|has|ran) (?P<w>(?:only |just )?(?P<n>{COUNTED}) jobs? that (?:did not fail|didn['’]t fail))\b"
)
_IS_ONLY = lazy.compile(
    rf"(?i)^\W*(?:job )?(?P<a>{HOLE}+) (?:is|was) (?P<w>the only job (?:that|which) (?:(?:is|was|has|had) )?(?:still |been )?)(?P<state>cancelled|canceled|failed|completed|preempted|pending|running)(?P<rest>\W*)$"
)
_TWO = 2
_NOT_DONE = ("failed", "cancelled", "sent_back", "running")


def tallied(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where a clause says of the jobs of those it names how many ended so, as the rows of a tally have it."""
    every_cell = [c for g in clause.groups for c in g.cells]
    cells = [c for c in every_cell if c.column == "value"]
    if not cells or any(ledger.get(c.id).query != "fleet_tally" for c in every_cell):
        return
    own = clause.own
    if len(cells) == 1:
        yield from _of_one(clause, cells[0], [c for c in every_cell if c not in cells], ledger)
    if len(cells) != len(every_cell):
        return
    if (m := _EACH_HAD.match(own)) and len({(c.id, c.row) for c in cells}) == len(cells) > 1:
        verb = m["v"].lower().removeprefix("that ").replace("canceled", "cancelled").replace(" ", "_")
        counts = {held(ledger, c, verb) for c in cells}
        if counts == {NUMBER_WORDS[m["n"].lower()]} and (m["w"].lower() == "each" or len(cells) == _TWO):
            yield from (m.span(g) for g in ("w", "n", "v", "q") if m[g])
        return
    m = _COUNT.match(own) or _NONE.match(own) or _EVERY.match(own)
    if m is None:
        return
    verb = m["v"].lower().removeprefix("was ").removeprefix("were ").replace("canceled", "cancelled").replace(" ", "_")
    word = m["n"].lower()
    every = word not in NUMBER_WORDS and word != "no"
    if all(_so(c, verb, None if every else NUMBER_WORDS.get(word, 0), ledger) for c in cells):
        yield m.span("n")
        yield m.span("v")


def more_of(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`* had fewer jobs than *`: by the rows of both, in a tally that is shown of both."""
    m = _MORE_OF.match(clause.own)
    a, b = (
        next((g.cells[0] for g in clause.groups if m and g.start == m.start(n) and len(g.cells) == 1), None)
        for n in "ab"
    )
    if m is None or a is None or b is None or a.id != b.id or {a.column, b.column} != {"value"}:
        return
    column = _counted_in(m)
    x, y = size(held(ledger, a, column)), size(held(ledger, b, column))
    shown = all(ledger.is_shown(c.id, c.row, column) for c in (a, b))
    if shown and isinstance(x, float) and isinstance(y, float) and (x > y if m["more"] else x < y):
        yield m.start("w"), m.end("than")


def most_of(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`* had the fewest jobs but held the most GPU-hours`, `* had only one job that did not fail`: by the rows of a whole tally."""
    cells = [c for g in clause.groups for c in g.cells]
    first = cells[0] if cells and clause.groups[0].column == "value" else None
    evidence = ledger.get(first.id) if first else None
    if first is None or evidence is None or evidence.query != "fleet_tally" or not whole(evidence, ledger):
        return
    if any((c.id, c.row) != (first.id, first.row) for c in cells):
        return
    said = list(_HAD_MOST.finditer(clause.own))
    if len(said) == len(_EXTREME.findall(clause.own)) and all(_is_edge(m, first.row, evidence) for m in said):
        yield from (m.span("w") for m in said)
    if m := _NOT_FAILED.match(clause.own):
        jobs, failed, attempts = (held(ledger, first, n) for n in ("jobs", "failed", "attempts"))
        if not isinstance(jobs, int) or not isinstance(failed, int) or jobs != attempts:
            return
        if jobs - failed == NUMBER_WORDS[m["n"].lower()]:
            yield m.span("w")


def _is_edge(m: re.Match[str], row: int, evidence: Evidence) -> bool:
    """Whether a row alone has the most, or the fewest, of what a word names."""
    values = [size(evidence.value(_counted_in(m), r)) for r in range(len(evidence.rows))]
    known = [v for v in values if isinstance(v, float)]
    if len(known) != len(values) or len(known) < _TWO:
        return False
    edge = (max if m["more"] else min)(known)
    return known[row] == edge and known.count(edge) == 1


def _counted_in(m: re.Match[str]) -> str:
    """The column of a tally that a word for what is counted names."""
    return (m["what"] or ("failed" if m["f"].lower().startswith("fail") else "gpu_hours_held")).lower()


def only_one(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`* is the only user without a failed job`, `the only cancelled job is *`: no other row of a whole answer is so."""
    m = _ONLY_WITHOUT.match(clause.own) or _ONLY_SO.match(clause.own) or _IS_ONLY.match(clause.own)
    cell = next((g.cells[0] for g in clause.groups if m and g.start == m.start("a") and len(g.cells) == 1), None)
    evidence = ledger.get(cell.id) if cell else None
    if (
        m is None
        or cell is None
        or evidence is None
        or any((c.id, c.row) != (cell.id, cell.row) for g in clause.groups for c in g.cells)
    ):
        return
    rows = range(len(evidence.rows))
    if "state" not in m.groupdict():
        said = (m["f"] or m["g"]).lower()
        none = (
            [r for r in rows if evidence.value("cancelled" if said.startswith("cancel") else "failed", r) == 0]
            if evidence.query == "fleet_tally"
            else []
        )
        if cell.column == "value" and whole(evidence, ledger) and none == [cell.row]:
            yield m.span("w")
        return
    state = next((s for s in STATES if means(m["state"], s)), "")
    narrow = {k: v for k, v in evidence.params.items() if v is not None}
    every = (
        evidence.query == "find_jobs" and len(evidence.rows) == evidence.row_count and narrow in ({}, {"state": state})
    )
    jobs = {evidence.value("job_id", r) for r in rows if every and evidence.value("state", r) == state}
    if cell.column == "job_id" and jobs == {cell.value}:
        yield m.span("w")
        own = _OWN_USER.search(m["rest"])
        if own and held(ledger, cell, "user") == held(ledger, cell, "cancelled_by"):
            yield m.start("rest") + own.start("w"), m.start("rest") + own.end("w")


def _so(cell: CellValue, verb: str, number: int | None, ledger: Ledger) -> bool:
    """Whether so many jobs of a row ended so, or all of them where no number is given; each of the row's figures has to be shown."""
    counts = {n: held(ledger, cell, n) for n in ("jobs", *_NOT_DONE)}
    if any(not isinstance(v, int) or not ledger.is_shown(cell.id, cell.row, n) for n, v in counts.items()):
        return False
    jobs = counts["jobs"]
    if held(ledger, cell, "attempts") != jobs and number not in (0, 1):
        return False  # they count attempts, and a job with two may have failed twice
    if verb == "completed":
        return jobs != 0 and not any(counts[n] for n in _NOT_DONE)
    return counts.get(verb) == (jobs if number is None else number) and (number is not None or jobs != 0)


def _of_one(clause: Clause, cell: CellValue, figures: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`None of *'s jobs failed`, `all of *'s jobs failed: * of *`, `*'s job is still running`: by the row of that one, with its own figures."""
    own = clause.own
    none, every, runs = _NONE_OF.match(own), _ALL_OF.match(own), _RUNS.match(own)
    m = none or every or runs
    if m is None:
        return
    said = m["v"] or m.groupdict().get("w") or ""
    verb = said.lower().removeprefix("was ").removeprefix("were ").replace("canceled", "cancelled").replace(" ", "_")
    verb = "running" if verb.endswith("running") else verb
    if any((c.id, c.row) != (cell.id, cell.row) or c.column not in (verb, "jobs") for c in figures):
        return
    if [c.column for c in figures] not in ([], [verb], [verb, "jobs"]):
        return
    number = 0 if none else None
    if runs and held(ledger, cell, "jobs") != 1:
        return
    if _so(cell, verb, number, ledger):
        edge = min((g.start for g in clause.groups if g.cells[0] is not cell), default=len(own))
        at = next(g for g in clause.groups if g.cells[0] is cell)
        yield 0, at.start
        yield at.end, edge
