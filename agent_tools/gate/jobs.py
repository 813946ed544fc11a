"""How many jobs ended so, and did more of them end one way than another? Each row of an answer about jobs has its state.

    One job is still pending: [[E1:5.job_id]].                                   no other row of the answer is
    Two earlier jobs failed: [[E9:1.job_id]] and [[E9:2.job_id]].                they began before the one that was asked about, and no third did
    More jobs failed than completed, [[E2.jobs]] against [[E2:1.jobs]].          the counts of the rows of these states
    As many jobs are pending as running, [[E2:3.jobs]] each.

LIMIT: an answer that is whole, and words that mean one of Slurm's states. A job with an attempt that ended otherwise is no job of either.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.facts.ending import FAILED_STATES
from agent_tools.gate.clauses import Clause, Group, held, size
from agent_tools.gate.grounds import COUNTED, NUMBER_WORDS
from agent_tools.gate.scope import whole
from agent_tools.references import HOLE
from store import lazy

_BAD = frozenset(FAILED_STATES | {"LAUNCH_FAILED"}) - {"CANCELLED", "PREEMPTED"}
_MEANT: dict[str, tuple[str, ...]] = {
    "FAILED": ("failed",),
    "TIMEOUT": ("ran into its time limit", "ran into their time limit", "hit its time limit", "hit their time limit", "timed out"),
    "COMPLETED": ("completed", "succeeded"),
    "CANCELLED": ("cancelled", "canceled"),
    "PREEMPTED": ("preempted",),
    "REQUEUED": ("requeued",),
    "RUNNING": ("running",),
    "PENDING": ("pending",),
}  # fmt: skip
STATES = {w: (frozenset({s}), _BAD if w == "failed" else frozenset({s})) for s, words in _MEANT.items() for w in words}
"""What a word means of Slurm's states: at least, and at most. Where the two are not of the same rows, the word leaves it open."""
_VERB = rf"(?:(?:is|are|was|were|has been|have been) )?(?:still )?(?P<{{0}}>{'|'.join(STATES)})"
_LISTED = lazy.compile(
    rf"(?i)^\W*(?:(?P<only>only|just) )?(?P<n>{COUNTED}) (?:(?P<when>earlier|previous|later|other) )?jobs? (?:(?P<same>of (?:that|the same) (?:name|user)) )?"
    rf"{_VERB.format('v')}(?::|,| [(–—]) ?(?:jobs? )?(?={HOLE})"
)
_SIMPLE = lazy.compile(
    rf"(?i)^\W*(?P<n>{COUNTED}) (?P<when>earlier|previous|later|other) jobs?(?P<same> of (?:that|the same) (?:name|user))?(?::|,| [(–—]) ?(?:jobs? )?(?={HOLE})"
)
_THAN = lazy.compile(
    rf"(?i)^\W*(?:(?P<as>as many)|(?P<more>more)|(?P<less>fewer)) jobs (?:have )?{_VERB.format('a')} (?:as|than) {_VERB.format('b')}[,:(–— ]*"
    rf"(?P<x>{HOLE}+)(?: (?P<each>each)| (?:and|against|versus|vs\.?) (?P<y>{HOLE}+))?[).!]*$"
)


_EACH_ON = lazy.compile(
    rf"(?i)^\W*(?P<n>{COUNTED}) jobs (?:(?:ran|were running|were placed) on|had|held|used) (?P<m>{COUNTED}) (?P<of>nodes?|gpus?)(?P<each> each)?(?::|,| [(–—]) ?(?:jobs? )?(?={HOLE})"
)


