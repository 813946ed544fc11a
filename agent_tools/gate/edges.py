"""Is a figure that is put to an end or a beginning of that moment? The highest loss of a run is not its loss at the end.

The run's loss at its end was [[E7.max_loss]]        the highest of all
The loss at the start was [[E7.last_loss]]           that of the other end
"""

from __future__ import annotations

import re
from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, Group, clauses, size
from agent_tools.gate.machines import of_machine, only_job, run_of
from agent_tools.gate.order import TS, is_time
from agent_tools.gate.ordinals import ORDINALS
from agent_tools.gate.scope import last_attempt
from agent_tools.references import HOLE
from store import lazy

_OF = r"(?:its|the|their|his|her|this|that)"
_AT_END = lazy.compile(
    rf"(?i)\b(?:at|by|in) {_OF} (?:very )?end\b|\bin the end\b|\bwhen (?:the )?{HOLE}+ (?:was|were|came|struck|happened|had|ended|failed|stopped|died)\b|\bwhen (?:it|they|{_OF} [a-z]+) (?:had )?(?:ended|stopped|finished|failed|died)\b"
)
_AT_BEGIN = lazy.compile(
    rf"(?i)\b(?:at|in) {_OF} (?:very )?(?:start|beginning|outset)\b|\bwhen (?:it|they|{_OF} [a-z]+) (?:had )?(?:started|began)\b"
)
_BY_NAME = lazy.compile(r"(?i)(?:^|_|\b)(?:before|after|wait|until|since|end|ended|start|last|elapsed|ts)(?:_|\b|$)")
"""What tells by its name or description on which side of a run it was."""
_FIRST, _LAST = (
    lazy.compile(r"(?:^|_)(?:first|start|begin)(?:_|$)"),
    lazy.compile(r"(?:^|_)(?:last|end|final|late)(?:_|$)"),
)
_WHOLE: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (lazy.compile(rf"(?:^|_)(?:{columns})(?:_|$)"), lazy.compile(rf"(?i)\b(?:{words})\b"))
    for columns, words in (
        ("max|peak|highest", r"high\w*|peak\w*|max\w*|most|largest|up to|record"),
        ("min|lowest|best", r"low\w*|min\w*|least|smallest|best|down to"),
        ("mean|avg|median", r"mean|average|median"),
        ("total|sum", r"total|sum|all|together|in all"),
    )
)
"""Columns of a whole run, and the words by which a sentence says that it is one of the whole."""

_PARTS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (lazy.compile(columns), lazy.compile(rf"(?i)\b(?:{words})"))
    for columns, words in (
        (
            r"(?:^|_)plain(?:_\w+)?_s$",
            r"plain|other|another|rest\b|elsewhere|without|ordinary|usual|normal|between (?:the )?(?:saves|checkpoints)",
        ),
        (r"(?:^|_)save(?:_\w+)?_s$", r"sav|checkpoint"),
        (r"(?:^|_)early(?:_\w+)?_s$", r"earl|first|start|begin|began|begun|at the outset|before"),
        (r"(?:^|_)late(?:_\w+)?_s$", r"late|last|end|final|after"),
        (r"^earlier_", r"earl|first|before|previous|prior|initial|lost|preempt|evict|requeue"),
        (
            r"_throttled(?:_\w+)?_mhz$|^clock_throttled_",
            r"throttl|slowed|brake|bits|heat|hot\b|in them|those|lower(?:ed|s)? ",
        ),
        (r"_free_mhz$", r"free|without|otherwise|else|other|rest\b|not throttl|unthrottl|un?slowed|against|normal"),
    )
)
"""Columns of a part of a run's steps, attempts or samples, and the words that say of which."""
_PIECE = lazy.compile(r"(?i)[,;]|\b(?:and|but|while(?! throttl)|whereas|against|versus)\b")

_OF_ATTEMPT = lazy.compile(rf"(?i)\bend of (?:the|its) (?P<n>{'|'.join(ORDINALS)}|last|earlier|previous) attempt\b")
_AT = lazy.compile(r"(?i)\s*(?:at|on|by)?\s*")
_IN_LINE = lazy.compile(r"(?i) (?:in|at|by) line ")
_OF_RUN = lazy.compile(
    r"(?i)\b(?P<side>before|after) (?:(?:(?:the|its|this) )?(?:job|run|training)(?:'s)?|it|its)(?: (?:had|was))? "
    r"(?P<edge>start(?:ed)?|began|begun|beginning|launch(?:ed)?|end(?:ed|ing)?|finished|stopped|over)\b"
    r"|\b(?P<of>before|after) the (?P<which>end|start|beginning) of (?:the|its|this) (?:job|run|training)\b|\b(?P<whole>before|after) (?:the|its|this) (?:job|run)(?=\W*$)"
)


