"""Do the cells of a sentence belong together? Each may be true, and the sentence made of them false.

    Rank [[E6:2.rank]] ran on [[E6.node]]              two rows: rank and node were never seen together
    [[E6.mean_step_s]] is longer than [[E6:2.mean_step_s]]      a comparison that its own figures deny
    Job [[E5.job_id]] did not end in [[E5.state]]       a cell that is cited and denied

A sentence is read in clauses, and a clause in segments: where a column comes again, another subject begins.
LIMIT: between two answers of the store only a column that both have (a rank, a node, a job) can tell that they speak of others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.references import BadReference, marks, masked, parse, resolve
from store.result import Cell

SUBJECTS = frozenset(
    {"job_id", "rank", "node", "gpu", "gpu_uuid", "gpu_index", "user", "pid", "local_rank", "uuid", "task"}
)
"""Columns that say of whom or of what a row is."""

_CLAUSE = re.compile(r"(?<=[.;!?])\s+|\n+|\s[–—]\s")
_JOINED = re.compile(r"\W*(?:and|or|&)?\W*(?:the )?\W*")
_PLACES = {"node": "node_list", "node_list": "node"}

_MORE = (
    r"(?:more|greater|larger|bigger|higher|longer|later|hotter|warmer|above|over|exceed\w*|beyond|after|rose|rises?|risen|rising|grew|grows?"
    r"|grown|growing|increas\w+|climb\w*|jump\w*)"
)
_LESS = (
    r"(?:less|fewer|smaller|lower|shorter|earlier|cooler|colder|below|under|before|fell|falls?|fallen|falling|dropp?\w*|decreas\w+"
    r"|declin\w+|sank|shr[aiu]nk\w*)"
)
_SLOW, _FAST = r"(?:slower|worse)", r"(?:faster|quicker)"
_WAY = re.compile(rf"(?i)\b(?:(?P<more>{_MORE})|(?P<less>{_LESS})|(?P<slow>{_SLOW})|(?P<fast>{_FAST}))\b")
_ORDER = re.compile(r"(?i)\b(?:after|before|over|above|below|under|beyond)\b")
_THAN = re.compile(r"(?i)\bthan\b")
_FROM_TO = re.compile(r"(?i)\bfrom\b.*\bto\b")
_CHANGE = re.compile(
    r"(?i)^(?:rose|ris\w+|grew|grow\w*|increas\w+|climb\w*|jump\w*|fell|fall\w*|dropp?\w*|decreas\w+|declin\w+|sank|shr[aiu]nk\w*)$"
)
_MOST = re.compile(
    r"(?i)\b(?:(?P<more>most|highest|largest|biggest|greatest|longest|latest|hottest|last)"
    r"|(?P<less>least|lowest|smallest|fewest|shortest|earliest|coldest|coolest|first)|(?P<slow>slowest|worst)|(?P<fast>fastest|quickest|best))\b"
)
_DENIAL = re.compile(
    r"(?i)\b(?:not|never|\w+n't|cannot|neither|nor|no(?! (?:later|earlier|more|less|longer|sooner|fewer|higher|lower) than\b)|none|nobody|nothing"
    r"|without|hardly|barely|rather than|instead of|anything but|other than|untrue|false(?: that)?|wrong(?:ly)?|failed to|lacks?|but)\b"
)
_BOUND = re.compile(
    r"(?i)(?:\b(?:at least|at most|nearly|almost|up to|more than|less than|fewer than|over|under|beyond|all but|(?:about |roughly )?double"
    r"|(?:about |roughly )?half|many times|several times))\s+$"
)
_OR_MORE = re.compile(r"(?i)\s*(?:[a-z]+ )?(?:or|and) (?:more|less|fewer|so|above|below|over)\b|\s*(?:plus|or so)\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


@dataclass(slots=True)
class _Group:
    """Cells of one column that are said in one breath: `ranks A, B and C`."""

    cells: list[CellValue]
    start: int
    end: int

    @property
    def column(self) -> str:
        return self.cells[0].column

    @property
    def subject(self) -> bool:
        return self.column in SUBJECTS


@dataclass(slots=True)
class _Clause:
    """A clause with its cells; positions are those of the clause."""

    text: str
    groups: list[_Group] = field(default_factory=list[_Group])


def disagreement(text: str, ledger: Ledger) -> str:
    """Why the cells of a sentence do not belong together as it says, in words that say what to do; "" where they do."""
    for clause in _clauses(text, ledger):
        why = _apart(clause, ledger) or _compared(clause) or _backwards(clause, ledger) or _bounded(clause)
        if why:
            return why
    return ""


def denied(text: str, ledger: Ledger) -> str:
    """The reference to something that a sentence cites and denies ("did not end in [[E1.state]]"); "" where there is none."""
    for clause in _clauses(text, ledger):
        own = masked(clause.text)
        for group in clause.groups:
            ahead = own[: group.start]
            found = [
                m
                for m in _DENIAL.finditer(ahead)
                if not re.search(r"(?i)[,:]|\b(?:while|after|when|as|because)\b", ahead[m.end() :])
            ]
            held = [
                c
                for c in group.cells
                if c.column not in SUBJECTS and isinstance(c.value, str) and not _TIME.match(c.value)
            ]
            if found and held:
                return held[0].ref
    return ""


def compares(text: str, ledger: Ledger) -> bool:
    """Whether a sentence compares, and every comparison stands between two cited figures that bear it out."""
    found = False
    for clause in _clauses(text, ledger):
        own, measures = masked(clause.text), _measures(clause.groups)
        for way in _WAY.finditer(own):
            if _plain(way, own, clause):
                continue
            pair = _sides(own, way, measures)
            if pair is None or not _holds(_direction(way, pair[0]), *pair):
                return False
            found = True
    return found


def compares_nothing(text: str, ledger: Ledger) -> bool:
    """Whether a sentence's words of order ("after", "above") only say when or where."""
    return all(_plain(w, masked(c.text), c) for c in _clauses(text, ledger) for w in _ORDER.finditer(masked(c.text)))


