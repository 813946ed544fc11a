"""Is the largest the largest? A superlative is held against every row of the column, and of one of several it is said of one.

The hottest GPU was [[E8:3.gpu_uuid]] at [[E8:3.temp_max_c]].      the row with the highest of its column, and no other
Rank [[E6:2.rank]] was the first to end.                           the row that comes first in time
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.agreement import OF_ORDER, direction
from agent_tools.gate.bounds import AT_BOUND
from agent_tools.gate.clauses import SUBJECTS, Clause, Group, clauses, held, size
from agent_tools.gate.order import at_end
from agent_tools.gate.words import stem
from agent_tools.references import HOLE, masked
from store import lazy

_MOST = lazy.compile(
    r"(?i)\b(?:(?P<more>most|highest|largest|biggest|greatest|longest|latest|hottest|furthest|maximum|last|newest|final|most recent)"
    r"|(?P<less>least|lowest|smallest|fewest|shortest|earliest|coldest|coolest|minimum|first|oldest)|(?P<slow>slowest|worst)|(?P<fast>fastest|quickest|best))\b"
)
_MOST_OF = lazy.compile(r"(?i)(?<!the )most of (?:the|its|their|all|them|these|those)\b")
_AS_KIND = lazy.compile(r"(?i) (?:(?:one )?(?:in|at|on|by)|(?P<n>[a-z]+))\b")
_LAST = lazy.compile(r"(?i)latest|last|earliest|first|newest|final|most recent|oldest")
"""Words of order in time: the last of a curve is not its largest."""
_SAYS = {
    **dict.fromkeys(
        ("minimum", "lowest", "smallest"), ("minimum", "min", "lowest", "smallest", "least", "best", "shortest")
    ),
    "final": ("final", "last"),
    **dict.fromkeys(
        ("maximum", "highest", "largest"), ("maximum", "max", "highest", "largest", "most", "peak", "longest")
    ),
}
"""How a column says a word that stands for its figure."""
_APART = lazy.compile(r"(?i)[,;:]|\b(?:and|but|while|whereas)\b")
_HAS_THE = lazy.compile(rf"(?i)[^{HOLE}]{{0,24}}\bthe (?:one with the )?")
_IS_THE = lazy.compile(r"(?i)[^,;]{0,12}\b(?:is|was|were|are) (?:also |again )?the ")
_CAME = lazy.compile(r"(?i)(?: [a-z]+){1,3} $")
_EVENT_AT = lazy.compile(
    rf"(?i) (?:exception|error|traceback|checkpoint|save|xid|event|message|failure|warning)\b[^{HOLE},;]{{0,24}} $"
)
"""Behind `the first`: one of the rows, and where or when it came."""
_LAST_WORD = lazy.compile(r"(?i)\W*(?:$|\b(?:of|among|at|on|in|by|with)\b)")
_WAS_ONE = lazy.compile(rf"(?i)[^{HOLE},;]*\b(?:is|was|were|are)[^{HOLE},;]{{0,12}}")


def extremes(text: str, ledger: Ledger) -> str:
    """A word like "slowest" or "most" that no cited figure of the clause bears out in its column; "" where each is."""
    found = clauses(text, ledger)
    for clause in found:
        bounds = {m.end() for m in AT_BOUND.finditer(clause.own)}
        words = list(_MOST.finditer(clause.own))
        for i, word in enumerate(words):
            if any(word.end() <= end <= word.end() + 2 for end in bounds) or _MOST_OF.match(clause.own, word.start()):
                continue  # "at most *": whether it is one `bounds` says; "most of its time" is a share
            cells = (
                _of_two(word, clause) or _of_several(words, i, clause) or [c for g in clause.groups for c in g.cells]
            )
            if not any(_extreme(word, c, clause, ledger) for c in cells) and (
                _of_one(word, clause, ledger) or not _named_so(word, clause) or _of_attempt(word, clause, ledger)
            ):
                return word[0]
    told = [(c.at, c.at + len(c.text)) for c in found]
    beside = (m for m in _MOST.finditer(masked(text)) if not any(a <= m.start() < b for a, b in told))
    return next((m[0] for m in beside), "")  # a clause that cites nothing bears out none


def _of_two(word: re.Match[str], clause: Clause) -> list[CellValue]:
    """Which of two texts of one column `first` or `last` is said of: the one right ahead of it (`* was raised first, * after it`)."""
    ahead = [g for g in clause.groups if g.end <= word.start()][-1:]
    if not ahead or not _LAST.fullmatch(word[0]) or not isinstance(ahead[0].cells[0].value, str):
        return []
    others = [g for g in clause.groups if g is not ahead[0] and g.column == ahead[0].column]
    near = re.fullmatch(rf"[^,;:{HOLE}]{{0,24}}", clause.own[ahead[0].end : word.start()])
    return ahead[0].cells if others and near and not re.match(r"(?i) [a-z]", clause.own[word.end() :]) else []


def _of_several(words: Sequence[re.Match[str]], i: int, clause: Clause) -> list[CellValue]:
    """Where a clause has several such words: the figures behind this one, up to the next, else those ahead of it, from the last on."""
    if len(words) == 1:
        return []
    begin = words[i - 1].end() if i else 0
    end = words[i + 1].start() if i + 1 < len(words) else len(clause.own)
    behind = [g for g in clause.groups if words[i].end() <= g.start < end and not g.subject]
    ahead = [g for g in clause.groups if begin <= g.start and g.end <= words[i].start()]
    figures = [g for g in behind if any(size(c.value) is not None for c in g.cells)]
    return [c for g in figures or ahead for c in g.cells]


def _of_attempt(word: re.Match[str], clause: Clause, ledger: Ledger) -> bool:
    """Whether it says which of several attempts, and nothing that is cited beside it is of attempts: `the loss of the first attempt`."""
    if not re.match(r"(?i) (?:attempt|try)\b", clause.own[word.end() :]):
        return False
    names = {c.name for g in clause.groups for cell in g.cells for c in ledger.get(cell.id).columns}
    return not any("attempt" in n for n in names)


def _of_one(word: re.Match[str], clause: Clause, ledger: Ledger) -> bool:
    """Whether the superlative is said of one of several: `GPU A had the highest temperature`, not `the highest of GPU A`."""
    own, in_order = clause.own, _LAST.fullmatch(word[0])
    ahead = [g for g in clause.groups if g.subject and g.end <= word.start()][-1:]
    behind = [g for g in clause.groups if g.start >= word.end()][:1]
    said = [g for g in ahead if (_IS_THE if in_order else _HAS_THE).fullmatch(own[g.end : word.start()])]
    said += [
        g for g in ahead if in_order and _CAME.match(own[g.end : word.start()]) and _LAST_WORD.match(own, word.end())
    ]
    said += [g for g in behind if in_order and g.subject and _WAS_ONE.fullmatch(own[word.end() : g.start])]
    placed = [g for g in clause.groups if g.end <= word.start()][-1:]
    said += [  # "the exception at line * was the first"
        g
        for g in placed
        if in_order
        and _of_place(g)
        and _IS_THE.fullmatch(own[g.end : word.start()])
        and _LAST_WORD.match(own, word.end())
    ]
    said += [g for g in behind if in_order and _of_place(g) and _EVENT_AT.fullmatch(own[word.end() : g.start])]
    return any(len(ledger.get(g.cells[0].id).rows) > 1 for g in said)


def _of_place(group: Group) -> bool:
    """Whether it says where or when something of several stands or came."""
    return bool(OF_ORDER.search(group.column)) or isinstance(size(group.cells[0].value), str)


def _named_so(word: re.Match[str], clause: Clause) -> bool:
    """Whether the cell beside the word says so itself: `last_step`, `first_ts`, "largest gap" in its description."""
    said = _SAYS.get(word[0].lower(), (word[0].lower(),))
    return any(
        not {*said}.isdisjoint(re.split(r"[\s_,;:]+", f"{c.column} {c.doc}".lower()))
        for g in _beside(word, clause)
        for c in g.cells
    )


def _beside(word: re.Match[str], clause: Clause) -> list[Group]:
    """The nearest figures before and behind a word, those first that no other phrase divides from it."""
    groups = [g for g in clause.groups if not g.subject] or clause.groups
    ahead = [g for g in groups if g.end <= word.start()][-1:]
    behind = [g for g in groups if g.start >= word.end()][:1]
    near = [g for g in ahead if not _APART.search(clause.own[g.end : word.start()])]
    near += [g for g in behind if not _APART.search(clause.own[word.end() : g.start])]
    return near or [*ahead, *behind]


def _extreme(word: re.Match[str], cell: CellValue, clause: Clause, ledger: Ledger) -> bool:
    evidence = ledger.get(cell.id)
    if word[0].lower() == "first" and (named := _root_cause(cell, ledger)) is not None:
        return named
    if _LAST.fullmatch(word[0]) and not (OF_ORDER.search(cell.column) or isinstance(size(cell.value), str)):
        return at_end(cell, ledger, last=bool(word["more"]))
    values = [
        s for r in _of_kind(word, cell, clause, ledger) if (s := size(evidence.value(cell.column, r))) is not None
    ]
    own = size(cell.value)
    if (
        cell.column in SUBJECTS
        or evidence.truncated
        or len(values) < 2
        or own is None
        or len({type(v) for v in values}) > 1
    ):
        return False
    ranked = sorted(values)  # type: ignore[type-var]
    named = sum(len(g.cells) for g in clause.groups if g.subject and g.cells[0].id == cell.id)
    if named and ranked.count(own) > named:
        return False  # others are level with it
    return own == (ranked[-1] if direction(word, cell) > 0 else ranked[0])


def _of_kind(word: re.Match[str], cell: CellValue, clause: Clause, ledger: Ledger) -> list[int]:
    """The rows among which one is told to be the last: those of its kind, where the kind is named (`the last checkpoint in line *`)."""
    evidence, own = ledger.get(cell.id), held(ledger, cell, "kind")
    rows = list(range(len(evidence.rows)))
    behind = _AS_KIND.match(clause.own, word.end())
    if not _LAST.fullmatch(word[0]) or not isinstance(own, str) or behind is None:
        return rows
    said = [behind["n"]] if behind["n"] else re.findall(r"[a-z]+", clause.own[: word.start()].lower())
    return [r for r in rows if evidence.value("kind", r) == own] if stem(own) in {stem(w) for w in said} else rows


def _root_cause(cell: CellValue, ledger: Ledger) -> bool | None:
    """Whether the launcher's summary has a row as the first failure that it observed; None where the row is none of a summary."""
    detail = held(ledger, cell, "detail")
    if held(ledger, cell, "kind") != "launcher_summary" or not isinstance(detail, str) or "root_cause" not in detail:
        return None
    return re.search(r'"root_cause": ?true', detail) is not None
