"""Is a cell told as what it holds? Its yes or no, its kind of average, its side of a moment, and of how many rows it is so.

Rank [[E3:1.rank]] never entered the collective ([[E3:1.never_entered]]).     the cell says no
The median run took [[E6.mean_s]].                                           a mean is no median
It came [[E4.before_end_s]] after the exception.                             a span up to the job's end
All [[E3.comm_size]] ranks completed [[E3.last_seq]] collectives.            one row's figure, and the others differ
[[E2.value]] had an attempt preempted ([[E2.sent_back]]).                    preempted or requeued: which, no cell says
"""

from __future__ import annotations

import re
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, Group, held
from agent_tools.gate.courses import turned
from agent_tools.gate.order import at_end
from agent_tools.gate.scope import held_by_job
from agent_tools.gate.words import stem, stems
from agent_tools.references import HOLE
from store import lazy

_PIECE = lazy.compile(r"(?i)[,;:]\s|\b(?:and|but|while|whereas|then)\b")
_NEGATIVE = lazy.compile(r"(?i)\b(?:no|not|never|none|neither|nor|without|nobody)\b|n['’]t\b")
_WORD = lazy.compile(r"[a-z]+")
_FORMS = frozenset({"is", "was", "had", "has", "of", "in", "the", "at"})
_AVERAGES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (lazy.compile(r"(?i)\b(?:median|half of the \w+ took)\b"), lazy.compile(r"median|p50|middle")),
    (lazy.compile(r"(?i)\b(?:mean|average[sd]?|averaging|typical(?:ly)?)\b"), lazy.compile(r"mean|avg|average|median")),
    (lazy.compile(r"(?i)\b(?:in total|altogether|in all|the sum|combined)\b"), lazy.compile(r"total|sum|_all|all_")),
)
"""Words for a kind of average, and what the name or the description of such a column has."""
_STATISTIC = lazy.compile(
    r"(?:^|_)(?:mean|avg|average|median|p50|p9\d|max|min|highest|lowest|longest|shortest|peak|sum|total)(?:_|$)"
)
_AFTER = lazy.compile(r"(?i)\s*(after|later than|since|past)\b(?! all\b)")
_BEFORE = lazy.compile(r"(?i)\s*(?:before|earlier than|ahead of|until|short of)\b(?P<what>[^,;.]*)")
_ENDED_SO_LONG = lazy.compile(
    r"(?i)\b(?:job|run|training) (?:had )?(?:ended|stopped|finished|failed|died) (?:only |about )?$"
)
_THE_EVENT = lazy.compile(
    r"(?i) after (?:the|that|this) (?P<n>xid|error|rise|oom kill|kill|signal|failure)\b(?=\W*$|[,;.])"
)
"""`the job ended * after the XID`: the same span, told from its other side."""
_OF_END = lazy.compile(
    r"(?i)\b(?:end\w*|over|stop\w*|fail\w*|kill\w*|died|death|finish\w*|crash\w*|exit\w*|cancel\w*|complet\w*|terminat\w*|limit|time-?out|gone|then|it|that|this|preempt\w*)\b|^\W*$"
)
"""What a job's end is called."""
_EVERY = lazy.compile(
    rf"(?i)\b(?P<w>all|every|each|both|(?<!of )(?<!than )(?<!to )(?<!as )(?<!with )(?<!against )the (?:average|typical|median))(?: of)?(?: the| its| these)?(?: [{HOLE}]+)? (?P<noun>ranks?|nodes?|gpus?|cards?|hosts?|machines?|attempts?|jobs?|users?|process(?:es)?)\b(?! (?:but|except|together|combined|in all)\b|['’]s)"
)
_THEY = lazy.compile(
    r"(?i)\W*(?:the (?P<noun>ranks|nodes|gpus|cards|hosts|machines|processes) (?:were|was|had|sat|stayed|ran|held|used|spent|peaked|averaged|drew|each)"
    r"|(?:the |this )?(?:job|run|training|it) (?:was|had been) (?:ended|killed|stopped|terminated))\b"
)
"""All of them, as the subject of a sentence; what ended the job ended each of its processes."""
_ROWS_OF = {
    "rank": ("rank", "gpu"),
    "process": ("rank", "pid"),
    "node": ("node",),
    "host": ("node",),
    "machine": ("node",),
    "gpu": ("gpu", "gpu_uuid"),
    "card": ("gpu", "gpu_uuid"),
    "attempt": ("attempt",),
    "job": ("job_id",),
    "user": ("user",),
}
_SOFT = lazy.compile(
    r"(?i)\b(?:up to|at most|at least|or (?:more|less|fewer)|between|most|least|highest|lowest|hottest|longest|first|last|total|more than|less than|no more|within|(?<!ended )(?<!killed )(?<!stopped )by|from)\b"
)
"""Words by which one row's figure may be said of all: a bound, an extreme, a moment up to which it went."""
_EITHER = lazy.compile(r"^(?:attempts|jobs|runs|processes|ranks) that (.* or .*)$")
_LINK = frozenset(stem(w) for w in ("were", "was", "are", "is", "their", "its", "a", "the", "of", "to"))
_WHICH = lazy.compile(r"^(best|highest|lowest|min|max)_(\w+)$")
_AT_EDGE = lazy.compile(
    r"(?i)^\W*(?:came|was|is|stood|fell|lay|occurred|was reached|was seen)(?: only| just| right)? (?:at|in|on|with) (?:the|its) (?:very )?(?P<e>end|last|final|start|beginning|first)\b"
)
_COMES = lazy.compile(
    rf"(?i)\b(?P<n>exception|traceback|xid|kill|signal|checkpoint|save|report|step|preemption|requeue|cancellation)\b[^{HOLE},;:]*\b(?:came|was|happened|occurred|fell|hit|struck|is|lay)\b[^{HOLE},;:]*$"
)
"""What is said to have come some time before an end."""
_STATIONS = ("step", "epoch", "checkpoint_ts", "risen_ts")
"""Columns that say where, or when, each of several came."""
_SEVERAL = 2
_FROM_ONE = lazy.compile(r"(?i)\b(?:began|begins?|started|starts|starting|beginning|onwards? from)\b[^,;:]{0,24}$")
_TO_ONE = lazy.compile(r"(?i)\b(?:ended|ends|stopped|stops|ceased|finished|went on)\b[^,;:]{0,24}$")
_COUNTERS = ("counter", "metric")
_VALUES = ("value", "first_value", "last_value", "rise")
"""Columns of rows that each are of a counter, whose name says what the value is of."""
_STARTED = lazy.compile(
    rf"(?i)\b(?:loss|rate|norm|reward|accuracy)\b[^{HOLE},;:]*\b(?:(?P<b>started|began|starts|begins)|ended|finished|ends|finishes)(?: out| up| off)? (?:at|from|with|on) $"
)
_END_OF = lazy.compile(r"^(?P<e>first|start|last|end)_(?P<what>\w+)$")
_OF_FLEET = lazy.compile(
    r"(?i)\b(?:in total|together|between them|combined|altogether|(?:on|in|across) the (?:whole |entire )?(?:cluster|fleet)|(?:cluster|fleet)-wide)\b"
)
"""Words by which a figure is told of all that there is."""