def counted(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where a clause counts jobs by how they ended, or sets two such counts against each other, as the rows of the answer have it."""
    yield from _listed(clause, ledger)
    yield from _each_on(clause, ledger)
    yield from set_against(clause, ledger)


def _listed(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    m = _LISTED.match(clause.own) or _SIMPLE.match(clause.own)
    group = next((g for g in clause.groups if m and g.start == m.end()), None)
    if m is None or group is None or group.column != "job_id":
        return
    evidence = ledger.get(group.cells[0].id)
    named = {str(c.value) for c in group.cells}
    alike = any(c.name == "same_job" for c in evidence.columns)
    if any(c.id != evidence.id for c in group.cells) or not whole(evidence, ledger) or (m["when"] and not alike):
        return
    if len(named) != len(group.cells) or len(named) != NUMBER_WORDS[m["n"].lower()] or not _rest(clause, group):
        return
    word = m.groupdict().get("v")
    of = [r for r in range(len(evidence.rows)) if not m["when"] or _when(evidence, r, m["when"].lower())]
    for states in STATES[word.lower()] if word else (None,):
        met = {str(evidence.value("job_id", r)) for r in of if states is None or evidence.value("state", r) in states}
        apart = {str(evidence.value("job_id", r)) for r in of if states and evidence.value("state", r) not in states}
        if met != named or met & apart:
            return
    if (m["same"] and not alike) or (m.groupdict().get("only") and evidence.params.get("job_id")):
        return
    yield m.span("n")
    yield from (m.span(g) for g in ("only", "when", "same", "v") if m.groupdict().get(g))


def _each_on(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`three jobs ran on two nodes each: *, * and *`: no other job's row has so many, and each of theirs has."""
    m = _EACH_ON.match(clause.own)
    group = next((g for g in clause.groups if m and g.start == m.end()), None)
    if m is None or group is None or group.column != "job_id" or not _rest(clause, group):
        return
    evidence = ledger.get(group.cells[0].id)
    column = "node_count" if m["of"].lower().startswith("node") else "gpus"
    if not whole(evidence, ledger) or column not in {c.name for c in evidence.columns}:
        return
    rows, many = range(len(evidence.rows)), NUMBER_WORDS[m["m"].lower()]
    met = {str(evidence.value("job_id", r)) for r in rows if evidence.value(column, r) == many}
    named = {str(c.value) for c in group.cells}
    if met == named and len(named) == len(group.cells) == NUMBER_WORDS[m["n"].lower()]:
        yield from (m.span(g) for g in ("n", "m", "each") if m[g])


def _rest(clause: Clause, group: Group) -> bool:
    """Whether all that is cited besides is of the rows of those jobs."""
    rows = {(c.id, c.row) for c in group.cells}
    return all((c.id, c.row) in rows for g in clause.groups for c in g.cells)


def _when(evidence: Evidence, row: int, word: str) -> bool:
    """Whether a row is of another job than the one that was asked about, and began before or after it, as the word says."""
    if evidence.value("same_job", row) is not False:
        return False
    rows = range(len(evidence.rows))
    own = [str(evidence.value("start_ts", r) or "") for r in rows if evidence.value("same_job", r) is True]
    begun = str(evidence.value("start_ts", row) or "")
    if word == "other":
        return True
    return bool(own and begun and all(own)) and (begun > max(own) if word == "later" else begun < min(own))


def set_against(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`more jobs failed than completed, * against *`: each figure is the count of the row of its own state."""
    m = _THAN.match(clause.own)
    if m is None:
        return
    x, *rest = (c for g in clause.groups for c in g.cells)
    if not _of(x, m["a"], ledger) or (m["each"] and rest):
        return
    other = _count(x, m["b"], ledger) if m["each"] else None
    if len(rest) == 1 and _of(rest[0], m["b"], ledger) and rest[0].id == x.id:
        other = _count(x, m["b"], ledger)
    own = _count(x, m["a"], ledger)
    if not isinstance(own, float) or not isinstance(other, float):
        return
    if own == other if m["as"] else own > other if m["more"] else own < other:
        yield m.start(), m.start("x")
        yield from [m.span("each")] if m["each"] else []


def _of(cell: CellValue, word: str, ledger: Ledger) -> bool:
    """Whether a cell is how many jobs ended as a word says, by the state of its row."""
    return cell.column == "jobs" and held(ledger, cell, "state") in STATES[word.lower()][0]


def _count(cell: CellValue, word: str, ledger: Ledger) -> float | None:
    """How many jobs of a summary by states ended as a word says; None where it leaves that open, or the answer is not whole."""
    evidence = ledger.get(cell.id)
    if evidence.query != "find_jobs_summary" or not whole(evidence, ledger):
        return None
    rows = [size(r["jobs"]) for r in evidence.dicts() if r["state"] in STATES[word.lower()][0]]
    found = rows[0] if len(rows) == 1 else None
    return found if isinstance(found, float) else None
