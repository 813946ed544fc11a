"""What a sentence makes of two of a kind, and of who does something to whom: a row has to hold it, or a column that says so.

    GPU [[E8.gpu_uuid]] used GPU [[E8:1.gpu_uuid]]                  two GPUs, and no row of both
    Rank [[E9.rank]] sent signal [[E9.exit_signal]] to [[E9.signal_sender]]      the sender made the receiver

Two of a kind in a clause are told beside each other ("and", "than", "before"), never joined by a verb or a preposition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, Group, held, kind, size
from agent_tools.gate.extent import others_of
from agent_tools.gate.likeness import as_many
from agent_tools.gate.machines import of_machine
from agent_tools.gate.order import is_time, order
from agent_tools.gate.several import several
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

_NOUN = r"jobs?|runs?|attempts?|ranks?|nodes?|hosts?|machines?|gpus?|cards?|users?|process(?:es)?|pids?|tasks?"
_BESIDE = lazy.compile(
    r"(?i)(?:\b(?:and|or|nor|but|while|whereas|than|then|before|after|followed(?: by)?|preceded(?: by)?|until|versus|vs|unlike|like|besides?|not)\b|\bsame\b.*\bas\b"
    r"|\bas (?:(?:many|much|long|often|far) )?(?:[a-z]+ ){0,3}as\b|[/&])[^a-z]*(?:(?:of|on|in|at|for|with|to|by) )?|[,;:(–—]\W*"
)
"""What sets one beside another of its kind; after it stands nothing but its name, or what it has to do with itself."""
_NAMED = lazy.compile(
    rf"(?i)\W*(?:(?:the|a|an|also|both|only|another|other|that|those|its|their|then|later|one|all) |(?:{_NOUN})\W*)*"
)
_PLACED = lazy.compile(rf"\W*(?:(?:on|of|in|at|by|with|for) )?{_NAMED.pattern[4:]}", re.IGNORECASE)
_RANGE = lazy.compile(r"(?i)\s*(?:to|through|-|–)\s*")
_FROM_TO = lazy.compile(rf"(?i)\s*to (?:the )?(?:{_NOUN})?\s*")
_FROM = lazy.compile(rf"(?i)\bfrom (?:the )?(?:{_NOUN})?\s*$")
_BEHIND = lazy.compile(r"(?i)\bbehind\b")
_NAMES_ONE = lazy.compile(rf"(?i)\b(?:{_NOUN}) $")

_EACH_ONE = frozenset({"rank", "node", "gpu", "gpu_uuid", "pid", "user"})
_HOW_MANY = frozenset({"ranks", "hosts", "nodes"})
_ALL_OF = {"user": "users", "job_id": "jobs", "node": "nodes"}
_ONE_OF = lazy.compile(
    r"(?i)\b(?:one|first|second|third|last|latest|longest|shortest|any|none|other) of (?:the |these |all )?(?:last |first )?$|\bamong (?:the )?$"
)
"""How an answer says of how many its row is; and ahead of how many one is one of."""
_OF_JOB = _HOW_MANY | {"attempt", "attempts", "gpus", "node_count"}
"""Columns that count those that are told, beside how often something came."""
_PLACING = lazy.compile(rf"(?i)\b(?:on|by|of|from|for) (?:the )?(?:{_NOUN})?\s*$")
_LINKS = lazy.compile(r"(?i)^\W*(?:of|out of|to|than|with)\b|\b(?:than|out of|because|due|owing)\b|=")
_OWNS = lazy.compile(
    r"(?i)^\W{0,2} ?(?:has |had |then |alone |itself )*(?:held|holds|used|uses|had|has|took|takes|needed|needs|reached|peaked|drew|grew|waited|filled|kept|at)\b"
)
"""Between one and a figure that becomes its own."""
_DOER = lazy.compile(r"sender|_by$|reason_user$|^told_by$")
"""Columns that say who did it."""
_PLACES = frozenset({"node", "host", "node_list", "gpu", "gpu_uuid"})
_RAISED = lazy.compile(r"(?i)\b(?:raised|thrown|printed|reported) by (?:the )?(?:node|host|gpu|card)?\s*$")
"""What a program does, and no node or card."""
_DOES = lazy.compile(r"(?i)^\W{0,2} ?(?:has |had )?(?:sent|sends|gave|gives)\b(?! up\b)")
_BY = lazy.compile(
    rf"(?i)\b(?:ended|stopped|finished|taken|put|down|out|over)\b[^,;]{{0,24}}\bby (?:the |its )?(?:{_NOUN})?\s*$"
    rf"|\b(?:got|gets|took|takes|had|has|sent|signal)\b[^,;]{{0,40}}\bfrom (?:the |its )?(?:{_NOUN})?\s*$"
    rf"|\b(?:through) (?:the |its )?(?:{_NOUN})?\s*$"
)
"""Ahead of a cell that is made the one who did it."""
_ACTS = lazy.compile(
    r"(?i)^\W{0,2} ?(?:that |which |who )?(?:has |had |then |later )*(?:requeued|cancelled|canceled|preempted|restarted|resubmitted|evicted|drained|rebooted|aborted"
    rf"|terminated|interrupted|released|suspended) (?:the|this|that|its|his|their|it|them|job|rank|node|{HOLE})"
)
"""Behind a cell that is made the one who did it, to something that is named."""
_USER_DID = lazy.compile(
    rf"(?i)^\W{{0,2}} ?(?:(?:has|had|then|later|also|himself|herself|who) )*(?P<v>[a-z]+ed|set|put|shut|broke|took|made|wrote|left|froze|sent|cut|changed) "
    rf"(?:up |down |out |off )?(?=(?:the|this|that|its|his|her|their|all|an?|another|both|these|those|{_NOUN})\b|{HOLE})"
)
_OF_OWNER = frozenset(
    [
        "submitted",
        "requested",
        "asked",
        "queued",
        "owned",
        "used",
        "needed",
        "occupied",
        "shared",
        "named",
        "called",
        "started",
        "launched",
    ]
)
"""What an owner's name beside a job says of him; what else he did, a row has to say."""
_TO = lazy.compile(rf"(?i)\b(?:sent|gave|signal)\b.*\bto (?:the |its )?(?:{_NOUN})?\s*$")
_GETS = lazy.compile(r"(?i)^\W{0,2} ?(?:(?:has |had )?(?:got|gets|received|took)|(?:was|were) sent)\b")