def mistold(clause: Clause, ledger: Ledger) -> str:
    """Why a cell of a clause is not what the clause tells it as, in words that say what to do; "" where each is."""
    for piece, groups in _pieces(clause):
        for group in groups:
            for cell in group.cells:
                wrong = (
                    _flag(piece, cell, groups)
                    or _averaged(piece, cell, groups)
                    or _side(clause.own[: group.start], clause.own[group.end :], cell, ledger)
                    or _of_else(clause.own[: group.start], cell, ledger)
                    or _either(piece, cell)
                    or _edge(clause.own[group.end :], cell, ledger)
                    or _among(clause.own[: group.start], cell, ledger)
                )
                if wrong:
                    about = f" ({cell.doc})" if cell.doc else ""
                    return f"[[{cell.ref}]] is {cell.column}{about}, and the words beside it say {wrong!r}: say what it holds, or cite the cell of that"
    return turned(clause) or _of_counter(clause, ledger) or _of_every(clause, ledger) or _of_fleet(clause, ledger)


def _pieces(clause: Clause) -> list[tuple[str, list[Group]]]:
    own = clause.own
    cuts = [0, *(m.start() for m in _PIECE.finditer(own) if HOLE in own[: m.start()]), len(own)]
    return [(own[a:b], [g for g in clause.groups if a <= g.start < b]) for a, b in pairwise(cuts)]


