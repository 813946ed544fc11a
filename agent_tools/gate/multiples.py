"""Words for multiples and parts: what they say is reckoned from the figures beside them.

    [[E4.name]] was raised twice as often as [[E4:1.name]] ([[E4.n]] against [[E4:1.n]]).
    The loss more than doubled, from [[E7.first_loss]] to [[E7.last_loss]].
    It had done more than four fifths of its steps, [[E8.last_step]] of [[E8.total_steps]].
    It used about half of its limit ([[E1.limit_share]]).
    It was requeued twice ([[E2.restarts]]).

LIMIT: two figures of one column or measure, one share, or a part and its whole; a word that stands beside more says nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, Clause, Group, size
from agent_tools.gate.scope import whole
from agent_tools.gate.words import stem, stems
from agent_tools.references import HOLE
from store import lazy

HEDGE = (
    r"(?P<hedge>a little over|a little under|a bit over|just over|slightly over|just under|slightly under|well over|well under|far more than|far less than|more than|less than|"
    r"about|around|roughly|nearly|almost|approximately|some|over|under|exactly) "
)
TIMES = {
    "half": 0.5,
    "twice": 2.0,
    "double": 2.0,
    "thrice": 3.0,
    "three times": 3.0,
    "four times": 4.0,
    "five times": 5.0,
    "ten times": 10.0,
    "one and a half times": 1.5,
    "two and a half times": 2.5,
}
_AS = lazy.compile(
    rf"(?i)\b(?:{HEDGE})?(?P<word>{'|'.join(TIMES)})(?= as (?:many|much|often|long|large|high|big|hot|fast|slow|far|[a-z]+)\b(?P<rest>.*?\bas\b)?)"
)
_OF_THE = lazy.compile(
    rf"(?i),? (?:which (?:is|was) )?(?:{HEDGE})?(?P<word>{'|'.join(TIMES)}) (?:the|that of|those of|of (?:the|its|all))(?: [a-z]+(?: of)?)? ?(?P<b>{HOLE}+)"
)
"""`*, nearly twice the * of GPU *`."""
_CHANGES = {"doubled": 2.0, "tripled": 3.0, "trebled": 3.0, "quadrupled": 4.0, "halved": 0.5}
_CHANGE = lazy.compile(rf"(?i)\b(?:{HEDGE})?(?P<word>{'|'.join(_CHANGES)})\b(?=[^{HOLE}]*\bfrom\b)")
_NTHS = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_FEW = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PARTS = {
    **dict.fromkeys(("half", "one half", "a half"), 0.5),
    **{f"{a} {word}": 1 / n for word, n in _NTHS.items() for a in ("a", "an", "one")},
    **{f"{_FEW[k - 1]} {word}s": k / n for word, n in _NTHS.items() for k in range(2, n)},
}
_PART = lazy.compile(
    rf"(?i)\b(?:(?P<only>only|just(?! over| under)) )?(?:{HEDGE})?(?P<word>{'|'.join(sorted(PARTS, key=len, reverse=True))})(?= (?:of|the|its|done|through)\b)(?: of (?:(?:the|its|their|(?P<all>all)) )*(?:planned )?(?P<noun>[a-z]+(?: [a-z]+)?)(?=[ ,:(]))?"
)
_CUT_TO = lazy.compile(
    rf"(?i)\b(?P<w>(?:cut|reduced|lowered|down|fell|fallen|dropped|shrank) to (?:{HEDGE})?(?P<word>{'|'.join(sorted(PARTS, key=len, reverse=True))})(?: of (?:its|the) (?:start|beginning|first value))?)[,:]? from (?P<a>{HOLE}+) to (?P<b>{HOLE}+)"
)
_PART_OF = lazy.compile(r"(?i)\s*(?:out )?of (?:the |its |all )?")
_TOTAL = lazy.compile(r"(?:^|_)(?:limit|total|watched)(?:_|$)")
_SMALL, _HALF = 0.25, 0.5
_COUNTS = {"twice": 2, "thrice": 3, "three times": 3, "four times": 4, "five times": 5, "six times": 6}
_COUNT = lazy.compile(
    rf"(?i)\b(?:only |just |exactly )?(?P<word>{'|'.join(_COUNTS)})(?=(?: (?:by|on|in|during|before|over)? ?(?:the |its )?(?:[a-z]+ ?){{0,2}})?\W*\({HOLE})"
)


def reckoned(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause words for multiples and parts stand that its figures bear out."""
    own = clause.own
    return [
        *_ratios(own, clause),
        *_of_the(own, clause),
        *_changes(own, clause),
        *_parts(own, clause, ledger),
        *_cut_to(own, clause),
        *_counted(own, clause),
    ]