def _plain(way: re.Match[str], own: str, clause: _Clause) -> bool:
    """Whether a word of order or place compares nothing: `after 18 s`, `over the run`; not between two subjects of one kind."""
    if not _ORDER.fullmatch(way[0]):
        return False
    ahead = [g for g in clause.groups if g.subject and g.end <= way.start()]
    behind = [g for g in clause.groups if g.subject and g.start >= way.end()]
    return not (ahead and behind and ahead[-1].column == behind[0].column)


def _clauses(text: str, ledger: Ledger) -> list[_Clause]:
    found: list[_Clause] = []
    for piece in _CLAUSE.split(text):
        clause = _Clause(piece)
        for mark in marks(piece):
            try:
                cell = resolve(mark.ref, ledger)
            except BadReference:
                continue
            last = clause.groups[-1] if clause.groups else None
            if last and last.column == cell.column and _JOINED.fullmatch(masked(piece)[last.end : mark.start]):
                last.cells.append(cell)
                last.end = mark.end
            else:
                clause.groups.append(_Group([cell], mark.start, mark.end))
        if clause.groups:
            found.append(clause)
    return found


def _segments(groups: Sequence[_Group]) -> list[list[_Group]]:
    made: list[list[_Group]] = []
    for group in groups:
        if not made or any(g.column == group.column for g in made[-1]):
            made.append([])
        made[-1].append(group)
    return made


def _apart(clause: _Clause, ledger: Ledger) -> str:
    """Two cells of one segment that were never seen together."""
    for segment in _segments(clause.groups):
        for i, first in enumerate(segment):
            for second in segment[i + 1 :]:
                if wrong := _pair(first, second, ledger):
                    a, b = wrong
                    return (
                        f"[[{a.ref}]] and [[{b.ref}]] do not belong together: they are of different rows or subjects. Cite the "
                        "cells of one row in a clause, and begin another clause for another subject"
                    )
    return ""


def _pair(first: _Group, second: _Group, ledger: Ledger) -> tuple[CellValue, CellValue] | None:
    if len(first.cells) == len(second.cells):
        couples = list(zip(first.cells, second.cells, strict=True))
        if all(_together(a, b, ledger) for a, b in couples):
            return None
    couples = [(a, b) for a in first.cells for b in second.cells]
    apart = [(a, b) for a, b in couples if not _together(a, b, ledger)]
    if first.subject or second.subject:
        return apart[0] if apart else None
    return apart[0] if len(apart) == len(couples) else None


def _together(a: CellValue, b: CellValue, ledger: Ledger) -> bool:
    if a.id == b.id:
        return a.row == b.row or _held(ledger, a, b.column) == b.value or _held(ledger, b, a.column) == a.value
    return _same(ledger, a, b) and _same(ledger, b, a)


def _same(ledger: Ledger, subject: CellValue, other: CellValue) -> bool:
    """Whether the row of another answer is of the same subject, as far as it says so."""
    if subject.column not in SUBJECTS:
        return True
    evidence = ledger.get(other.id)
    asked = evidence.params.get(subject.column) if subject.column == "job_id" else None
    held = _held(ledger, other, subject.column)
    if held is None and asked is not None and subject.column not in {c.name for c in evidence.columns}:
        held = asked
    return held is None or str(held) == str(subject.value)


def _held(ledger: Ledger, cell: CellValue, column: str) -> Cell:
    evidence = ledger.get(cell.id)
    if column not in {c.name for c in evidence.columns}:
        return None
    return evidence.value(column, cell.row)


def _measures(groups: Sequence[_Group]) -> list[tuple[CellValue, int, int]]:
    return [(c, g.start, g.end) for g in groups if not g.subject for c in g.cells if _size(c.value) is not None]