def _flag(piece: str, cell: CellValue, groups: list[Group]) -> str:
    """What a piece affirms (or denies) in the words of a yes-or-no column that says the contrary."""
    if not isinstance(cell.value, bool) or re.search(r"(?i)\bwhether\b|\bif\b", piece):
        return ""
    parts = [p for p in _WORD.findall(cell.column) if p not in _FORMS]
    named = [p for p in parts if not _NEGATIVE.fullmatch(p)]
    if not named or not {stem(p) for p in named} <= stems(piece):
        return ""
    if sum(isinstance(c.value, bool) for g in groups for c in g.cells) > 1:
        return ""
    denied = bool(_NEGATIVE.search(piece)) != (len(named) < len(parts))
    if denied == cell.value:
        return " ".join(piece.replace(HOLE, " ").split()).strip(" ,;:()")[:60]
    return ""


def _averaged(piece: str, cell: CellValue, groups: list[Group]) -> str:
    """A mean that is told as a median, a maximum as an average, and the like."""
    for word, names in _AVERAGES:
        found = word.search(piece)
        about = [f"{c.column} {c.doc}".lower() for g in groups for c in g.cells]
        if found and _STATISTIC.search(cell.column) and not any(names.search(a) for a in about):
            return found[0]
    return ""


def _side(ahead: str, behind: str, cell: CellValue, ledger: Ledger) -> str:
    """A span up to the job's end that is told as one after something, or up to something else; and one since it, the other way round."""
    if re.match(r"after_end(?:_|$)", cell.column):
        after = _AFTER.match(behind)
        of_end = after and _OF_END.search(behind[after.end() :].partition(",")[0])
        return (
            ""
            if of_end
            else (after or _BEFORE.match(behind) or re.match(r"\W*(?:\w+ ?){0,3}", behind) or [""])[0].strip() or "it"
        )
    if not re.match(r"before_end(?:_|$)", cell.column) or unit_of(cell) not in ("s", "min", "h"):
        return ""
    if isinstance(cell.value, (int, float)) and cell.value < 0:
        return ""
    if found := _AFTER.match(behind):
        event = _THE_EVENT.match(behind) if _ENDED_SO_LONG.search(ahead) else None
        return "" if event and stem(event["n"].lower().split()[-1]) in _about(cell, ledger) else found[0].strip()
    found = _BEFORE.match(behind)
    return found[0].strip() if found and HOLE not in found["what"] and not _OF_END.search(found["what"]) else ""


def _either(piece: str, cell: CellValue) -> str:
    """One of two things that a column counts together, told as what was counted."""
    found = _EITHER.search(cell.doc.lower())
    if found is None or isinstance(cell.value, bool) or not isinstance(cell.value, (int, float)) or not cell.value:
        return ""
    said, own = stems(piece), stems(cell.column.replace("_", " "))
    ways = [w for w in re.split(r",\s*|\s+or\s+", found[1]) if w]
    told = [w for w in ways if (stems(w) - _LINK) and stems(w) - _LINK <= said]
    return told[0] if len(told) == 1 and not own & (stems(told[0]) | said) else ""


def _edge(behind: str, cell: CellValue, ledger: Ledger) -> str:
    """An extreme that is put to an end of the run where it did not come, or where no cell says that it did."""
    which, found = _WHICH.match(cell.column), _AT_EDGE.match(behind)
    if which is None or found is None:
        return ""
    end = "first" if found["e"].lower() in ("start", "beginning", "first") else "last"
    level = held(ledger, cell, f"{end}_{which[2]}") == cell.value
    place = held(ledger, cell, f"{which[1]}_step")
    if level if place is None else place == held(ledger, cell, f"{end}_step"):
        return ""
    return found[0].strip()


def _among(ahead: str, cell: CellValue, ledger: Ledger) -> str:
    """One of several that a beginning or an end is put to which another of them has: `Saving began at step *` of the second."""
    if cell.column not in _STATIONS or len(ledger.get(cell.id).rows) < _SEVERAL:
        return ""
    for edge, last in ((_FROM_ONE, False), (_TO_ONE, True)):
        if (found := edge.search(ahead.rpartition(HOLE)[2])) and not at_end(cell, ledger, last=last):
            return found[0].strip()
    return ""


def _of_else(ahead: str, cell: CellValue, ledger: Ledger) -> str:
    """The span of one thing told as that of another; and a loss of one end that is told as that of the other."""
    if (found := _STARTED.search(ahead)) and (which := _END_OF.match(cell.column)):
        wrong = which["e"] in ("last", "end") if found["b"] else which["e"] in ("first", "start")
        other = f"{'first' if found['b'] else 'last'}_{which['what']}"
        return found[0].strip() if wrong and held(ledger, cell, other) != cell.value else ""
    found = _COMES.search(ahead) if re.match(r"before_end(?:_|$)", cell.column) else None
    if found is None:
        return ""
    return "" if stem(found["n"].lower()) in _about(cell, ledger) else found["n"]


