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

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.amounts import miscounted
from agent_tools.gate.bounds import bounded
from agent_tools.gate.clauses import SUBJECTS, TIME, Clause, Group, against, clauses, kind, segments, size
from agent_tools.gate.denials import denies
from agent_tools.gate.fates import misfated, superseded
from agent_tools.gate.gaps import unreckoned
from agent_tools.gate.machines import at_once
from agent_tools.gate.makers import made_by, of_other_end
from agent_tools.gate.order import astray, backwards, ends, mispaired, misplaced, order, outside
from agent_tools.gate.ordinals import anew, misordered
from agent_tools.gate.owners import of_no_name, of_others
from agent_tools.gate.pairs import in_turn, mismatched, neither
from agent_tools.gate.parting import overstated
from agent_tools.gate.refuted import refuted
from agent_tools.gate.relations import miscast, of_two, orphaned, related, strangers, uncounted, unowned
from agent_tools.gate.sequence import back, disordered
from agent_tools.gate.tellings import mistold
from agent_tools.gate.together import together
from agent_tools.references import HOLE
from store import lazy

_MORE = (
    r"(?:more|greater|larger|bigger|higher|longer|later|hotter|warmer|above|over|exceed\w*|beyond|after|rose|rises?|risen|rising|grew|grows?"
    r"|grown|growing|increas\w+|climb\w*|jump\w*|(?:went|goes|going|gone|came) (?:on )?up)"
)
_LESS = (
    r"(?:less|fewer|smaller|lower|shorter|earlier|cooler|colder|below|under(?! an? (?:time |memory |wall-?clock )?limit of\b)|before|fell|falls?|fallen|falling|dropp?\w*|decreas\w+"
    r"|down(?= from\b)|declin\w+|sank|shr[aiu]nk\w*|(?:went|goes|going|gone|came) (?:on )?down)"
)
_SLOW, _FAST = r"(?:slower|worse)", r"(?:faster|quicker)"
_WAY = lazy.compile(rf"(?i)\b(?:(?P<more>{_MORE})|(?P<less>{_LESS})|(?P<slow>{_SLOW})|(?P<fast>{_FAST}))\b")
_ORDER = lazy.compile(r"(?i)\b(?:after|before|over|above|below|under|beyond)\b")
_THAN = lazy.compile(r"(?i)\bthan\b")
_CHANGE = lazy.compile(
    r"(?i)^(?:rose|ris\w+|grew|grow\w*|increas\w+|climb\w*|jump\w*|fell|fall\w*|dropp?\w*|decreas\w+|declin\w+|sank|shr[aiu]nk\w*|.* (?:up|down))$"
)
OF_ORDER = lazy.compile(r"(?:^|_)(?:step|epoch|line|line_no|attempt)$")
_LENGTHS = ("s", "ms", "us", "min", "h", "d")
_IN_TIME = lazy.compile(r"(?i)before|after")
_IN_TURN = lazy.compile(r"(?i)before|after|later|earlier|beyond|above|below|over|under")
_DIFFERENCE = lazy.compile(r"(?:^|_)(?:jump|rise|gain|delta|diff|change)(?:_|$)")
_DROP = lazy.compile(r"(?:^|_)(?:fallen|drop|decline)(?:_|$)")
_VERSUS = lazy.compile(r"(?i)\s*(?:against|versus|vs\.?|compared (?:to|with)|instead of)\s*")
_COLON = lazy.compile(r"(?::|\(|,)\s*(?:at )?$")
_LIKE_FIRST = lazy.compile(r"(?i)\b(?:first|second|third|fourth|fifth|last)\b")
_AT_LAST, _AT_FIRST = (
    lazy.compile(r"(?i)\b(?:ended|ends|finished|stood at the end)\b"),
    lazy.compile(r"(?i)\b(?:begun|began|started|start|beginning)\b"),
)
_DENIAL = lazy.compile(
    r"(?i)\b(?:not|never|\w+n't|cannot|neither|nor|no(?! (?:later|earlier|more|less|longer|sooner|fewer|higher|lower) than\b)|none|nobody|nothing"
    r"|without|hardly|barely|rather than|instead of|anything but|other than|untrue|false(?: that)?|wrong(?:ly)?|failed to|lacks?|but)\b"
)
_ASIDE = lazy.compile(r"(?i)\b(?:and|while|whereas|but|as|when|before|after|then|or|nor)\b|[,;:|]")
"""What sets one thing beside another without making them one's own."""