def outside_of_run(text: str, ledger: Ledger, found: str = "") -> str:
    """The reference to what a sentence puts before or after the run's start or end, and the run's times do not; "" for none.

    Held against accounting's times where it knows them; where it does not, nothing tells. `found` is what findings that rest on
    the cited cells say: in their own words they may be repeated.
    """
    for clause in clauses(text, ledger):
        for said in _OF_RUN.finditer(clause.own):
            if said[0].lower() in found:
                continue
            lived = [g.cells[0] for g in clause.groups if g.column == "lived_s" and g.end <= said.start() <= g.end + 1]
            own = [c for g in clause.groups if g.column in ("pid", "rank") for c in g.cells]
            if lived and own and all((c.id, c.row) == (lived[0].id, lived[0].row) for c in own):
                continue  # so long after the start of a process: its own
            behind = [g for g in clause.groups if g.start >= said.end() and is_time(g.cells[0])]
            lines = [g for g in clause.groups if g.start >= said.end() and g.cells[0].column == "line_no"]
            if any(_AT.fullmatch(clause.own[said.end() : g.start]) for g in behind) or any(
                _IN_LINE.fullmatch(clause.own[said.end() : g.start]) for g in lines
            ):
                continue  # its time stands behind it: `after the job had ended at *`
            side = (said["side"] or said["of"] or said["whole"]).lower()
            word = (said["edge"] or said["which"] or ("start" if side == "before" else "end")).lower()
            cells = [c for g in clause.groups for c in g.cells]
            if not any(_times(c, ledger) or _BY_NAME.search(f"{c.column} {c.doc}") for c in cells):
                return cells[0].ref
            for cell in cells:
                times = _times(cell, ledger)
                run = (
                    run_of(str(ledger.get(cell.id).params.get("job_id") or only_job(ledger)), ledger) if times else None
                )
                if not times:
                    continue
                edge = None if run is None else run[1 if word[0] in "efo" or word == "stopped" else 0]
                early = side == "before"
                if edge is None or not all(t < edge if early else t > edge for t in times):
                    return cell.ref
    return ""


def of_other_end(text: str, ledger: Ledger) -> str:
    """The reference to a time before the job's end that is told as one before the end of an earlier attempt; "" for none."""
    for clause in clauses(text, ledger):
        if (said := _OF_ATTEMPT.search(clause.own)) and (cells := _before_end(clause)):
            found = next((c for c in cells if not _of_last(said["n"], c, ledger)), None)
            if found is not None:
                return found.ref
    return ""


def of_own_end(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where a clause names the job's last attempt as the one before whose end its cells count: `the end of the second attempt`."""
    said, cells = _OF_ATTEMPT.search(clause.own), _before_end(clause)
    return [said.span("n")] if said and cells and all(_of_last(said["n"], c, ledger) for c in cells) else []


def _before_end(clause: Clause) -> list[CellValue]:
    return [c for g in clause.groups for c in g.cells if c.column == "before_end_s"]


def _of_last(word: str, cell: CellValue, ledger: Ledger) -> bool:
    return word.lower() == "last" or ORDINALS.get(word.lower()) == last_attempt(ledger.get(cell.id), ledger)


def _times(cell: CellValue, ledger: Ledger) -> list[str]:
    """When what a cell tells happened: the time that it is, else those of the row of what befell a machine."""
    if is_time(cell):
        return [] if cell.column in ("start_ts", "end_ts", "submit_ts", "eligible_ts") else [str(cell.value)]
    evidence = ledger.get(cell.id)
    if not of_machine(evidence, cell.row):
        return []
    names = [c.name for c in evidence.columns if TS.fullmatch(c.name)]
    return [t for n in names if isinstance(t := size(evidence.value(n, cell.row)), str)]


def of_part(text: str, ledger: Ledger) -> str:
    """The reference to a figure of a part of the run (its early steps, those that save) of which no word says that it is; "" for none.

    Where the figures of two parts stand in one clause ("from * to *"), they tell each other apart.
    """
    for clause in clauses(text, ledger):
        of = {g.column: p for g in clause.groups if (p := next((w for c, w in _PARTS if c.search(g.column)), None))}
        if len(of) == 1 and not next(iter(of.values())).search(clause.own):
            return next(g.cells[0].ref for g in clause.groups if g.column in of)
        if len(of) > 1 and (ref := _crossed(clause, of)):
            return ref
    return ""


def _crossed(clause: Clause, of: dict[str, re.Pattern[str]]) -> str:
    """The reference to a figure of one part in a piece of a clause that has only the words for the other; "" for none."""
    cuts = [m.start() for m in _PIECE.finditer(clause.own)]
    edges = [0, *cuts, len(clause.own)]
    for begin, end in pairwise(edges):
        parts = [g for g in clause.groups if begin <= g.start < end and g.column in of]
        if len(parts) != 1:
            continue
        own = of[parts[0].column]
        piece = clause.own[begin:end]
        if not own.search(piece) and any(p.search(piece) for c, p in of.items() if c != parts[0].column):
            return parts[0].cells[0].ref
    return ""


def beside_edge(text: str, ledger: Ledger) -> str:
    """The reference to a figure that a sentence puts to an end or a beginning that it is not of; "" where there is none."""
    for clause in clauses(text, ledger):
        for edge, other in ((_AT_END, _FIRST), (_AT_BEGIN, _LAST)):
            for said in edge.finditer(clause.own):
                group = _nearest(clause, said)
                if group is None:
                    continue
                cell = group.cells[0]
                if (
                    (edge is _AT_END and re.search(r"memory|limit(?!_share|_used)|requested", cell.column))
                    or other.search(cell.column)
                    or _of_whole(cell.column, clause.own)
                    or (edge is _AT_END and _has_late(cell, ledger))
                ):
                    return cell.ref
    return ""


def _has_late(cell: CellValue, ledger: Ledger) -> bool:
    """Whether the row has another figure of the same for the end: `launches_late`, `sm_late` beside `sm_mean`."""
    late = re.sub(r"(?:_(?:mean|median))?$", "_late", cell.column, count=1)
    return any(c.name == late for c in ledger.get(cell.id).columns)


def _nearest(clause: Clause, said: re.Match[str]) -> Group | None:
    """The group of figures that stands next to the words for the moment."""
    figures = [g for g in clause.groups if isinstance(g.cells[0].value, (int, float)) and not g.subject]
    return min(figures, key=lambda g: min(abs(g.start - said.end()), abs(said.start() - g.end)), default=None)


def _of_whole(column: str, own: str) -> bool:
    return any(columns.search(column) and not words.search(own) for columns, words in _WHOLE)
