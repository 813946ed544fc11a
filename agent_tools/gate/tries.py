"""Of which attempt is it, how often was the job sent back, and for which other job does it wait? Its attempts say so, and its log's runs.

Job [[E1:9.job_id]] was preempted once and completed in its second attempt.     one attempt of it was, and the second completed
The second attempt resumed from [[E7.path]].                                    the line stands in what the log has of that attempt
The job waits for job [[E1:4.job_id]] ([[E2.dependency]]).                      its row waits, and names that job

LIMIT: only where accounting has every attempt up to the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held, job_of, size
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.order import TS, is_time
from agent_tools.gate.ordinals import ORDINALS
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

_ENDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("completed", "succeeded", "finished"), frozenset({"COMPLETED"})),
    "failed": frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"}),
    "timed out": frozenset({"TIMEOUT"}),
    **dict.fromkeys(("cancelled", "canceled"), frozenset({"CANCELLED"})),
    "preempted": frozenset({"PREEMPTED"}),
    "requeued": frozenset({"REQUEUED"}),
    **dict.fromkeys(("sent back", "sent back to the queue"), frozenset({"PREEMPTED", "REQUEUED"})),
}
_TIMES = {"once": 1, "twice": 2, "three times": 3, "four times": 4}
_ORDINAL = lazy.compile(rf"(?i)\b(?P<n>{'|'.join(ORDINALS)}) attempt\b")
_SENT = lazy.compile(
    rf"(?i)\b(?:was|has been|had been|got) (?P<w>(?:only |just )?(?P<v>preempted|requeued|cancelled|canceled|sent back(?: to the queue)?) (?P<n>{'|'.join(_TIMES)}))\b(?! (?:more|again)\b)"
)
_IN = lazy.compile(
    rf"(?i)\b(?P<w>(?P<v>{'|'.join(_ENDS)})(?: successfully)? (?:in|on|at|with) (?:its|the) (?P<n>{'|'.join(ORDINALS)}|last|final) (?:attempt|try|run|one))\b"
)
_WAITS = lazy.compile(rf"(?i)\b(?:(?:is|was|still) )*(?P<w>waits|waiting) (?:for|on) (?:the )?(?:job )?(?={HOLE})")
_STARTED_AFTER = lazy.compile(
    rf"(?i)\bthe (?P<a>(?P<n>{'|'.join(ORDINALS)}|last) attempt) (?:was )?(?:started|began|begun) (?P<x>{HOLE}+) (?P<b>after the (?P<m>{'|'.join(ORDINALS)}|previous|earlier)(?: attempt| one)?(?: had| was)?(?: ended| over| been over))(?=\W*$|,)"
)
_AT_LIMIT = lazy.compile(
    r"(?i)\b(?:when|until|before) (?:(?:the|its) (?:time )?(?P<w>limit (?:came|struck|was hit|was reached))|it (?P<v>(?:hit|reached) (?:the|its) (?:time )?limit))\b"
)
_ELSEWHERE = lazy.compile(rf"(?i)\bon (?P<w>another|a different|other|different) nodes?,? (?:nodes? )?(?={HOLE})")
_ONLY_ATTEMPT = lazy.compile(rf"(?i)\b(?P<w>(?:first and )?only attempt)\b\W*(?={HOLE})")
_NEEDED = lazy.compile(rf"(?i)\b(?P<w>(?:needed|took) (?P<n>{SEVERAL}) attempts)\b")
_DENIED = lazy.compile(
    r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|before|if|whether|nearly|almost)\b|n['’]t\b"
)
_TWO = 2
_ATTEMPTS = frozenset({"job_attempts", "find_jobs"})
_OVERVIEWS = frozenset({"job_attempts", "job_overview"})


def tried(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause such words stand that the attempts of its one job bear out."""
    cells = [c for g in clause.groups for c in g.cells]
    if not cells or _DENIED.search(clause.own):
        return []
    return [
        *_of_attempts(clause, ledger),
        *_waits(clause, ledger),
        *_started_after(clause, ledger),
        *_at_limit(clause, ledger),
        *_elsewhere(clause, ledger),
        *_of_so_many(clause, ledger),
    ]