def _about(cell: CellValue, ledger: Ledger) -> frozenset[str]:
    """The stems of what the row of a cell is about: its question, its columns and its texts."""
    evidence = ledger.get(cell.id)
    texts = [str(v) for c in evidence.columns if isinstance(v := evidence.value(c.name, cell.row), str)]
    about = " ".join([evidence.query, *(f"{c.name} {c.doc}" for c in evidence.columns), *texts]).replace("_", " ")
    return stems(about)


def _of_counter(clause: Clause, ledger: Ledger) -> str:
    """A value of a counter's row, where the clause does not say which counter it is of."""
    cells = [c for g in clause.groups for c in g.cells]
    for cell in cells:
        evidence = ledger.get(cell.id)
        column = next((n for n in _COUNTERS if n in {c.name for c in evidence.columns}), "")
        if cell.column not in _VALUES or not column or re.match(r"(?i)it\b", clause.own):
            continue
        if any((c.id, c.row, c.column) == (cell.id, cell.row, column) for c in cells):
            continue
        names = [stems(str(evidence.value(column, r)).replace("_", " ")) for r in range(len(evidence.rows))]
        shared = [n for n in names if n != names[cell.row]]
        if shared and not (names[cell.row] - frozenset[str]().union(*shared)) & stems(clause.own):
            return f"[[{cell.ref}]] is a value of [[{cell.id}:{cell.row}.{column}]]: name the counter, or cite its own value"
    return ""


def _of_fleet(clause: Clause, ledger: Ledger) -> str:
    """A figure of one row of several that is told of all there is."""
    found = _OF_FLEET.search(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    for cell in cells if found else ():
        rows = ledger.get(cell.id).rows
        if isinstance(cell.value, str) or cell.column in SUBJECTS or len(rows) < 2:
            continue
        named = any((c.id, c.row) == (cell.id, cell.row) and isinstance(c.value, str) for c in cells)
        alike = len({ledger.get(cell.id).value(cell.column, r) for r in range(len(rows))}) == 1
        if not named and not (alike and found and "cluster" in found[0].lower()):
            return f"{found[0] if found else ''!r}: [[{cell.ref}]] is of one row of several: name whose it is"
    return ""


def _of_every(clause: Clause, ledger: Ledger) -> str:
    """A figure of one row that is told of all, where another row has another."""
    for piece, groups in _pieces(clause):
        found = _EVERY.search(piece) or _THEY.match(piece)
        if found is None or _SOFT.search(piece) or re.search(r"(?i)\bothers?\b|\bnot\b", piece):
            continue
        noun = (found["noun"] or "process").lower()
        noun = "process" if noun.startswith("process") else noun.removesuffix("s")
        for cell in (c for g in groups for c in g.cells if c.column not in SUBJECTS):
            evidence = ledger.get(cell.id)
            names = {c.name for c in evidence.columns}
            if not names & set(_ROWS_OF[noun]) or any(
                c.id == cell.id and c.row == cell.row and c.column in SUBJECTS and c.column not in _ROWS_OF[noun]
                for g in clause.groups
                for c in g.cells
            ):
                continue
            values = {evidence.value(cell.column, r) for r in range(len(evidence.rows))} - {None}
            told = {c.value for g in clause.groups for c in g.cells if (c.id, c.column) == (cell.id, cell.column)}
            if len(values) > 1 and not values <= told:
                return f"{found[0]!r}: [[{cell.ref}]] is of one row, and others have another: say it of its own row"
            column = {"gpu": "gpus", "card": "gpus", "node": "node_count", "host": "node_count"}.get(noun, "")
            of_job = held_by_job(evidence, ledger, column) if column else None
            which = [n for n in ("node", *_ROWS_OF[noun]) if n in names]
            rows = {tuple(evidence.value(n, r) for n in which) for r in range(len(evidence.rows))}
            if (
                isinstance(of_job, int)
                and len(rows) < of_job
                and not re.match(r"(?i) (?:that|which|with|in|of)\b", piece[found.end() :])
            ):
                return f"{found[0]!r}: the answer of [[{cell.ref}]] has {len(rows)} of them, and the job has more"
    return ""