def _ratios(own: str, clause: Clause) -> Iterator[tuple[int, int]]:
    said = list(_AS.finditer(own))
    pair = _two(clause)
    if len(said) == 1 and pair is not None and said[0]["rest"] and bears(said[0], TIMES, pair[0], pair[1]):
        yield said[0].start(), said[0].end()
        for m in re.finditer(
            r"(?i) (?:often|frequent(?:ly)?|long|many|much|high|hard|hot|large)(?= )",
            own[said[0].end() : said[0].end("rest")],
        ):
            yield said[0].end() + m.start() + 1, said[0].end() + m.end()


def _of_the(own: str, clause: Clause) -> Iterator[tuple[int, int]]:
    """`*, twice the *`: the figure behind is that of another row in the same column, or of the same measure."""
    said = list(_OF_THE.finditer(own))
    if len(said) != 1 or len([g for g in clause.groups if not g.subject]) != 2:
        return
    m = said[0]
    other = next((g.cells[0] for g in clause.groups if g.start == m.start("b") and len(g.cells) == 1), None)
    ahead = [c for c, _, end in clause.measures() if end <= m.start()]
    if other is not None and ahead and _of_one(ahead[-1], other) and bears(m, TIMES, ahead[-1], other):
        yield (m.start("hedge") if m["hedge"] else m.start("word")), m.end("word")


def _of_one(a: CellValue, b: CellValue) -> bool:
    """Whether two figures are of one measure, or the second is the whole or the limit of the first in one row."""
    total = (a.id, a.row) == (b.id, b.row) and bool(unit_of(a)) and unit_of(a) == unit_of(b)
    return alike(a, b) or (total and _TOTAL.search(b.column) is not None)


def _changes(own: str, clause: Clause) -> Iterator[tuple[int, int]]:
    said = list(_CHANGE.finditer(own))
    pair = _two(clause)
    between = (
        None
        if pair is None
        else own[clause.groups[_at(clause, pair[0])].end : clause.groups[_at(clause, pair[1])].start]
    )
    if len(said) == 1 and pair is not None and between is not None and re.fullmatch(r"(?i)\s*to\s*(?:the )?", between):
        a, b = pair
        lead = own[: clause.groups[_at(clause, a)].start]
        if re.search(r"(?i)\bfrom\s*$", lead) and bears(said[0], _CHANGES, b, a):
            yield said[0].start(), said[0].end()