def _of_so_many(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`its only attempt`, `needed two attempts`: of a job that has so many."""
    said = [*_ONLY_ATTEMPT.finditer(clause.own), *_NEEDED.finditer(clause.own)]
    jobs = {job_of(ledger, c) for g in clause.groups for c in g.cells} if said else set[str]()
    states = states_of(next(iter(jobs)), ledger) if len(jobs) == 1 else {}
    for m in said if states else ():
        if len(states) == (NUMBER_WORDS[m["n"].lower()] if "n" in m.groupdict() else 1):
            yield m.span("w")


def _of_attempts(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    said = [*_SENT.finditer(clause.own), *_IN.finditer(clause.own)]
    jobs = {job_of(ledger, c) for g in clause.groups for c in g.cells} if said else set[str]()
    states = states_of(next(iter(jobs)), ledger) if len(jobs) == 1 else {}
    for m in said if states else ():
        word, which = m["v"].lower(), m["n"].lower()
        if which in _TIMES:
            if sum(s in _ENDS[word] for s in states.values()) == _TIMES[which]:
                yield m.span("w")
        elif states.get(ORDINALS.get(which, max(states))) in _ENDS[word]:
            yield m.span("w")


def states_of(job: str, ledger: Ledger) -> dict[int, str]:
    """How each attempt of a job ended, by its number; empty where not every one up to the last is known."""
    found: dict[int, str] = {}
    for evidence in ledger.all():
        if evidence.query not in _ATTEMPTS or evidence.truncated:
            continue
        for row in evidence.dicts():
            number, state = row.get("attempt"), row.get("state")
            if str(row.get("job_id") or evidence.params.get("job_id") or "") == job and isinstance(number, int):
                found[number] = str(state)
    return found if set(found) == set(range(1, len(found) + 1)) else {}


def attempt_of(cell: CellValue, ledger: Ledger) -> int | None:
    """The attempt that a row is of: by its own number, by where its lines stand in the log, or by its times; None where nothing tells."""
    own = held(ledger, cell, "attempt")
    if isinstance(own, int):
        return own
    if cell.column.startswith("earlier_"):
        return 1 if held(ledger, cell, "attempts") == _TWO else None
    if held(ledger, cell, "same_job") is False:
        return None
    job = job_of(ledger, cell)
    if is_time(cell):
        return _by_times(job, [str(cell.value)], ledger)  # that of an earlier line may be of an earlier attempt
    lines = [v for n in ("line_no", "first_line", "last_line") if isinstance(v := held(ledger, cell, n), int)]
    runs = _runs(job, held(ledger, cell, "file"), ledger)
    if lines and runs:
        of = {next((n for n, a, b in runs if a <= line <= b), None) for line in lines}
        return next(iter(of)) if len(of) == 1 else None
    names = [c.name for c in ledger.get(cell.id).columns if TS.fullmatch(c.name) and not c.name.startswith("earlier_")]
    times = [t for n in names if isinstance(t := size(held(ledger, cell, n)), str)]
    return _by_times(job, times, ledger) if times else None


def _runs(job: str, file: Cell, ledger: Ledger) -> list[tuple[int, int, int]]:
    """Of which attempt the lines of a log are, from which on and up to which, where that is certain."""
    found: list[tuple[int, int, int]] = []
    for evidence in ledger.all():
        if evidence.query == "log_runs" and str(evidence.params.get("job_id")) == job:
            for row in evidence.dicts():
                number, first, last = row["attempt"], row["first_line"], row["last_line"]
                sure = row["certain"] is True and row["file"] == file
                if sure and isinstance(number, int) and isinstance(first, int) and isinstance(last, int):
                    found.append((number, first, last))
    return found


def _by_times(job: str, times: list[str], ledger: Ledger) -> int | None:
    lives: dict[int, tuple[str, str]] = {}
    for evidence in ledger.all():
        if evidence.query in _ATTEMPTS:
            for row in evidence.dicts():
                whose = str(row.get("job_id") or evidence.params.get("job_id") or "")
                if whose == job and isinstance(n := row.get("attempt"), int) and row["start_ts"] and row["end_ts"]:
                    lives[n] = str(row["start_ts"]), str(row["end_ts"])
    of = {next((n for n, (a, b) in lives.items() if a <= t <= b), None) for t in times}
    return next(iter(of)) if len(of) == 1 else None


def _at_limit(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`when the limit was hit`, of a job whose every attempt timed out."""
    jobs = {job_of(ledger, c) for g in clause.groups for c in g.cells}
    states = states_of(next(iter(jobs)), ledger) if len(jobs) == 1 else {}
    if states and set(states.values()) == {"TIMEOUT"}:
        yield from (m.span("w" if m["w"] else "v") for m in _AT_LIMIT.finditer(clause.own))


def _elsewhere(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`on another node, *`: of an attempt whose nodes none of those before it had."""
    for m in _ELSEWHERE.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        if cell is None or cell.column != "node_list" or ledger.get(cell.id).query != "job_attempts":
            continue
        rows = ledger.get(cell.id).dicts()
        before = [
            str(r["node_list"])
            for r in rows
            if isinstance(n := r["attempt"], int) and n < (attempt_of(cell, ledger) or 0)
        ]
        nodes = {n for text in before for n in text.split(",")}
        if before and not nodes & set(str(cell.value).split(",")):
            yield m.span("w")


def _started_after(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the second attempt started * after the first had ended`: the row counts from the end of the one before to the start of the last."""
    for m in _STARTED_AFTER.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("x") and len(g.cells) == 1), None)
        last = held(ledger, cell, "last_attempt") if cell and cell.column == "waited_min" else None
        if not isinstance(last, int) or last < _TWO:
            continue
        one, other = ORDINALS.get(m["n"].lower(), last), ORDINALS.get(m["m"].lower(), last - 1)
        if one == last and other == last - 1:
            yield m.span("a")
            yield m.span("b")


