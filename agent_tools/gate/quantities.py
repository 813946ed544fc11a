"""Words that count rows: what they say is held against every row of the answer that is cited beside them.

    Two attempts ended as [[E5.state]].                  as many rows have that state
    Only rank [[E6:8.rank]] exited with [[E6:8.exit_code]].       no other rank has it
    Both ranks ran on [[E7.node]].                       the job has two, and both rows say so
    The second attempt ran for [[E5:1.elapsed_s]].       the row is of attempt 2

The cells of the clause that say nothing of whom (a state, a code, a node of ranks) are the condition; the rows that meet it are
counted. The answer has to be whole: every row held and shown, and of the whole job.
LIMIT: a clause that denies, hedges, or cites several answers says nothing here; its words are then figures like any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.again import again
from agent_tools.gate.besides import small
from agent_tools.gate.clauses import SUBJECTS, Clause, clauses
from agent_tools.gate.edges import of_own_end
from agent_tools.gate.extent import extended
from agent_tools.gate.gaps import gaps, unreckoned
from agent_tools.gate.grounds import COUNTED, NUMBER_WORDS
from agent_tools.gate.kinds import doing, finished, kind, of_query
from agent_tools.gate.levels import levelled
from agent_tools.gate.multiples import reckoned
from agent_tools.gate.nearness import near
from agent_tools.gate.nones import none_told
from agent_tools.gate.ordinals import ORDINALS, in_order, of_reports, ordered
from agent_tools.gate.pairs import alike, longer, neither
from agent_tools.gate.parting import parted
from agent_tools.gate.plain import plainly
from agent_tools.gate.records import recorded
from agent_tools.gate.scope import held_by_job, whole
from agent_tools.gate.sharing import shared
from agent_tools.gate.spelled import spelled
from agent_tools.gate.tries import numbered, tried
from agent_tools.gate.wholes import of_wholes
from agent_tools.gate.words import singular
from agent_tools.references import HOLE
from store import lazy
from store.result import Cell

_NOUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("rank", "process"), ("rank",)),
    **dict.fromkeys(("gpu", "card"), ("node", "gpu", "gpu_uuid")),
    **dict.fromkeys(("node", "host", "machine"), ("node",)),
    "attempt": ("job_id", "attempt"),
    "job": ("job_id",),
    "step": ("step_id",),
}
"""What a row is of, by the columns that say which one."""
_OF_JOB = {
    **dict.fromkeys(("rank", "process", "gpu", "card"), "gpus"),
    **dict.fromkeys(("node", "host", "machine"), "node_count"),
}
"""How many of it the job has, by accounting's column; a rank for each GPU."""
_CALLED = frozenset({"job_attempts", "job_steps"})
"""Answers that have a row for each attempt, or step, of the job."""
_NUMBER = f"{COUNTED}|single"
_NOUN = r"(?P<noun>[A-Za-z]+)\b(?!-)"
_COUNT = lazy.compile(
    rf"(?i)\b(?P<lead>(?:only|just|exactly|all|the|all of the|its|a) )*(?P<n>{_NUMBER})(?: of (?:(?:the |its )?(?P<m>{_NUMBER})|the|its))? {_NOUN}(?P<only> only)?"
)
_EACH = lazy.compile(rf"(?i)\b(?P<n>each|every|both|all)(?: of)?(?: the| its)?(?: (?P<k>{_NUMBER}))? {_NOUN}")
_EACH_BEHIND = lazy.compile(r"(?i) each(?=\W*$)")
_ONLY = lazy.compile(
    rf"(?i)\bonly (?:the )?(?P<ordinal>(?:{'|'.join(ORDINALS)}) )?(?:(?P<noun>[A-Za-z]+) ?)?(?=[{HOLE}a-z])"
)
_UNSURE = lazy.compile(
    r"(?i)\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t|but|except|besides|other|others|another|least|most|than"
    r"|nearly|almost|about|around|some|any|or|if|whether|would|could|may|might|rest|remaining|further|additional|more|fewer|less|up to|failed to"
    r"|half|different|various|later|next|previous)\b"
)
_DIFFERENT = lazy.compile(r"(?i)\b(?:on|in|of|from|by|at|with) (?:two |the )?different\b")
"""Said of where they were, not of which they are."""
_BREAK = lazy.compile(rf"(?i)(?:,|:(?=\s+the [a-z]+ (?:at|in|on)\b))\s+(?:the )?(?:last|first|{'|'.join(ORDINALS)})\b")
"""`six of them, the last at *`: what follows is of one row, and no condition."""
_PLACED = lazy.compile(
    rf"(?i)\W*(?:all )?(?:ran|run|runs|are|were|is|was)(?: running| placed)? on (?:node )?{HOLE}+\W*"
)
"""Where something ran: of nothing else may a condition be that is only a place."""
_LOOSE = lazy.compile(r"(?i):|\b(?:an?|and|when|while|after|before|which|who|that)\b")
_ITS = lazy.compile(rf"(?i)\b(?:its|the job's) (?P<n>{_NUMBER}) {_NOUN}")
_PLACED_ON = lazy.compile(
    r"(?i)\b(?:ran|run|runs|running|spread|held|spanned|waited|started|ended|no [a-z ]{2,40}|any|one|each|every|both|all|none|neither) (?:[a-z]+ )?(?:on|over|across|of|in|for|from)? ?$"
)
"""Ahead of all nodes or GPUs of a job: a place, and no claim that something befell each of them."""
_SAME = lazy.compile(rf"(?i)\bthe (?P<same>same) [a-z]+,? {HOLE}")
_ROW = lazy.compile(rf"(?i),\s+the (?P<n>(?:last|{'|'.join(ORDINALS)})(?: one)?) (?:at|on|in|by)\b[^,{HOLE}]*{HOLE}")
_APPOSITION = lazy.compile(r"[,:(–—]")
_TELLS = lazy.compile(
    r"(?i)\W*(?:the (?:log|run|job|kernel log)|it|slurm|accounting) (?:holds|shows|has|had|records|recorded|logged|announces|reports|lists|names|raised)\b"
)
_APPOSED = lazy.compile(rf"\s*[,:(–—-]+\s*{HOLE}")
_LISTED = lazy.compile(
    rf"(?i)\b(?P<n>{_NUMBER}) {_NOUN}(?: [a-z ]{{0,24}})?(?:,|:|[ ]?[(–—]) ?(?:jobs? |nodes? |ranks? )?(?={HOLE})"
)
_BEGIN = lazy.compile(rf"(?i)\W*(?:here|there (?:are|were|is|was)|{_TELLS.pattern[7:]})?\W*")


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of an answer that meet a clause's condition, what of them is cited, and what each is of."""

    evidence: Evidence
    met: list[int]
    cited: list[int]
    condition: dict[str, Cell]


