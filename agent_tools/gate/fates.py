"""Is each one's end its own? Of two rows that are cited together, a word for an end is held against the row beside it.

    Attempt [[E48.attempt]] completed and attempt [[E48:1.attempt]] was preempted.      the other way round
    Jobs [[E5.job_id]] and [[E5:1.job_id]] failed.                                      one of them completed

LIMIT: only where the row has a state of Slurm's that is an end, and for the words that mean one of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, Group, clauses, held, job_of, size
from agent_tools.gate.jobs import set_against
from agent_tools.gate.machines import ENDINGS
from agent_tools.gate.order import is_time
from agent_tools.gate.tries import misnumbered, tried
from agent_tools.gate.words import spoken_of, stems, without
from agent_tools.references import HOLE, masked
from store import lazy

_BAD = frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED"})
_ALL = _BAD | {"COMPLETED", "CANCELLED", "PREEMPTED"}
_FATES: dict[str, frozenset[str]] = {
    **dict.fromkeys(("completed", "succeeded", "successful", "successfully", "normally"), frozenset({"COMPLETED"})),
    **dict.fromkeys(("cancelled", "canceled"), frozenset({"CANCELLED"})),
    "preempted": frozenset({"PREEMPTED"}),
    "badly": _BAD,
    "timeout": frozenset({"TIMEOUT"}),
    "timed out": frozenset({"TIMEOUT"}),
    "out of memory": frozenset({"OUT_OF_MEMORY"}),
    **dict.fromkeys(("failed", "crashed"), _BAD | {"CANCELLED", "PREEMPTED"}),
}
"""What words for an end can mean of Slurm's states; that a job failed says only that it did not complete."""
_FATE = lazy.compile(
    rf"(?i)\b(?:{'|'.join(sorted(_FATES, key=len, reverse=True))})\b(?! to\b)"
    rf"(?! (?:(?:its|the|all|only|{HOLE}+|of|first|last) )*(?:epochs?|steps?|iterations?|saves?|checkpoints?|evaluations?)\b)(?! {HOLE})"
)
"""Not of something within a run: `completed step *`, `failed to load`."""
_NAMES = lazy.compile(r"^(?:name|origin|file|command|submit_line|user|partition)$|_(?:path|dir|line)$")
_ATTEMPT = lazy.compile(
    r"(?i)\b(?:attempts?|try|tries|first|earlier|previous(?:ly)?|initial(?:ly)?|original(?:ly)?|before)\b"
)
"""By which it is said that an end is not the last."""
_CUT = lazy.compile(r"(?i)[,;:]|\b(?:and|but|while|whereas|then|as)\b")
_UNREAL = lazy.compile(
    r"(?i)(?:\b(?:not|never|no|none|nobody|no one|neither|nor|without|cannot|before|until|if|whether|would|could|should|might|nearly|almost|how|had it|than)\b"
    r"|n't\b)[^,;:]{0,24}$"
)
"""Ahead of an end that is not said to have come."""


def misfated(clause: Clause, ledger: Ledger) -> str:
    """Why a clause gives one an end that its row denies; "" where each has its own."""
    if any(set_against(clause, ledger)):
        return ""  # two counts, each of its own state
    if said := tried(clause, ledger):
        clause = Clause(without(clause.text, said), clause.groups, clause.at)
    for text, groups in _pieces(clause):
        for word in _FATE.finditer(text):
            if _UNREAL.search(text[: word.start()]):
                continue
            for group in groups:
                wrong = [c for c in group.cells if _denies(c, word[0].lower(), groups, ledger)]
                if len(group.cells) > 1 and wrong:
                    return _said(word[0], wrong[0])
            ends = [c for g in groups for c in g.cells if _state(c, ledger)]
            if ends and all(_denies(c, word[0].lower(), groups, ledger) for c in ends):
                return _said(word[0], ends[0])
    return _of_limit(clause, ledger) or misnumbered(clause, ledger) or _of_a_part(clause, ledger)


_AT_LIMIT = lazy.compile(
    r"(?i)\b(?:ran (?:right )?into|hit|reached|exceeded|overran|(?:was|were) (?:stopped|ended|killed|cut off|cut short) (?:at|by|after)|(?:ended|stopped) (?:at|by))"
    r" (?:its|the|their|the job['’]s) (?:time|wall-?(?:clock|time)|slurm) limit\b"
)
_USED_UP = 0.98


def _of_limit(clause: Clause, ledger: Ledger) -> str:
    """Why a job did not end at its time limit, as a clause says: no attempt of it timed out, or ran so long; "" where one did, or nothing tells."""
    said = next((m for m in _AT_LIMIT.finditer(clause.own) if not _UNREAL.search(clause.own[: m.start()])), None)
    for cell in (c for g in clause.groups for c in g.cells) if said else ():
        job = job_of(ledger, cell)
        rows = [
            row
            for e in ledger.all()
            if e.query in ("job_overview", "job_attempts", "find_jobs")
            for row in e.dicts()
            if job and str(row.get("job_id") or e.params.get("job_id") or "") == job
        ]
        shares = [s for r in rows for n in ("limit_used", "limit_share") if isinstance(s := size(r.get(n)), float)]
        if rows and not any(r.get("state") == "TIMEOUT" for r in rows) and max(shares, default=1.0) < _USED_UP:
            return f"{said[0] if said else ''!r}: no attempt of the job timed out, and [[{cell.ref}]] is {cell.column} ({cell.doc}): name that limit"
    return ""