def _size(value: Cell) -> float | str | None:
    """What can be larger or smaller: a number, or a time."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return value if isinstance(value, str) and _TIME.match(value) else None


def _compared(clause: _Clause) -> str:
    own = masked(clause.text)
    measures = _measures(clause.groups)
    for way in _WAY.finditer(own):
        if _DENIAL.search(own[: way.start()][-24:]):
            continue
        pair = _sides(own, way, measures)
        if pair is not None and not _holds(_direction(way, pair[0]), *pair):
            return _contradicted(way[0], *pair)
    return ""


def _sides(
    own: str, way: re.Match[str], measures: Sequence[tuple[CellValue, int, int]]
) -> tuple[CellValue, CellValue] | None:
    """The two figures that a word of comparison stands between: larger than, from one to the other, above."""
    than = _THAN.search(own, way.end())
    if _CHANGE.match(way[0]):
        behind = [m for m in measures if m[1] >= way.end()]
        for (a, _, end), (b, start, _) in pairwise(behind):
            if (
                _alike(a, b)
                and re.search(r"(?i)\bto\b", own[end:start])
                and re.search(r"(?i)\bfrom\s*$", own[: behind[0][1]])
            ):
                return b, a
        return None
    cut = than.start() if than else way.start()
    left = [m[0] for m in measures if m[2] <= cut]
    right = [m[0] for m in measures if m[1] >= (than.end() if than else way.end())]
    for b in right[:1]:
        for a in reversed(left):
            if _alike(a, b):
                return a, b
    return None


def _alike(a: CellValue, b: CellValue) -> bool:
    if isinstance(a.value, str) or isinstance(b.value, str):
        return isinstance(a.value, str) and isinstance(b.value, str)
    return a.column == b.column or bool(unit_of(a) and unit_of(a) == unit_of(b)) or not (unit_of(a) or unit_of(b))


def _direction(way: re.Match[str], cell: CellValue) -> int:
    found = way.groupdict()
    if found["more"] or found["less"]:
        return 1 if found["more"] else -1
    longer = unit_of(cell) in ("s", "ms", "us", "min", "h")
    return (1 if found["slow"] else -1) * (1 if longer else -1)


def _holds(direction: int, a: CellValue, b: CellValue) -> bool:
    x, y = _size(a.value), _size(b.value)
    if isinstance(x, float) and isinstance(y, float):
        return direction * (x - y) > 0
    return (str(x) > str(y)) if direction > 0 else (str(x) < str(y))


def _contradicted(word: str, a: CellValue, b: CellValue) -> str:
    return f"{word!r} is not what [[{a.ref}]] and [[{b.ref}]] show: turn it round, or leave the comparison out"


_GOES = re.compile(r"(?i)[^.;]*\b(?:to|then|later|until|before)\b[^.;]*")
_WHEN = ("ts", "step", "event_ts", "start_ts", "begin_ts", "epoch")


def _backwards(clause: _Clause, ledger: Ledger) -> str:
    """From one point of a curve to another that came before it: what fell has risen, told that way."""
    own = masked(clause.text)
    measures = [m for m in _measures(clause.groups) if m[0].column not in _WHEN]
    for i, (a, _, end) in enumerate(measures):
        for b, start, _ in measures[i + 1 :]:
            if a.id != b.id or a.column != b.column or not _GOES.fullmatch(own[end:start]):
                continue
            for column in _WHEN:
                first, second = _size(_held(ledger, a, column)), _size(_held(ledger, b, column))
                if first is not None and second is not None:
                    if type(first) is type(second) and first > second:  # type: ignore[operator]
                        return f"[[{a.ref}]] comes after [[{b.ref}]] in time: tell them in the order in which they came"
                    break
    return ""


def _bounded(clause: _Clause) -> str:
    """A figure that is known is no bound of itself."""
    own = masked(clause.text)
    for group in clause.groups:
        if group.subject or _size(group.cells[0].value) is None:
            continue
        bound, more = _BOUND.search(own[: group.start]), _OR_MORE.match(own, group.end)
        if more or (bound and len(_measures(clause.groups)) < 2):
            word = (more or bound)[0].strip()  # type: ignore[index]
            return f"{word!r} beside [[{group.cells[0].ref}]] changes what it says: the figure is known, so say it as it is"
    return ""


def extremes(text: str, ledger: Ledger) -> str:
    """A word like "slowest" or "most" that no cited figure of the clause bears out in its column; "" where each is."""
    for clause in _clauses(text, ledger):
        for word in _MOST.finditer(masked(clause.text)):
            if not any(_extreme(word, c, ledger) for c, _, _ in _measures(clause.groups)) and not _named_so(
                word[0], clause
            ):
                return word[0]
    return ""


def _named_so(word: str, clause: _Clause) -> bool:
    """Whether the cell itself says so: `last_step`, `first_ts`, "largest gap" in its description."""
    return any(
        word.lower() in f"{c.column} {c.doc}".lower().replace("_", " ").split() for g in clause.groups for c in g.cells
    )


def _extreme(word: re.Match[str], cell: CellValue, ledger: Ledger) -> bool:
    evidence = ledger.get(parse(cell.ref)[0])
    values = [s for r in range(len(evidence.rows)) if (s := _size(evidence.value(cell.column, r))) is not None]
    own = _size(cell.value)
    if evidence.truncated or len(values) < 2 or own is None or len({type(v) for v in values}) > 1:
        return False
    ranked = sorted(values)  # type: ignore[type-var]
    return own == (ranked[-1] if _direction(word, cell) > 0 else ranked[0])
