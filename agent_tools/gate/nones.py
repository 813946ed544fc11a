"""What there was none of, what is over, and what has not begun: told in other words than the column's own.

None of the [[E5.points]] losses was NaN ([[E5.bad_points]]).                     a zero of the row that has so many
No node is down any more ([[E6.nodes_still]]).                                 none still is
The job has run for [[E7.elapsed_s]]: it never started.                          it waits, and has run for no time
The ranks gave up connecting: [[E8.message]].                                   the message says that the connection failed
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, held
from agent_tools.gate.vocabulary import COLUMN_WORDS, NEUTRAL
from agent_tools.gate.words import spoken_of, stems
from agent_tools.references import HOLE
from store import lazy

_NONE_OF = lazy.compile(
    rf"(?i)^\W*(?P<w>none) of (?:(?:the|its|all|these) )?(?P<n>{HOLE}+) (?P<what>[a-z -]+?)(?P<yet> yet)?\W*(?=[:(]|$)"
)
_STILL_NONE = lazy.compile(
    rf"(?i)^\W*(?P<w>no node is (?:still )?(?:down|drained|in trouble|out of service)(?: any ?more| any longer| now)?)\W*\(?{HOLE}+\W*$"
)
_NEVER_BEGUN = lazy.compile(r"(?i)\b(?:it|the job) (?P<w>never (?:even )?(?:started|ran|began))(?=\W*$|[,;.])")
_NO_NODE_YET = lazy.compile(
    r"(?i)^\W*(?P<w>no nodes? (?:has|have) been (?:allocated|given)(?: to (?:it|the job))?(?: yet| so far)?)\b|\bhas (?:so far )?been (?P<v>given none)\b"
)
_GAVE_UP = lazy.compile(
    r"(?i)\b(?:rank|ranks|worker|workers|job|run|program|it|they) (?:[a-z]+ )?(?P<w>gave up (?:connecting|waiting|(?:trying|waiting) to connect))\b"
)
_NO_CONNECTION = lazy.compile(
    r"(?i)rendezvous(?:connection|timeout|closed)?error|distnetworkerror|diststoreerror|(?:connection|connect)\b[^.]{0,60}\b(?:failed|refused|timed out|unreachable)"
    r"|failed to connect|could not connect|cannot be retrieved|timed? ?out (?:after|waiting)"
)
_NOT_SO = lazy.compile(r"(?i)\bnot [a-z]+")
"""What a description denies is what the zero says of all: `reports whose loss is not finite`."""
_NAN = "nan nans inf infinite"
_TEXTS = ("message", "name", "exception", "event", "text")
_NOT = lazy.compile(r"(?i)\b(?:not|never|nor|neither|nobody|nothing)\b|n['’]t\b")


def none_told(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out."""
    cells = [c for g in clause.groups for c in g.cells]
    yield from _none_of(clause, cells, ledger)
    if (m := _STILL_NONE.match(clause.own)) and [(c.column, c.value) for c in cells] == [("nodes_still", 0)]:
        yield m.span("w")
    waits = {held(ledger, c, "state") for c in cells} == {"PENDING"}
    if waits and all(not held(ledger, c, "start_ts") and not held(ledger, c, "elapsed_s") for c in cells):
        yield from (m.span("w") for m in _NEVER_BEGUN.finditer(clause.own))
        if all(held(ledger, c, "node_list") is None for c in cells):
            yield from (m.span("w" if m["w"] else "v") for m in _NO_NODE_YET.finditer(clause.own))
    if any(isinstance(v := held(ledger, c, t), str) and _NO_CONNECTION.search(v) for c in cells for t in _TEXTS):
        yield from () if _NOT.search(clause.own) else (m.span("w") for m in _GAVE_UP.finditer(clause.own))


def _none_of(clause: Clause, cells: Sequence[CellValue], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`none of the * losses was NaN`: the row that has so many has a zero, cited behind it, that is named by what is said of them."""
    m = _NONE_OF.match(clause.own)
    many = next((g.cells[0] for g in clause.groups if m and g.start == m.start("n")), None)
    if m is None or many is None or not isinstance(many.value, int) or not many.value or _NOT.search(m["what"]):
        return
    others = [c for c in cells if c is not many]
    zeros = [c for c in others if c.value == 0 and not isinstance(c.value, (str, bool)) and c.column not in SUBJECTS]
    if len(zeros) != 1 or len(others) != 1 or (zeros[0].id, zeros[0].row) != (many.id, many.row):
        return
    zero = zeros[0]
    about = f"{zero.column.replace('_', ' ')} {_NOT_SO.sub(' ', zero.doc)} {' '.join(COLUMN_WORDS.get(p, '') for p in zero.column.split('_'))}"
    finite = "not finite" in zero.doc
    known = stems(f"{about} {_NAN}") if finite else stems(about)
    of_them = stems(f"{many.column.replace('_', ' ')} {many.doc}")
    of_them |= stems(ledger.get(many.id).query.replace("_", " "))
    said = [
        w
        for w in re.findall(r"[a-z]+", m["what"].lower())
        if w not in NEUTRAL and w not in ("has", "been", "or", "and")
    ]
    told = [w for w in said if spoken_of(w, known) and not spoken_of(w, of_them)]
    if told and all(spoken_of(w, known) or spoken_of(w, of_them) for w in said):
        yield m.span("w")
        yield m.start("what"), m.end("yet") if m["yet"] else m.end("what")