def related(clause: Clause, ledger: Ledger) -> str:
    """Why two of a kind do not stand to each other as a clause says; "" where they do, or it says nothing of the sort."""
    own = clause.own
    if any(as_many(clause, ledger)):
        return ""
    seen: dict[str, Group] = {}
    for group in clause.groups:
        if not (group.subject or _NAMES_ONE.search(own[: group.start])):
            continue
        first = seen.get(kind(group.column))
        seen[kind(group.column)] = group
        if first is None or {str(c.value) for c in first.cells} & {str(c.value) for c in group.cells}:
            continue
        between = own[first.end : group.start]
        if _beside(between) or _begins_anew(clause, first, group) or _holds(own, between, first, group, ledger):
            continue
        a, b = first.cells[-1], group.cells[0]
        return (
            f"no row says what [[{a.ref}]] has to do with [[{b.ref}]]: tell them beside each other, each with its own cells, "
            "or cite the row that holds both"
        )
    return ""


def _beside(between: str) -> bool:
    if _RANGE.fullmatch(between):
        return True
    rests = [between[m.end() :] for m in _BESIDE.finditer(between)]
    return any(
        _NAMED.fullmatch(rest) or (HOLE in rest and _PLACED.fullmatch(rest.rpartition(HOLE)[2])) for rest in rests
    )


def _begins_anew(clause: Clause, first: Group, second: Group) -> bool:
    """Whether between two of a kind another clause begins, with a cell of the second's row: `..., SIGTERM ended ranks ...`."""
    between = [g for g in clause.groups if first.end <= g.start and g.end <= second.start]
    return any(
        re.search(r"[,;]|\band\b", clause.own[first.end : g.start])
        and (g.cells[0].id, g.cells[0].row) == (second.cells[0].id, second.cells[0].row)
        for g in between
    )