def disagreement(text: str, ledger: Ledger) -> str:
    """Why the cells of a sentence do not belong together as it says, in words that say what to do; "" where they do."""
    found = clauses(text, ledger)
    for i, clause in enumerate(found):
        if neither(clause, ledger):
            continue  # what is denied is of another row than those of whom it is denied
        why = (
            _apart(clause, ledger)
            or orphaned(clause, found[:i], ledger)
            or related(clause, ledger)
            or miscast(clause)
            or made_by(clause)
            or of_other_end(clause, ledger)
            or uncounted(clause, ledger)
            or _compared(clause, ledger)
            or backwards(clause, ledger)
            or mispaired(clause, ledger)
            or misplaced(clause, ledger)
            or astray(clause, ledger)
            or misordered(clause, ledger)
            or overstated(clause)
            or at_once(clause, ledger)
            or misfated(clause, ledger)
            or bounded(clause, ledger)
            or mistold(clause, ledger)
            or miscounted(clause, ledger)
            or refuted(clause, ledger)
            or mismatched(clause, ledger)
        )
        if why:
            return why
    return (
        disordered(text, ledger)
        or of_others(found, ledger)
        or of_no_name(found, ledger)
        or superseded(text, found, ledger)
    )


def denied(text: str, ledger: Ledger) -> str:
    """The reference to something that a sentence cites and denies ("did not end in [[E1.state]]"); "" where there is none."""
    for clause in clauses(text, ledger):
        own = clause.own
        for group in () if neither(clause, ledger) else clause.groups:
            ahead = own[: group.start]
            if any(denies(m[0], own, [str(c.value) for c in group.cells]) for m in _DENIAL.finditer(ahead)):
                continue  # "can never be satisfied: DependencyNeverSatisfied"
            found = [
                m
                for m in _DENIAL.finditer(ahead)
                if not re.search(r"(?i)[,:]|\b(?:while|after|when|as|because)\b", ahead[m.end() :])
            ]
            said = [
                c
                for c in group.cells
                if c.column not in (*SUBJECTS, "value") and isinstance(c.value, str) and not TIME.match(c.value)
            ]
            if found and said:
                return said[0].ref
    return ""


def compares(text: str, ledger: Ledger) -> bool:
    """Whether a sentence compares, and every comparison stands between two cited figures that bear it out."""
    found = False
    for clause in clauses(text, ledger):
        own, measures = unreckoned(clause, ledger), clause.measures()
        for way in _WAY.finditer(own):
            if _plain(way, own, clause) or _lasting(way, clause) or back(own, way.start()):
                continue
            pair = in_turn(clause) or _sides(own, way, measures)
            if _in_turn(way, clause, ledger) != -1 and (pair is None or not _holds(direction(way, pair[0]), *pair)):
                return False
            found = True
    return found


def compares_nothing(text: str, ledger: Ledger) -> bool:
    """Whether a sentence's words of order ("after", "above") only say when or where."""
    return all(_plain(w, c.own, c) for c in clauses(text, ledger) for w in _ORDER.finditer(c.own))


def _plain(way: re.Match[str], own: str, clause: Clause) -> bool:
    """Whether a word of order or place compares nothing: `after 18 s`, `over the run`; not between two subjects of one kind."""
    if not _ORDER.fullmatch(way[0]):
        return False
    return _around(way, clause) is None


def _lasting(way: re.Match[str], clause: Clause) -> bool:
    """Whether a word of order stands before a span of time: `started after *, at *`."""
    behind = next((g for g in clause.groups if g.start >= way.end()), None)
    near = behind is not None and re.fullmatch(
        r"(?i) (?:about |another |a further )?", clause.own[way.end() : behind.start]
    )
    return bool(near and behind and _ORDER.fullmatch(way[0]) and unit_of(behind.cells[0]) in _LENGTHS)


def _around(way: re.Match[str], clause: Clause, *, any_kind: bool = False) -> tuple[CellValue, CellValue] | None:
    """The two subjects (or cells) of one column between which a word stands; after it nothing but its own comes first."""
    ahead = [g for g in clause.groups if (any_kind or kind(g.column) in SUBJECTS) and g.end <= way.start()]
    behind = [g for g in clause.groups if g.start >= way.end()][:1]
    if not behind or not (any_kind or kind(behind[0].column) in SUBJECTS) or unit_of(behind[0].cells[0]) in _LENGTHS:
        return None
    same = [g for g in ahead if kind(g.column) == kind(behind[0].column)]
    if not same or (not any_kind and same[-1] is not ahead[-1]):
        return None
    return same[-1].cells[-1], behind[0].cells[0]


def _in_turn(way: re.Match[str], clause: Clause, ledger: Ledger) -> int | None:
    """Whether two of a column came in the order that "before" or "after" says, by their rows: -1; 1 where they did not."""
    if not _IN_TIME.fullmatch(way[0]):
        return None
    pair = _around(way, clause, any_kind=True)
    later = [g for g in clause.groups if g.start >= way.end()]
    if pair is None and not any(g.end <= way.start() for g in clause.groups):
        others = [g for g in later[1:] if g.column == later[0].column]
        pair = (others[0].cells[0], later[0].cells[-1]) if others else None  # "After A came B"
    if pair is None:
        return None
    x, y = size(pair[0].value), size(pair[1].value)
    found: int | None
    if isinstance(x, str) and isinstance(y, str):
        found = (x > y) - (x < y)
    else:
        found = order(*pair, ledger, ends=ends(clause.own))
    return found if found is None or way["less"] else -found