_OWN_ENDS = ("exit_code", "exit_signal", "state")
_A_PART = lazy.compile(
    r"(?i)\b(?:tasks?|steps?|ranks?|process(?:es)?|child|children|launcher|workers?|program|script|attempts?|batch|srun|first|earlier|"
    r"previous|derived|nodes?|hosts?|others?)\b"
)


def _of_a_part(clause: Clause, ledger: Ledger) -> str:
    """Why an end of another answer is not the job's own (a task's exit code beside the job's id); "" where it is, or is told as a part's."""
    jobs = [c for g in clause.groups if g.column == "job_id" for c in g.cells]
    parts = any(g.subject and g.column not in ("job_id", "user") for g in clause.groups) or "attempt" in {
        g.column for g in clause.groups
    }
    if len(jobs) != 1 or parts or _A_PART.search(clause.own):
        return ""
    for cell in (c for g in clause.groups if g.column in _OWN_ENDS for c in g.cells):
        own = held(ledger, jobs[0], cell.column)
        of_rows = held(ledger, cell, "attempt") is not None or held(ledger, cell, "job_id") is not None
        if cell.id != jobs[0].id and not of_rows and own is not None and own != cell.value:
            return f"[[{cell.ref}]] is the end of a part, and [[{jobs[0].ref}]] has another {cell.column}: say whose it is, or cite the job's own"
    return ""


_SPARED = lazy.compile(
    r"(?i)\b(?:(?P<none>nobody|no one|no user|no operator) (?:had )?(?P<by>cancelled|canceled)|(?:(?:was|were|is|had|been|has) (?P<not>not|never)|was(?P<nt>n['’]t))"
    r" (?:been )?(?P<was>cancelled|canceled|preempted|requeued)|(?P<nei>neither|no) attempt (?P<fin>completed|succeeded|failed|timed out)|did (?P<no>not|never) (?P<did>fail|crash|time out|run out of memory|hit its (?:time )?limit))\b"
)
_SPARES: dict[str, frozenset[str]] = {
    "cancelled": frozenset({"CANCELLED"}),
    "canceled": frozenset({"CANCELLED"}),
    "preempted": frozenset({"PREEMPTED"}),
    "requeued": frozenset({"REQUEUED", "PREEMPTED"}),
    "time out": frozenset({"TIMEOUT"}),
    "hit its limit": frozenset({"TIMEOUT"}),
    "hit its time limit": frozenset({"TIMEOUT"}),
    "run out of memory": frozenset({"OUT_OF_MEMORY"}),
    **dict.fromkeys(("fail", "crash", "failed"), _BAD | {"CANCELLED", "PREEMPTED", "REQUEUED"}),
    **dict.fromkeys(("completed", "succeeded"), frozenset({"COMPLETED"})),
    "timed out": frozenset({"TIMEOUT"}),
}
"""The states that an end which did not come would have left behind."""
_BY_ITSELF = lazy.compile(r"(?i)\bexit(?:ed|s)? (?:by|on|of) (?P<w>itself|its own(?: accord)?)\b")
_PAIR, _SIGNALLED = 2, 128