def orphaned(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> str:
    """Why cells without a subject of their own are not of the one that the clause before speaks of; "" where they are.

    `Ranks A and B. Signals: [[of rank C]]`: a reader takes the signals for those of A and B.
    """
    if any(g.subject or g.column.startswith("all_") for g in clause.groups) or others_of(clause, before, ledger):
        return ""
    if any(several(clause, before, ledger)):
        return ""
    for group in clause.groups:
        for cell in group.cells:
            named = next((s for c in reversed(before) if (s := _subjects(c, cell.id))), list[CellValue]())
            if named and not any(s.row == cell.row or held(ledger, cell, s.column) == s.value for s in named):
                return f"[[{cell.ref}]] is of another row than [[{named[0].ref}]], of which the text speaks: name whose it is"
    return ""


def _subjects(clause: Clause, id: str) -> list[CellValue]:
    return [c for g in clause.groups if g.subject for c in g.cells if c.id == id]


def strangers(first: Group, second: Group, between: str, ledger: Ledger) -> tuple[CellValue, CellValue] | None:
    """Two subjects of different kinds, from two answers, that no answer has in one row: `rank 2 used GPU-3a`.

    What is said of the job as a whole, in an answer of one row, is said of each of its ranks; not so what one card did.
    """
    answers = [ledger.get(g.cells[0].id) for g in (first, second)]
    if answers[0] is answers[1]:
        return None
    if not (first.subject and second.subject):
        return _unlicensed(first, second, between, ledger)
    kinds = {g.column.partition("_")[0] for g in (first, second)}
    if kinds != {"rank", "gpu"} and any(len(e.rows) == 1 and not of_machine(e, 0) for e in answers):
        return None
    return next(((a, b) for a in first.cells for b in second.cells if not _in_one_row(a, b, ledger)), None)


def _unlicensed(first: Group, second: Group, between: str, ledger: Ledger) -> tuple[CellValue, CellValue] | None:
    """Two cells of two answers that a verb or a preposition joins and no row does: `python used *`, `DOWN for *`, `step * failed on GPU *`.

    What is of the job as a whole stands beside each other: `all * steps in *`.
    """
    a, b = first.cells[-1], second.cells[0]
    if is_time(a) or is_time(b) or _LINKS.search(between) or {a.column, b.column} & _OF_JOB:
        return None
    own = [_EACH_ONE & {c.name for c in ledger.get(c.id).columns} - {"user"} for c in (a, b)]
    if not (first.subject or second.subject):
        return (a, b) if any(own) or any(len(ledger.get(c.id).rows) > 1 for c in (a, b)) else None
    of, other = (own[0], own[1]) if first.subject else (own[1], own[0])
    name = (a if first.subject else b).column
    if name not in ("rank", "gpu", "gpu_uuid", "pid"):
        return None
    placed = second.subject and _PLACING.search(between)
    whole_node = first.subject and other == frozenset({"node"}) and size(b.value) is not None and _OWNS.match(between)
    if whole_node and len(ledger.get(a.id).rows) > 1:
        return a, b  # the node's memory as that of one of its ranks
    return (a, b) if placed or (other - {"node"} and not other & of - {"node"}) else None


def _of_several(a: CellValue, b: CellValue, ledger: Ledger) -> bool:
    """Whether a count is of several of the kind of which one is named: `user *` beside the attempts of three users."""
    several = size(held(ledger, b, _ALL_OF.get(a.column, ""))) if a.id != b.id and size(b.value) is not None else None
    return isinstance(several, float) and several > 1 and not is_time(b)


def unowned(first: Group, second: Group, between: str, ledger: Ledger) -> tuple[CellValue, CellValue] | None:
    """One of several ranks or nodes, and beside it a cell of another answer that is not its own: an exception of nobody knows which
    (`rank 2 raised KeyError`), or what its own row has another of (`rank 2 exited with *`, of the job)."""
    for own, other in ((first, second), (second, first)):
        a, b = own.cells[-1], other.cells[0]
        of_one = a.column in _HOW_MANY and a.id != b.id and b.column not in _HOW_MANY
        if of_one and held(ledger, b, a.column[:-1]) is not None and len(ledger.get(b.id).rows) != a.value:
            return a, b  # how many got a signal, beside the code of one of another answer
        if _of_several(a, b, ledger) and not (own is first and _ONE_OF.search(between)):
            return a, b
        if a.column not in ("rank", "node", "gpu") or b.column in SUBJECTS or a.id == b.id:
            continue
        evidence, names = ledger.get(b.id), {c.name for c in ledger.get(b.id).columns}
        several = len({str(ledger.get(a.id).value(a.column, r)) for r in range(len(ledger.get(a.id).rows))}) > 1
        untold = a.column in names and evidence.value(a.column, b.row) is None
        if untold and (a.column == "rank" or (several and a.column == "node" and "line_no" in names)):
            return a, b
        if several and a.column == "node" and "line_no" in names and "node" not in names:
            return a, b
        has = b.column in {c.name for c in ledger.get(a.id).columns}
        if several and has and a.column not in names and held(ledger, a, b.column) != b.value:
            return a, b
    return None


def of_two(a: CellValue, b: CellValue, ledger: Ledger) -> bool:
    """Whether two cells of a column are of two ranks, GPUs or nodes: one of them did not become the other."""
    several = a.id == b.id and a.row != b.row and a.column == b.column
    return several and any(
        held(ledger, a, c.name) != held(ledger, b, c.name) for c in ledger.get(a.id).columns if c.name in _EACH_ONE
    )


def _in_one_row(a: CellValue, b: CellValue, ledger: Ledger) -> bool:
    for evidence in ledger.all():
        for row in range(len(evidence.rows)):
            of = {c.name: evidence.value(c.name, row) for c in evidence.columns}
            of = {"job_id": evidence.params.get("job_id"), **of}
            if _has(of, a) and _has(of, b):
                return True
    return False


def _has(row: dict[str, Cell], cell: CellValue) -> bool:
    """Whether a row speaks of a subject: in its own column, or in a list of such."""
    own = row.get(cell.column)
    if own is not None and str(own) == str(cell.value):
        return True
    lists = (row.get(f"{cell.column}s"), row.get(f"all_{cell.column}s"), row.get(f"{cell.column}_list"))
    return any(
        isinstance(v, str) and ("[" in v or str(cell.value) in re.split(r"[,\s]+", v)) for v in lists if v is not None
    )


def _holds(own: str, between: str, first: Group, second: Group, ledger: Ledger) -> bool:
    """Whether the rows bear out the two relations that have words of their own: behind another, and from one to the next."""
    a, b = first.cells[-1], second.cells[0]
    if _BEHIND.search(between):
        x, y = size(held(ledger, a, "behind")), size(held(ledger, b, "behind"))
        return isinstance(x, float) and isinstance(y, float) and x > y
    return bool(_FROM_TO.fullmatch(between) and _FROM.search(own[: first.start])) and order(a, b, ledger) == -1


def uncounted(clause: Clause, ledger: Ledger) -> str:
    """Why a zero is no count: of what its row tells that it came, and not of which rank or host; "" where each count is one.

    `0 ranks raised KeyError` of an exception that came, where the log does not say whose lines they are.
    """
    for cell in (c for g in clause.groups for c in g.cells):
        if cell.column not in _HOW_MANY or cell.value != 0 or isinstance(cell.value, bool):
            continue
        events = size(held(ledger, cell, "events"))
        if isinstance(events, float) and events > 0:
            return f"[[{cell.ref}]] is a zero because no {cell.column[:-1]} is told: say that it is not known, or leave it out"
    return ""


def miscast(clause: Clause) -> str:
    """Why a cell cannot have done, or suffered, what a clause says of it; "" where each can."""
    own = clause.own
    for group in clause.groups:
        cell, ahead, behind = group.cells[0], own[: group.start], own[group.end :]
        doer = _DOER.search(cell.column)
        if doer and (_TO.search(ahead) or _GETS.match(behind)):
            return (
                f"[[{cell.ref}]] is who did it ({cell.column}), and the sentence makes it the receiver: turn it round"
            )
        if cell.column in _PLACES and (found := _RAISED.search(ahead)):
            return f"[[{cell.ref}]] is {cell.column}: {found[0].strip()!r} takes who did it, so say where it was"
        named = cell.column in SUBJECTS or cell.column in ("host", "node_list")
        if cell.column == "user" and (did := _USER_DID.match(behind)) and did["v"].lower() not in _OF_OWNER:
            return f"[[{cell.ref}]] is user, and no row says that they {did['v'].lower()} anything: cite the cell that says who did it"
        if named and not doer and (_BY.search(ahead) or _DOES.match(behind) or _ACTS.match(behind)):
            return f"[[{cell.ref}]] is {cell.column}, which does not say who did it: cite the cell that does, or say what was seen"
    return ""
