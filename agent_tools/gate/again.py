"""What came again, went back, came before or is over: each is held against the rows' attempts, states and times.

The rerun waited [[E5:1.wait_s]].                             the row is of a later attempt than the first
The job was sent back to the queue at [[E5.end_ts]].          the end of an attempt that another one followed
An earlier job, [[E9:2.job_id]], ended as [[E9:2.state]].     its row began before that of the job that was asked about
Node [[E3.node]] is no longer down.                           the row of that state says that it has ended
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held, job_of, size
from agent_tools.gate.courses import courses
from agent_tools.gate.jobs import counted
from agent_tools.gate.order import TS, is_time
from agent_tools.gate.tallies import tallied
from agent_tools.gate.vocabulary import means
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

_RERUN = lazy.compile(r"(?i)\b(?P<w>re-?run)\b(?!s)")
_BACK = lazy.compile(r"(?i)\b(?P<w>(?:sent|put|went|returned) back (?:in)?to the queue)\b")
_CUT = lazy.compile(r"(?i)[,;:]|\b(?:and|but|while|whereas|than|against|after|before|until)\b")
_FIRST = lazy.compile(r"(?i)\b(?:first|earlier|previous|initial|original)\b")
_BY = lazy.compile(
    r"(?i)\bby\b|\b(?:user|owner|operator|somebody|someone|node)\b[^,;:.]* (?:sent|put|started|restarted)\b"
)
"""Who did it: of that a row of an attempt says nothing."""
_DENIED = lazy.compile(r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot)\b|n['’]t\b")
_OTHER_JOB = lazy.compile(
    r"(?i)\b(?P<an>another) (?:job|run)(?! of (?:this|the same) job)|\b(?:an?|the|one|its|another) (?P<w>(?P<early>earlier|previous)|(?P<late>later|subsequent)|(?P<long>longer)|(?P<short>shorter)|other) (?:job|run)\b(?! of (?:this|the same) job)"
)
_NO_LONGER = lazy.compile(r"(?i)\b(?:is|are|was) (?P<w>no longer) (?:in (?:the )?state )?(?P<s>[a-z]+)\b")
_OWNER = lazy.compile(
    rf"(?i)\bcancell?ed by (?:(?:its|the job's) (?P<w>(?:own )?(?:user|owner))\b|(?:(?:the|its) )?(?:(?:user|owner) )?{HOLE}+ (?P<v>himself|herself|themselves|itself)\b)"
)
_STARTED_AGAIN = lazy.compile(
    r"(?i)\b(?:started|launched|began|ran) (?:(?:the|this) (?:job|run) |it )?(?P<w>again)\b(?! and again)"
)
_SAME_NAME = lazy.compile(r"(?i)\b(?:of|with) the (?P<w>same) (?:name|user)\b")
_LATER = lazy.compile(
    r"(?i)\b(?:ran|started|began|launched|completed|ended|failed)\b[^,;:.]{0,24}\b(?P<w>afterwards|later(?! than\b))\b"
)
_SAME_NODE = lazy.compile(r"(?i)\bon the (?P<w>same) nodes?\b")
_SENT = lazy.compile(
    r"(?i)\b(?:the launcher|torchrun) (?:then |had |has )?(?P<w>sent)\b|\b(?P<v>sent)\b[^,;:.]*\bby (?:the launcher|torchrun)\b"
)
_LIVES = frozenset({"job_attempts", "job_overview", "find_jobs"})


def again(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause such words, and those of where a figure went and of how many a tally counts, stand that the rows bear out."""
    if tally := [*tallied(clause, ledger), *counted(clause, ledger)]:
        return tally
    if _DENIED.search(clause.own.replace("no longer", "").replace("No longer", "")):
        return []
    return [
        *_reruns(clause, ledger),
        *_sent_back(clause, ledger),
        *_other_jobs(clause, ledger),
        *_alike(clause, ledger),
        *_no_longer(clause, ledger),
        *_by_owner(clause, ledger),
        *_by_launcher(clause, ledger),
        *courses(clause, ledger),
    ]