def _apart(clause: Clause, ledger: Ledger) -> str:
    """Two cells of one segment that were never seen together."""
    groups = clause.groups
    if _each_its_own(groups[:-2], against(clause)):
        groups = groups[:-2]
    elif figures := in_turn(clause):
        groups = [g for g in groups if g.column != figures[0].column]
    for segment in segments(groups, list(anew(clause.own))):
        for i, first in enumerate(segment):
            for second in segment[i + 1 :]:
                wrong = _pair(first, second, ledger)
                between = clause.own[first.end : second.start]
                if wrong is None and not _ASIDE.search(between):
                    wrong = strangers(first, second, between, ledger)
                if wrong is None and not _ASIDE.search(between.replace(":", " ")):
                    wrong = unowned(first, second, between, ledger)
                if wrong:
                    a, b = wrong
                    return (
                        f"[[{a.ref}]] and [[{b.ref}]] do not belong together: they are of different rows or subjects. Cite the "
                        "cells of one row in a clause, and begin another clause for another subject"
                    )
    return ""


def _each_its_own(named: Sequence[Group], figures: tuple[Group, Group] | None) -> bool:
    """Whether each of two figures that are set against each other is that of the one who is named in the same place."""
    half = len(named) // 2
    sides = named[:half], named[half:]
    if figures is None or not half or [g.column for g in sides[0]] != [g.column for g in sides[1]]:
        return False
    couples = [(n.cells[0], f.cells[0]) for side, f in zip(sides, figures, strict=True) for n in side]
    return all(len(n.cells) == 1 for n in named) and all(a.id == b.id and a.row == b.row for a, b in couples)


def _pair(first: Group, second: Group, ledger: Ledger) -> tuple[CellValue, CellValue] | None:
    if len(first.cells) == len(second.cells):
        couples = list(zip(first.cells, second.cells, strict=True))
        if all(together(a, b, ledger) for a, b in couples):
            return None
        told, rows = ([(c.id, c.row) for c in g.cells] for g in (first, second))
        if len(told) > 1 and sorted(told) == sorted(rows):  # "A, B and C had x, y and z", out of turn
            return next((a, b) for a, b in couples if not together(a, b, ledger))
    couples = [(a, b) for a in first.cells for b in second.cells]
    apart = [(a, b) for a, b in couples if not together(a, b, ledger)]
    if first.subject or second.subject:
        return apart[0] if apart else None
    return apart[0] if len(apart) == len(couples) else None


def _compared(clause: Clause, ledger: Ledger) -> str:
    own = unreckoned(clause, ledger)
    measures = clause.measures()
    for way in _WAY.finditer(own):
        if _DENIAL.search(own[: way.start()][-24:]) or _lasting(way, clause) or back(own, way.start()):
            continue
        if _in_turn(way, clause, ledger) == 1:
            return f"{way[0]!r} is not how it came in time: turn it round, or leave the order out"
        if (moments := _moment(way, clause)) and outside(way[0], *moments, ledger):
            return _contradicted(way[0], *moments)
        if signed := _signed(way, clause):
            return (
                f"{way[0]!r} is not what [[{signed.ref}]] shows, by its sign: turn it round, or leave the direction out"
            )
        pair = in_turn(clause) or _sides(own, way, measures)
        if pair is not None and _CHANGE.match(way[0]) and of_two(*pair, ledger):
            return (
                f"[[{pair[1].ref}]] and [[{pair[0].ref}]] are of two, and no change of one: tell them beside each other"
            )
        if pair is not None and not _holds(direction(way, pair[0]), *pair) and not _spans(way, own, pair):
            return _contradicted(way[0], *pair)
    return ""


def _spans(way: re.Match[str], own: str, pair: tuple[CellValue, CellValue]) -> bool:
    """Whether a word of place only says over how many of something else it went: `fell from * to * over * reports`."""
    counted = re.match(rf"(?i)\s*[{HOLE}]+ (?:reports|steps|epochs|samples|lines|rows)\b", own[way.end() :])
    return bool(way[0].lower() == "over" and counted and pair[0].column != pair[1].column)


def _signed(way: re.Match[str], clause: Clause) -> CellValue | None:
    """The difference beside a word of change that has the other sign: `jumped by -0.7`."""
    if not _CHANGE.match(way[0]):
        return None
    up = 1 if way["more"] else -1
    cells = [g.cells[0] for g in clause.groups if g.start >= way.end()][:1]
    for cell in cells:
        sign = 1 if _DIFFERENCE.search(cell.column) else -1 if _DROP.search(cell.column) else 0
        value = size(cell.value)
        if isinstance(value, float) and sign * up * value < 0:
            return cell
    return None