def borne_out(text: str, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a text words of number, order and extent stand that the rows beside them bear out."""
    found: list[tuple[int, int]] = []
    nouns = frozenset[str]()
    said = clauses(text, ledger)
    for i, clause in enumerate(said):
        nouns = ordered(clause) or nouns
        spans = [
            *_in_clause(clause, ledger),
            *(in_order(clause, ledger, nouns) or of_reports(clause, ledger)),
            *of_own_end(clause, ledger),
            *reckoned(clause, ledger),
            *gaps(clause, ledger),
            *spelled(clause, ledger),
            *parted(clause),
            *extended(clause, said[:i], ledger),
            *neither(clause, ledger),
            *again(clause, ledger),
            *alike(clause, ledger),
            *tried(clause, ledger),
            *levelled(clause),
            *recorded(clause, ledger),
            *of_wholes(clause, ledger),
            *near(clause, ledger),
            *shared(clause, said[:i], ledger),
            *none_told(clause, ledger),
            *small(clause, ledger),
            *plainly(clause, ledger),
            *(span for span, so in longer(clause, ledger) if so),
        ]
        found += [(clause.at + a, clause.at + b) for a, b in spans]
    return found


def _in_clause(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    own = clause.own
    cut = _BREAK.search(own)
    end = cut.start() if cut else len(own)
    every_cell = _of_rows([c for g in clause.groups for c in g.cells], ledger)
    cells = _of_rows([c for g in clause.groups if g.start < end for c in g.cells], ledger)
    yield from numbered(clause, every_cell, ledger)
    for m in _ITS.finditer(own):
        column = _OF_JOB.get(singular(m["noun"]), "")
        placed = _PLACED_ON.search(own[: m.start()]) is not None
        if (
            column
            and placed
            and {held_by_job(ledger.get(c.id), ledger, column) for c in every_cell} == {_number(m["n"])}
        ):
            yield m.span("n")
    if _UNSURE.search(_DIFFERENT.sub(" ", unreckoned(clause, ledger))) or len({c.id for c in every_cell}) != 1:
        return
    evidence = ledger.get(every_cell[0].id)
    for m in _COUNT.finditer(own, 0, end):
        noun, number, of = singular(m["noun"]), _number(m["n"]), _number(m["m"])
        at_head, tells = _BEGIN.fullmatch(own[: m.start()]) is not None, _TELLS.fullmatch(own[: m.start()].rstrip())
        held = _held(evidence, cells, noun) == number and not of and not m["only"]
        if not at_head or (tells and noun == "attempt"):
            if held:
                yield m.start("n"), m.end("n")
                if re.search(r"(?i)only |just |exactly ", m[0][: m.start("n") - m.start()]):
                    yield m.start(), m.start("n")
            elif noun == "attempt" and cells and not of and _total(evidence, noun, ledger) == number:
                yield from [(m.start(), m.end("n"))] if whole(evidence, ledger) else []
            continue
        late = _APPOSITION.search(own, m.end(), end)
        beside = {g.column for g in clause.groups if late and late.end() <= g.start < end}
        rows = _rows(evidence, cells, noun, own[m.end() : end], ledger, beside)
        if rows is None and held and not m["lead"]:
            yield m.span("n")
        if rows is None or _amount(rows, noun) != number:
            continue
        every = re.search(r"(?i)\ball\b", m[0][: m.start("n") - m.start()])
        total = _total(evidence, noun, ledger)
        job = held_by_job(evidence, ledger, _OF_JOB.get(noun, ""))
        apposed = of_query(evidence, noun) and (tells or _APPOSED.match(own, m.end()))
        if apposed and (total != number or _events(evidence) != number):
            continue  # "a single exception, *": of all that there are
        if (
            (of and of not in (total, job))
            or (every and total != (of or number))
            or (rows.cited and not set(rows.cited) <= set(rows.met))
        ):
            continue
        definite = re.search(r"(?i)\b(?:the|its) $", m[0][: m.start("n") - m.start()])
        if definite and total != number:
            continue  # "the two ranks that ..." are not any two
        yield m.start(), m.end("m") if of else m.end("n")
        if m["only"] and total == number:
            yield m.span("only")
        if (each := _EACH_BEHIND.search(own, m.end())) and total == number:
            yield each.span()
        yield from _one_of(own, clause, rows)
    for m in _EACH.finditer(own, 0, end):
        noun = singular(m["noun"])
        rows = _rows(evidence, cells, noun, own[m.end() : end], ledger) if _BEGIN.fullmatch(own[: m.start()]) else None
        total = _total(evidence, noun, ledger)
        if not rows or not total or _amount(rows, noun) != total or (m["n"].lower() == "both" and total != 2):
            continue
        if m["k"] is None or _number(m["k"]) == total:
            yield m.start("n"), m.end("k") if m["k"] else m.end("n")
            yield from (same.span("same") for same in _SAME.finditer(own, m.end(), end))
    yield from _listed(clause, evidence, ledger)
    yield from _only(own, end, cells, evidence, ledger)


def _listed(clause: Clause, evidence: Evidence, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`two nodes, A and B`: those that are listed behind the number, where no other row has what else the clause cites."""
    for m in _LISTED.finditer(clause.own):
        noun = singular(m["noun"])
        group = next(g for g in clause.groups if g.start == m.end())
        rest = {g.column: g.cells[0].value for g in clause.groups if g is not group and len(g.cells) == 1}
        which = {_which(evidence, noun, c.row) for c in group.cells}
        every = {_which(evidence, noun, r) for r in _met(evidence, rest)}
        named = group.column in _NOUNS.get(noun, ()) and whole(evidence, ledger)
        if named and which == every and len(which) == len(group.cells) == _number(m["n"]):
            yield m.span("n")


def _of_rows(cells: list[CellValue], ledger: Ledger) -> list[CellValue]:
    """The cells without the job's own name, where the others are of an answer that was asked of that job."""
    others = [c for c in cells if c.column != "job_id"]
    asked = {str(ledger.get(c.id).params.get("job_id")) for c in others}
    return others if others and asked == {str(c.value) for c in cells if c.column == "job_id"} else cells


def _only(
    own: str, end: int, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`only` of what is cited right behind it: no other row has what the clause says of it."""
    m = _ONLY.search(own, 0, end)
    if m is None or not _BEGIN.fullmatch(own[: m.start()]) or _LOOSE.search(own[m.end() : end]):
        return
    noun = singular(m["noun"] or "")
    columns = _NOUNS.get(noun) or ((cells[0].column,) if own[m.end() : m.end() + 1] == HOLE else ())
    if m["ordinal"]:
        columns = ("attempt",) if noun == "attempt" and own[: m.end()].lower().rstrip().endswith("attempt") else ()
    names = {c.name for c in evidence.columns}
    if _of_several(evidence, columns):
        return
    condition = {c.column: c.value for c in cells if c.column not in columns}
    named = {c.row for c in cells}
    if (
        not columns
        or not any(c in names for c in columns)
        or not condition
        or len(named) != 1
        or not whole(evidence, ledger)
    ):
        return
    if all(c in SUBJECTS for c in condition) and _total(evidence, noun, ledger) is None:
        return
    if not m["ordinal"] and not any(c.column in columns for c in cells):
        return
    met = _met(evidence, condition)
    which = [c for c in columns if c in names]
    if len({tuple(evidence.value(c, r) for c in which) for r in (*met, *named)}) == 1:
        yield m.start(), m.start() + len("only")


def _one_of(own: str, clause: Clause, rows: _Rows) -> Iterator[tuple[int, int]]:
    """`six of them, the sixth at *`: the row that is cited is that one of them, in the order of their lines or times."""
    for m in _ROW.finditer(own):
        cited = {c.row for g in clause.groups if g.start == m.end() - 1 for c in g.cells}
        order = next((c for c in ("line_no", "event_ts", "ts") if _has(rows.evidence, c)), "")
        places = [str(rows.evidence.value(order, r)).rjust(40) for r in rows.met] if order else []
        which = m["n"].lower().removesuffix(" one")
        at = -1 if which == "last" else ORDINALS[which] - 1
        if places and places == sorted(places) and at < len(rows.met) and cited == {rows.met[at]}:
            yield m.span("n")


def _rows(
    evidence: Evidence, cells: Sequence[CellValue], noun: str, behind: str, ledger: Ledger, beside: Collection[str] = ()
) -> _Rows | None:
    """The rows that meet what the clause says, None where it says nothing that rows can meet, or the answer is not whole."""
    what = kind(evidence, noun)
    named = what is None and of_query(evidence, noun)
    told = {c.column: c.value for c in cells}
    if not whole(evidence, ledger, what[1] if what else "", told) or (
        noun not in _NOUNS and what is None and not named
    ):
        return None
    own = _NOUNS.get(noun, ())
    if own and (not any(_has(evidence, c) for c in own) or _of_several(evidence, own)):
        return None
    said: dict[str, list[CellValue]] = {}
    for c in cells:
        said.setdefault(c.column, []).append(c)
    listed = {c for c, found in said.items() if len({f.row for f in found}) > 1}
    condition = {
        c: found[0].value
        for c, found in said.items()
        if len({str(f.value) for f in found}) == 1
        and (c not in own or (noun in ("gpu", "card") and c == "node" and not {"gpu", "gpu_uuid"} & set(said)))
    }
    if what is not None:
        column, value = what
        condition[column] = value
        alike = {str(evidence.value("name", r)) for r in _met(evidence, condition)} if _has(evidence, "name") else {""}
        if len(alike) != 1 or finished(next(iter(alike)), behind):
            return None
    elif named:
        done = doing(evidence, behind)
        if done is None:
            return None
        told = {c: v for c, v in condition.items() if c in beside}
        condition = {c: v for c, v in condition.items() if c not in beside} | done
        if told and len(_met(evidence, condition | told)) != len(_met(evidence, condition)):
            return None  # "one was saved, at step *", of several
    elif noun in ("gpu", "card") and listed:
        condition.pop("node", None)
    if not condition and not (listed and own) and not named:
        return None
    bare = what is None and not named and all(c in SUBJECTS for c in condition) and not listed
    if bare and not (_PLACED.fullmatch(behind) and _total(evidence, noun, ledger)):
        return None
    met = _met(evidence, condition)
    cited = sorted({c.row for c in cells})
    several = [c for c in cells if c.column in listed]
    if several and len({_which(evidence, noun, c.row) for c in several}) != len(
        {_which(evidence, noun, r) for r in met}
    ):
        return None
    return _Rows(evidence, met, cited if several else [], condition)


def _amount(rows: _Rows, noun: str) -> int:
    """How many of the noun the rows are of; events that are alike stand in one row with their number."""
    if noun in _NOUNS:
        return len({w for r in rows.met if (w := _which(rows.evidence, noun, r)) != (None,)})
    if of_query(rows.evidence, noun):
        return len(rows.met)
    many = next((c for c in ("events", "times") if _has(rows.evidence, c)), "")
    counts = [rows.evidence.value(many, r) for r in rows.met] if many else [1] * len(rows.met)
    return sum(n for n in counts if isinstance(n, int))


def _events(evidence: Evidence) -> int:
    return _amount(_Rows(evidence, [*range(len(evidence.rows))], [], {}), "")


def _which(evidence: Evidence, noun: str, row: int) -> tuple[Cell, ...] | int:
    columns = [c for c in _NOUNS.get(noun, ()) if _has(evidence, c)]
    return tuple(evidence.value(c, row) for c in columns) if columns else row


def _total(evidence: Evidence, noun: str, ledger: Ledger) -> int | None:
    """How many of the noun the job has, where the answer has a row of each; None where that is not known."""
    if of_query(evidence, noun) and noun not in _NOUNS:
        return len(evidence.rows)
    if of := kind(evidence, noun):
        return _amount(_Rows(evidence, _met(evidence, dict([of])), [], {}), noun)
    columns = [c for c in _NOUNS.get(noun, ()) if _has(evidence, c)]
    if not columns or noun == "job":
        return None
    here = len({tuple(evidence.value(c, r) for c in columns) for r in range(len(evidence.rows))} - {(None,)})
    if noun in ("attempt", "step"):
        return here if evidence.query in _CALLED else None
    return here if held_by_job(evidence, ledger, _OF_JOB[noun]) == here else None


def _of_several(evidence: Evidence, columns: Sequence[str]) -> bool:
    """Whether a row stands for more of them than the one that it names: the first of its `ranks`, of `all_ranks`."""
    names = {c.name for c in evidence.columns}
    return any(f"{c}s" in names or f"all_{c}s" in names for c in columns)


def _held(evidence: Evidence, cells: Sequence[CellValue], noun: str) -> Cell:
    """What the cited row itself has as the number of the noun: `node_count`, `gpus`; None where it has none."""
    named = [c.name for c in evidence.columns if c.name in (f"{noun}_count", f"{noun}s")]
    rows = {c.row for c in cells}
    return evidence.value(named[0], next(iter(rows))) if named and len(rows) == 1 else None


def _met(evidence: Evidence, condition: dict[str, Cell]) -> list[int]:
    return [r for r in range(len(evidence.rows)) if all(evidence.value(c, r) == v for c, v in condition.items())]


def _has(evidence: Evidence, column: str) -> bool:
    return any(c.name == column for c in evidence.columns)


def _number(word: str | None) -> int:
    return 0 if word is None else 1 if word.lower() == "single" else NUMBER_WORDS[word.lower()]