def spared(text: str, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a text it is denied that the job met an end (`Nobody cancelled it`), which accounting's states bear out.

    Every attempt has to be known and over; a kill within a job leaves FAILED behind, so that out of memory is not denied by it.
    """
    found: list[tuple[int, int]] = []
    own = masked(text)
    for clause in clauses(text, ledger):
        begin = clause.at
        if all(_by_itself(c, ledger) for g in clause.groups for c in g.cells):
            found += [m.span("w") for m in _BY_ITSELF.finditer(own, begin, begin + len(clause.text))]
        for m in _SPARED.finditer(own, begin, begin + len(clause.text)):
            word = (m["by"] or m["was"] or m["did"] or m["fin"]).lower()
            states = [c for g in clause.groups for c in g.cells if c.column == "state"]
            pair = (
                (m["nei"] or "").lower() != "neither" or len(ledger.get(states[0].id).rows) == _PAIR
                if states
                else False
            )
            if len(states) == 1 and pair and _none_met(states[0], word, ledger):
                found += [m.span(g) for g in ("none", "not", "nt", "no", "by", "was", "did", "nei", "fin") if m[g]]
    return found


def _by_itself(cell: CellValue, ledger: Ledger) -> bool:
    """Whether the row of a process has an exit status and no signal, which some print as a status below zero or above 128."""
    code = held(ledger, cell, "exit_code")
    return (
        isinstance(code, int)
        and 0 <= code <= _SIGNALLED
        and not (held(ledger, cell, "exit_signal") or held(ledger, cell, "signal"))
    )


def _none_met(cell: CellValue, word: str, ledger: Ledger) -> bool:
    evidence = ledger.get(cell.id)
    names = {c.name for c in evidence.columns}
    if evidence.query != "job_attempts" or evidence.params.get("attempt") is not None or evidence.truncated:
        return False
    rows = evidence.dicts()
    if any(r["state"] not in _ALL for r in rows) or any(r["state"] in _SPARES[word] for r in rows):
        return False
    if word == "run out of memory":
        return all(r["state"] == "COMPLETED" for r in rows)
    if word in ("preempted", "requeued"):
        return len(rows) == 1 and "restarts" in names and rows[0]["restarts"] == 0
    return word not in ("cancelled", "canceled") or not any(r.get("cancelled_by") for r in rows)


def superseded(text: str, found: Sequence[Clause], ledger: Ledger) -> str:
    """Why an end is not the job's: it is that of an earlier attempt, which the text does not name; "" where it is, or is
    named, dated, or told beside another."""
    cells = [c for clause in found for g in clause.groups for c in g.cells]
    if _ATTEMPT.search(masked(text)) or any(c.column == "attempt" for c in cells):
        return ""
    dated = {(c.id, c.row) for c in cells if is_time(c)}
    for cell in cells:
        told = (cell.id, cell.row) in dated or any(c.id == cell.id and c.row != cell.row for c in cells)
        if not told and (cell.column in ENDINGS or cell.column == "elapsed_s") and _earlier(cell, ledger):
            return f"[[{cell.ref}]] is of an earlier attempt: name the attempt, or cite the row of the last"
    return ""


def _earlier(cell: CellValue, ledger: Ledger) -> bool:
    """Whether another row of the same answer is of a later attempt of the same job."""
    own, job = held(ledger, cell, "attempt"), held(ledger, cell, "job_id")
    if not isinstance(own, int):
        return False
    others = [ledger.get(cell.id).cell(cell.column, r) for r in range(len(ledger.get(cell.id).rows))]
    later = [n for o in others if held(ledger, o, "job_id") == job and isinstance(n := held(ledger, o, "attempt"), int)]
    return bool(later) and own < max(later)


def ended_so(cell: CellValue, word: str, ledger: Ledger) -> bool | None:
    """Whether the row of a cell ended as a word says (`completed`, `failed`); None for another word, or where it does not tell."""
    state = _state(cell, ledger)
    return state in _FATES[word] if state and word in _FATES else None


def _said(word: str, cell: CellValue) -> str:
    return f"{word!r} is not how the row of [[{cell.ref}]] ended: say of each what its own row says"


def _pieces(clause: Clause) -> Iterator[tuple[str, list[Group]]]:
    """The parts of a clause between its conjunctions, with their cells; a part without cells goes on with the one before it."""
    own = clause.own
    cuts = [m.end() for m in _CUT.finditer(own) if not any(g.start <= m.start() < g.end for g in clause.groups)]
    made: list[tuple[str, list[Group]]] = []
    for begin, end in zip([0, *cuts], [*cuts, len(own)], strict=True):
        groups = [g for g in clause.groups if begin <= g.start < end]
        if made and (not groups or not made[-1][1]):
            text, before = made.pop()
            made.append((text + own[begin:end], [*before, *groups]))
        else:
            made.append((own[begin:end], groups))
    return iter(made)


def _state(cell: CellValue, ledger: Ledger) -> str:
    """The end that the row of a cell has; "" where it has none of Slurm's."""
    evidence = ledger.get(cell.id)
    names = {c.name for c in evidence.columns}
    state = evidence.value("state", cell.row) if "state" in names else None
    return state if isinstance(state, str) and state in _ALL else ""


def _denies(cell: CellValue, word: str, groups: list[Group], ledger: Ledger) -> bool:
    """Whether a row ended otherwise than a word says, and neither it nor another answer beside it speaks of the word."""
    state = _state(cell, ledger)
    if not state or state in _FATES[word]:
        return False
    said = _texts(cell, ledger)
    for other in (c for g in groups for c in g.cells):
        if (other.id, other.row) == (cell.id, cell.row):
            said += [other.column, other.doc]
        elif other.id != cell.id:
            said += [other.column, other.doc, *_texts(other, ledger)]
    known = stems(" ".join(said))
    return not all(spoken_of(w, known) for w in word.split())


def _texts(cell: CellValue, ledger: Ledger) -> list[str]:
    """What the row of a cell says in words; not what somebody called a job, a file or a folder."""
    evidence = ledger.get(cell.id)
    names = [c.name for c in evidence.columns if not _NAMES.search(c.name)]
    return [v for n in names if isinstance(v := evidence.value(n, cell.row), str)]