def _waits(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the job waits for job *`: the job that is cited beside it, or the only one that was opened, waits and depends on that one."""
    for m in _WAITS.finditer(clause.own):
        other = next((g.cells[0] for g in clause.groups if g.start == m.end() and len(g.cells) == 1), None)
        if other is None or other.column != "job_id":
            continue
        rows = {
            str(row.get("job_id") or e.params.get("job_id")): row
            for e in ledger.all()
            if e.query in _OVERVIEWS
            for row in e.dicts()
        }
        cited = {job_of(ledger, c) for g in clause.groups for c in g.cells} - {str(other.value)}
        whose = cited or (set(rows) - {str(other.value)})
        row = rows.get(next(iter(whose))) if len(whose) == 1 else None
        if row and row.get("state") == "PENDING" and re.search(rf"\b{other.value}\b", str(row.get("dependency") or "")):
            yield m.span("w")


def numbered(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the second attempt`: every row that is cited behind it is of that attempt, and none ahead of it is of another."""
    found = list(_ORDINAL.finditer(clause.own))
    if len(found) != 1:
        return
    behind = [c for g in clause.groups if g.start > found[0].end() for c in g.cells if c in cells]
    ahead = [c for c in cells if c not in behind]
    numbers = [attempt_of(c, ledger) for c in behind or ahead]
    numbers += [n for c in ahead if (n := held(ledger, c, "attempt")) is not None]
    if numbers and set(numbers) == {ORDINALS[found[0]["n"].lower()]}:
        yield found[0].span("n")


_END_OF_TOLD = lazy.compile(r"(?i)[,;:]|\b(?:and|but|while|whereas|after|before|than)\b")
_EARLIER_JOB = lazy.compile(
    r"(?i)\b(?:ran|started|began|launched|completed|ended|failed)\b[^,;:.]{0,24}\b(?P<w>before|earlier|beforehand|previously)\b(?=\W*$|,| and\b| but\b)"
)


def misnumbered(clause: Clause, ledger: Ledger) -> str:
    """Why what is told of an attempt is of another one, or of a job that ran before is of one that did not; "" where it is, or nothing tells."""
    own = clause.own
    found = list(_ORDINAL.finditer(own))
    if len(found) == 1:
        cut = _END_OF_TOLD.search(own, found[0].end())
        behind = [
            c for g in clause.groups if found[0].end() <= g.start < (cut.start() if cut else len(own)) for c in g.cells
        ]
        numbers = {attempt_of(c, ledger) for c in behind}
        said = ORDINALS[found[0]["n"].lower()]
        if numbers and None not in numbers and said not in numbers:
            return f"{found[0]['n']!r} is not the attempt of [[{behind[0].ref}]], by its row, its lines or its time: say of each attempt what is its own"
    cells = [c for g in clause.groups for c in g.cells]
    if (m := _EARLIER_JOB.search(own)) and cells and all(held(ledger, c, "same_job") is False for c in cells):
        evidence = ledger.get(cells[0].id)
        rows = range(len(evidence.rows))
        starts = [str(evidence.value("start_ts", r)) for r in rows if evidence.value("same_job", r) is True]
        if any(str(held(ledger, c, "start_ts")) > s for c in cells for s in starts):
            return f"{m['w']!r}: the job of [[{cells[0].ref}]] did not start before the one that was asked about: turn it round, or leave it out"
    return ""