def _moment(way: re.Match[str], clause: Clause) -> tuple[CellValue, CellValue] | None:
    """A cell that is no time, and the time before or after which a clause puts it."""
    if not _IN_TIME.fullmatch(way[0]):
        return None
    ahead = [g.cells[-1] for g in clause.groups if g.end <= way.start()]
    behind = [g.cells[0] for g in clause.groups if g.start >= way.end()]
    if not ahead or not behind or isinstance(size(ahead[-1].value), str) or not isinstance(size(behind[0].value), str):
        return None
    return ahead[-1], behind[0]


def _sides(
    own: str, way: re.Match[str], measures: Sequence[tuple[CellValue, int, int]]
) -> tuple[CellValue, CellValue] | None:
    """The two figures that a word of comparison stands between: larger than, from one to the other, above."""
    than = _THAN.search(own, way.end())
    if not _IN_TURN.fullmatch(way[0]):
        measures = [m for m in measures if m[0].column != "attempt"]  # the number of an attempt is no size
    if _CHANGE.match(way[0]):
        behind = [m for m in measures if m[1] >= way.end()]
        for i, (a, ahead, end) in enumerate(behind):
            lead = re.search(r"(?i)\b(from|to)(?: (?:an?|its|the) (?:[a-z]+ ){1,2}of)?\s*$", own[:ahead])
            other = {"from": "to", "to": "from"}[lead[1].lower()] if lead else ""
            to = [b for b, at, _ in behind[i + 1 :] if other and re.search(rf"(?i)\b{other}\b", own[end:at])]
            if found := [b for b in to if b.column == a.column] or [b for b in to if _alike(a, b)]:
                return (found[0], a) if other == "to" else (a, found[0])
        return None
    if _IN_TIME.fullmatch(way[0]):
        measures = [m for m in measures if isinstance(size(m[0].value), str) or OF_ORDER.search(m[0].column)]
    if (
        than
        and not any(end <= than.start() for _, _, end in measures)
        and (pair := _set_against(own, than.end(), measures))
    ):
        return pair
    cut = than.start() if than else way.start()
    left = [m[0] for m in measures if m[2] <= cut]
    right = [m[0] for m in measures if m[1] >= (than.end() if than else way.end())]
    for b in right[:1]:
        for a in reversed(left):
            if _alike(a, b):
                return a, b
    return None


def _set_against(
    own: str, at: int, measures: Sequence[tuple[CellValue, int, int]]
) -> tuple[CellValue, CellValue] | None:
    """`longer than the first: * against *`, `higher than it had begun: * against *`: the figures of both, in the same order."""
    behind = [m for m in measures if m[1] >= at]
    if (
        len(behind) != 2
        or not _VERSUS.fullmatch(own[behind[0][2] : behind[1][1]])
        or not _COLON.search(own[at : behind[0][1]])
    ):
        return None
    a, b = behind[0][0], behind[1][0]
    if a.column == b.column:
        return (a, b) if _LIKE_FIRST.search(own[:at]) or _LIKE_FIRST.search(own[at : behind[0][1]]) else None
    ends_first = _AT_LAST.search(own[: behind[0][1]]) and _AT_FIRST.search(own[at : behind[0][1]])
    return (
        (a, b)
        if ends_first
        and a.column.startswith(("last_", "end_"))
        and b.column == a.column.replace("last_", "first_", 1).replace("end_", "start_", 1)
        else None
    )


def _alike(a: CellValue, b: CellValue) -> bool:
    if isinstance(a.value, str) or isinstance(b.value, str):
        return isinstance(a.value, str) and isinstance(b.value, str)
    return a.column == b.column or bool(unit_of(a) and unit_of(a) == unit_of(b)) or not (unit_of(a) or unit_of(b))


def direction(way: re.Match[str], cell: CellValue) -> int:
    """1 where a word of comparison makes a cell the larger one, -1 where the smaller; the slower takes longer, or does less."""
    found = way.groupdict()
    if found["more"] or found["less"]:
        return 1 if found["more"] else -1
    longer = unit_of(cell) in _LENGTHS
    return (1 if found["slow"] else -1) * (1 if longer else -1)


def _holds(direction: int, a: CellValue, b: CellValue) -> bool:
    x, y = size(a.value), size(b.value)
    if isinstance(x, float) and isinstance(y, float):
        return direction * (x - y) > 0
    return (str(x) > str(y)) if direction > 0 else (str(x) < str(y))


def _contradicted(word: str, a: CellValue, b: CellValue) -> str:
    return f"{word!r} is not what [[{a.ref}]] and [[{b.ref}]] show: turn it round, or leave the comparison out"
