"""Is a cell called what it is? `16 nodes` of a column that counts GPUs is false, however true the sixteen.

`mislabelled` in `grounds` knows names of columns that were shown; here are the things that a cluster consists of.
"""

from __future__ import annotations

import re

from agent_tools.evidence import CellValue, Ledger
from agent_tools.references import BadReference, marks, masked, resolve

_THINGS: dict[str, str] = {
    r"ranks?": r"rank",
    r"nodes?|hosts?|machines?|servers?": r"node|host|machine|server|where|machine",
    r"gpus?|cards?": r"gpu|device|uuid|card|minor|bus",
    r"users?": r"user|owner|sender|who|_by$|account",
    r"jobs?": r"job|run|name|state",
    r"steps?": r"step|iteration|batch",
    r"epochs?": r"epoch",
    r"attempts?": r"attempt|restart|requeue|tries|run",
    r"loss": r"loss",
    r"partition": r"partition|queue",
    r"xids?": r"xid|code",
    r"temperatures?": r"temp|celsius|degree",
    r"power": r"power|watt|_w$",
    r"learning rate": r"lr|learning",
    r"exit (?:status|code)|exited with|exit": r"exit|code|status|return",
    r"signal": r"signal|sig",
}
"""What a noun beside a cell says it is, and what its column's name or description then has."""

_GENERIC = re.compile(
    r"^(?:value|name|what|text|message|key|n|num|number|count|cnt|total|detail|label|title|kind|word|item|result|answer)s?$"
)
_AHEAD = re.compile(
    rf"(?i)\b({'|'.join(_THINGS)})(?: (?:number|id|name))?(?: (?:is|was|were|called|named|at|with))?(?: ?[=:#])? ?$"
)
_BEHIND = re.compile(r"(?i) (ranks?|nodes|hosts|machines|gpus|cards|users|jobs|steps|epochs|attempts|times)\b")
_BEGAN = re.compile(r"(?i)\b(?:start\w*|began|begun|begin\w*|submitted|launched)(?: (?:at|on))? ?:? ?$")
_ENDED = re.compile(r"(?i)\b(?:end|ended|ends|ending|finished|stopped|died|over)(?: (?:at|on))? ?:? ?$")
_OF_BEGIN, _OF_END = (
    re.compile(r"start|begin|began|submit|eligible"),
    re.compile(r"(?:^|_)(?:end|ended|finish\w*|stop\w*)(?:_|$)"),
)
_COUNTED = re.compile(r"gpu|node|rank|user|step|epoch|line|rank")


def mislabelled(text: str, ledger: Ledger) -> str:
    """Why a cell is not what the words beside it call it; "" where each is."""
    own = masked(text)
    for mark in marks(text):
        try:
            cell = resolve(mark.ref, ledger)
        except BadReference:
            continue
        if _GENERIC.match(cell.column):
            continue
        ahead, behind = own[: mark.start], own[mark.end :]
        if wrong := _named(cell, ahead, behind) or _timed(cell, ahead):
            about = f" ({cell.doc})" if cell.doc else ""
            return f"[[{mark.ref}]] is {cell.column}{about}, and the words beside it say {wrong!r}: cite the cell of that, or name this one"
    return ""


def _named(cell: CellValue, ahead: str, behind: str) -> str:
    said = f"{cell.column} {cell.doc}".lower()
    if (found := _AHEAD.search(ahead)) and not _is(found[1], said):
        return found[1]
    number = isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool)
    if number and (found := _BEHIND.match(behind)):
        if found[1].lower() == "times":
            return found[1] if _COUNTED.search(cell.column) and not re.search(r"(?i)count|n_|times", said) else ""
        return "" if _is(found[1], said) else found[1]
    return ""


def _is(noun: str, said: str) -> bool:
    return any(re.fullmatch(name, noun.lower()) and re.search(columns, said) for name, columns in _THINGS.items())


def _timed(cell: CellValue, ahead: str) -> str:
    """A beginning that is called an end, or the other way round."""
    if not (isinstance(cell.value, str) and re.match(r"\d{4}-\d\d-\d\d[T ]", cell.value)):
        return ""
    name = cell.column.lower()
    for word, wrong, right in ((_BEGAN, _OF_END, _OF_BEGIN), (_ENDED, _OF_BEGIN, _OF_END)):
        if (found := word.search(ahead)) and wrong.search(name) and not right.search(name):
            return found[0].strip()
    return ""