def _parts(own: str, clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`half of its limit: *`, of a share; `half of its steps, * of *`, of a part and its whole."""
    said = list(_PART.finditer(own))
    if len(said) != 1:
        return
    m = said[0]
    shares = [g.cells[0] for g in clause.groups if is_share(g.cells[0])]
    pairs = [
        (a.cells[0], b.cells[0])
        for a, b in pairwise(clause.groups)
        if _PART_OF.fullmatch(own[a.end : b.start]) and _is_part(a, b, m, clause, ledger)
    ]
    value: float | None = None
    if len(shares) > 1:  # "* had *, * just a third of it (*)": the one behind it
        behind = [g for g in clause.groups if g.start >= m.end()][:1]
        own_one = [g for g in behind if not re.search(r"[,;:]", own[m.end() : g.start]) and is_share(g.cells[0])]
        shares = [g.cells[0] for g in own_one]
    if len(shares) == 1 and isinstance(size(shares[0].value), float):
        value = float(str(shares[0].value)) / (100.0 if shares[0].unit == "%" else 1.0)
    elif len(pairs) == 1 and not shares:
        value = float(str(pairs[0][0].value)) / float(str(pairs[0][1].value))
    if (
        value is not None
        and (value <= _HALF or not m["only"])
        and _near(value, PARTS[m["word"].lower()], m["hedge"], part=True)
    ):
        yield m.start(), m.end("word")


def _cut_to(own: str, clause: Clause) -> Iterator[tuple[int, int]]:
    """`cut to half, from * to *`: of one row and unit, the second is such a part of the first."""
    for m in _CUT_TO.finditer(own):
        a, b = (next((g.cells[0] for g in clause.groups if g.start == m.start(n)), None) for n in "ab")
        if (
            a
            and b
            and (a.id, a.row, unit_of(a)) == (b.id, b.row, unit_of(b))
            and (unit_of(a) or alike(a, b))
            and bears(m, PARTS, b, a)
        ):
            yield m.span("w")


def _is_part(part: Group, of: Group, said: re.Match[str], clause: Clause, ledger: Ledger) -> bool:
    """Whether a count is told as a part of what is said: of its own row, or of all that an answer of one row counts."""
    a, b = part.cells[0], of.cells[0]
    x, y = size(a.value), size(b.value)
    if not isinstance(x, float) or not isinstance(y, float) or not 0 <= x <= y or not y:
        return False
    row = (a.id, a.row) == (b.id, b.row) and a.column != b.column
    every = a.column == b.column and len(ledger.get(b.id).rows) == 1 and whole(ledger.get(b.id), ledger)
    if any(c.id == a.id and c.row != a.row for g in clause.groups for c in g.cells):
        return False  # of another one that is named beside it
    nouns = (said["noun"] or "").split()
    named = not nouns or any(stem(n) in stems(f"{b.column.replace('_', ' ')} {b.doc}") for n in nouns)
    return named and (row or (every and said["all"] is not None))


def _counted(own: str, clause: Clause) -> Iterator[tuple[int, int]]:
    for m in _COUNT.finditer(own):
        behind = [g for g in clause.groups if g.start >= m.end()][:1]
        cell = behind[0].cells[0] if behind and len(behind[0].cells) == 1 else None
        if cell is None or cell.column in SUBJECTS or unit_of(cell) or isinstance(cell.value, bool):
            continue
        if cell.value == _COUNTS[m["word"].lower()]:
            yield m.start(), m.end()


def is_share(cell: CellValue) -> bool:
    """Whether a figure is a part of one."""
    return isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool) and cell.unit in ("ratio", "%")


def _two(clause: Clause) -> tuple[CellValue, CellValue] | None:
    """The two figures of one column or measure that a clause has, in order; None where there are fewer, or more."""
    cells = [c for g in clause.groups if not g.subject for c in g.cells if isinstance(size(c.value), float)]
    if len(cells) != 2 or not alike(*cells):
        return None
    named = [
        g.cells
        for g in clause.groups
        if g.column != cells[0].column and g.start < clause.groups[_at(clause, cells[1])].start
    ]
    for column in {n[0].column for n in named}:
        of = [n for n in named if n[0].column == column]
        if len(of) == 2 and any((n[0].id, n[0].row) != (c.id, c.row) for n, c in zip(of, cells, strict=True)):
            return None  # two are named: the figures have to be theirs, in the same order
    return cells[0], cells[1]


def alike(a: CellValue, b: CellValue) -> bool:
    """Whether two figures are of one column, or of one measure at two moments: `first_loss` and `last_loss`."""
    tails = [re.sub(r"^(?:first|last|min|max|start|end|best|highest|lowest)_", "", c.column) for c in (a, b)]
    rest = b.column.startswith(("rest_", "peer_")) and (a.id, a.row) == (b.id, b.row)  # of one, and of all the others
    others = rest and a.column == f"{b.column.split('_')[1]}_mean"
    return a.column == b.column or others or (tails[0] == tails[1] and unit_of(a) == unit_of(b))


def _at(clause: Clause, cell: CellValue) -> int:
    return next(i for i, g in enumerate(clause.groups) if any(c is cell for c in g.cells))


def bears(said: re.Match[str], words: dict[str, float], a: CellValue, b: CellValue) -> bool:
    """Whether the first of two figures is such a multiple or part of the second as a word says."""
    x, y = size(a.value), size(b.value)
    if not isinstance(x, float) or not isinstance(y, float) or not y:
        return False
    return _near(x / y, words[said["word"].lower()], said["hedge"])


def _near(is_: float, said: float, hedge: str | None, *, part: bool = False) -> bool:
    """Whether a figure is as a word says, as far as the word before it says so."""
    low = (hedge or "exactly").lower()
    slack = 0.012 if low == "exactly" else 0.12
    next_one = said * 1.5
    match low:
        case "more than" | "over" | "well over":
            return said < is_ < next_one and (is_ <= 1 or not part)
        case "far more than":
            return said * 1.25 < is_ and (is_ <= 1 or not part)
        case "less than" | "under":
            return (said / 1.5 < is_ or (part and said <= _SMALL)) and is_ < said
        case "well under" | "far less than":
            return is_ < said * 0.8
        case "nearly" | "almost" | "just under" | "slightly under" | "a little under":
            return said * (1 - slack) <= is_ < said
        case "just over" | "slightly over" | "a little over" | "a bit over":
            return said < is_ <= said * (1 + slack)
        case _:
            return abs(is_ - said) <= said * slack