def _reruns(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the rerun`: all that is told of it, up to what the clause turns to next, is of a later attempt than the first."""
    own = clause.own
    every = [c for g in clause.groups for c in g.cells]
    anew = all(c.column == "start_ts" or not is_time(c) for c in every) and all(_of_rerun(c, ledger) for c in every)
    if anew and every and not _FIRST.search(own) and not _BY.search(own):
        yield from (m.span("w") for m in _STARTED_AGAIN.finditer(own))
    for m in _RERUN.finditer(own):
        cut = _CUT.search(own, m.end())
        end = cut.start() if cut else len(own)
        begin = max((c.end() for c in _CUT.finditer(own, 0, m.start())), default=0)
        cells = [c for g in clause.groups if begin <= g.start < end for c in g.cells]
        told = cells and not _FIRST.search(own[begin:end]) and not _BY.search(own[begin:end])
        if told and all(_of_rerun(c, ledger) for c in cells):
            yield m.span("w")


def _of_rerun(cell: CellValue, ledger: Ledger) -> bool:
    """Whether a cell is of an attempt that came after the first, by its row's number or by a time of its row."""
    number = held(ledger, cell, "attempt")
    if held(ledger, cell, "same_job") is False:
        return False  # of another job, however often that one ran
    if isinstance(number, int):
        return number > 1
    evidence = ledger.get(cell.id)
    of = attempts_of(job_of(ledger, cell), ledger)
    own = [c.name for c in evidence.columns if TS.fullmatch(c.name) and not c.name.startswith("earlier_")]
    times = [t for n in own if isinstance(t := size(evidence.value(n, cell.row)), str)]
    lives = [life for n, life in of.items() if n > 1]
    return bool(times) and all(any(a <= t <= b for a, b in lives) for t in times)


def attempts_of(job: str, ledger: Ledger) -> dict[int, tuple[str, str]]:
    """When each attempt of a job began and ended, by its number."""
    found: dict[int, tuple[str, str]] = {}
    for evidence in ledger.all():
        if evidence.query not in _LIVES:
            continue
        for row in evidence.dicts():
            whose = str(row.get("job_id") or evidence.params.get("job_id") or "")
            number, begin, end = row.get("attempt"), row.get("start_ts"), row.get("end_ts")
            if whose == job and isinstance(number, int) and begin and end:
                found[number] = str(begin), str(end)
    return found


def _sent_back(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`sent back to the queue`: an attempt of that job has a later one, and each time that is told is that attempt's end."""
    said = list(_BACK.finditer(clause.own))
    cells = [c for g in clause.groups for c in g.cells]
    if not said or not cells or _BY.search(clause.own):
        return
    jobs = {job_of(ledger, c) for c in cells}
    lives = attempts_of(next(iter(jobs)), ledger) if len(jobs) == 1 else {}
    ends = {end for number, (_, end) in lives.items() if any(n > number for n in lives)}
    if ends and all(str(c.value) in ends for c in cells if is_time(c)):
        yield from (m.span("w") for m in said)


def _other_jobs(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`an earlier job, *`: by its row's start beside that of the job that was asked about."""
    for m in _OTHER_JOB.finditer(clause.own):
        behind = [g for g in clause.groups if g.start >= m.end() and g.column == "job_id"][:1]
        for cell in (c for g in behind for c in g.cells):
            evidence = ledger.get(cell.id)
            if (
                "same_job" not in {c.name for c in evidence.columns}
                or evidence.value("same_job", cell.row) is not False
            ):
                return
            rows = range(len(evidence.rows))
            own = [_start(evidence.value("start_ts", r)) for r in rows if evidence.value("same_job", r) is True]
            start = _start(evidence.value("start_ts", cell.row))
            if m["long"] or m["short"]:
                lives = [size(evidence.value("elapsed_s", r)) for r in rows if evidence.value("same_job", r) is True]
                life = size(evidence.value("elapsed_s", cell.row))
                known = [v for v in lives if isinstance(v, float)]
                if not isinstance(life, float) or not known or len(known) != len(lives):
                    return
                if not (life > max(known) if m["long"] else life < min(known)):
                    return
                continue
            if not (m["early"] or m["late"]):
                continue
            if not own or not start or not all(own):
                return
            if not (start < min(own) if m["early"] else start > max(own)):
                return
        if behind:
            yield m.span("an" if m["an"] else "w")


def _alike(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`of the same name`, as all of an answer of similar jobs are; `on the same node`, where the row's nodes are those of the job's own."""
    cells = [c for g in clause.groups for c in g.cells]
    of = {c.id for c in cells}
    evidence = ledger.get(cells[0].id) if len(of) == 1 else None
    if evidence is None or "same_job" not in {c.name for c in evidence.columns}:
        return
    yield from (m.span("w") for m in _SAME_NAME.finditer(clause.own))
    rows = range(len(evidence.rows))
    own = {evidence.value("node_list", r) for r in rows if evidence.value("same_job", r) is True}
    lives = [
        (evidence.value("start_ts", r), evidence.value("elapsed_s", r))
        for r in rows
        if evidence.value("same_job", r) is True
    ]
    if cells and all(
        held(ledger, c, "same_job") is False and _since(held(ledger, c, "start_ts"), lives) for c in cells
    ):
        yield from (m.span("w") for m in _LATER.finditer(clause.own))
    if own and all({held(ledger, c, "node_list")} == own for c in cells):
        yield from (m.span("w") for m in _SAME_NODE.finditer(clause.own))


def _since(begun: Cell, lives: Sequence[tuple[Cell, Cell]]) -> bool:
    """Whether one began after the lives of others, each with its start and how long it ran, were over."""
    if not isinstance(size(begun), str) or not lives:
        return False
    at = datetime.fromisoformat(str(begun).replace("Z", "+00:00"))
    for start, lived in lives:
        seconds = size(lived)
        if not isinstance(size(start), str) or not isinstance(seconds, float):
            return False
        if datetime.fromisoformat(str(start).replace("Z", "+00:00")) + timedelta(seconds=seconds) > at:
            return False
    return True


def _start(value: Cell) -> str:
    return str(value) if isinstance(size(value), str) else ""


def _no_longer(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`no longer down`: the row has that state, and says that it is over."""
    for m in _NO_LONGER.finditer(clause.own):
        cells: Sequence[CellValue] = [c for g in clause.groups if g.end <= m.start() for c in g.cells]
        rows = {(c.id, c.row) for c in cells}
        if len(rows) != 1:
            continue
        state, still = held(ledger, cells[0], "state"), held(ledger, cells[0], "still")
        if still is False and means(m["s"], state):
            yield m.span("w")
            yield m.span("s")


def _by_owner(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`cancelled by its own user`: the row's user is the one who cancelled it."""
    for m in _OWNER.finditer(clause.own):
        rows = [(held(ledger, c, "user"), held(ledger, c, "cancelled_by")) for g in clause.groups for c in g.cells]
        if rows and all(user is not None and user == by for user, by in rows):
            yield m.span("w" if m["w"] else "v")


def _by_launcher(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the launcher sent *`: all that is cited is of rows in which it says that it sends a closing signal."""
    cells = [c for g in clause.groups for c in g.cells]
    if cells and all(held(ledger, c, "name") == "closing_signal" or _was_sent(c, ledger) for c in cells):
        yield from (m.span("w" if m["w"] else "v") for m in _SENT.finditer(clause.own))


def _was_sent(cell: CellValue, ledger: Ledger) -> bool:
    """Whether a row of ranks that a signal ended is of those to which the launcher says that it sends that one: as many processes, its own among them."""
    if held(ledger, cell, "source") != "launcher":
        return False
    job, signal = job_of(ledger, cell), held(ledger, cell, "signal")
    sent = {
        row["pid"]
        for e in ledger.all()
        if e.query == "launcher_failures" and str(e.params.get("job_id")) == job
        for row in e.dicts()
        if row["name"] == "closing_signal" and row["signal"] == signal
    }
    return held(ledger, cell, "pid") in sent and len(sent) == held(ledger, cell, "ranks")
