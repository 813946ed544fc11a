"""Of how many is it so? What a clause says of every one, of all the others, or of more than any other is held against every row.

    Each node ran [[E8.ranks]] ranks.                               every node's row has that number
    The other ranks got signal [[E6.exit_signal]].                  every rank's row but that of the one named before
    [[E2.value]] had more attempts than any other node ([[E2.attempts]]).        no other row has as many
    The card was never hotter than [[E5.temp_max_c]].               the highest of its column, by its name

The answer has to be whole: every row held and shown, and of the whole job, as many of them as accounting says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent_tools.evidence import FOUND, Evidence, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.alone import alone
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.gate.grounds import COUNTED, NUMBER_WORDS
from agent_tools.gate.likeness import likened
from agent_tools.gate.scope import held_by_job, whole
from agent_tools.gate.several import several
from agent_tools.gate.words import singular, stems
from agent_tools.references import HOLE
from store import lazy

_NOUN = r"(?P<noun>ranks?|process(?:es)?|nodes?|hosts?|machines?|gpus?|cards?|attempts?|users?)\b"
_OF: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("rank", "process"), (("rank",), "gpus")),
    **dict.fromkeys(("node", "host", "machine"), (("node",), "node_count")),
    **dict.fromkeys(("gpu", "card"), (("node", "gpu"), "gpus")),
    "attempt": (("attempt",), ""),
    "user": (("user",), ""),
}
"""By which columns a row is of one of them, and accounting's column of how many the job has."""
_EVERY = lazy.compile(
    rf"(?i)\b(?P<w>each|every|both|all)(?: of)?(?: the| its| these)? (?:(?P<n>{HOLE}+) )?{_NOUN}(?!['’])"
)
_THEY_ALL = lazy.compile(
    rf"(?i)\b(?P<noun>attempt|rank|node|gpu)s?\b[^{HOLE},;:]*[:,;] (?P<w>both|all|each)(?: of them)? (?=[a-z]+(?: [a-z]+){{0,3}} {HOLE})"
)
_EACH_TOO = lazy.compile(r"(?i),? (?P<w>each)(?=\W*$|[,;(]| (?:after|at|in|on|with|for|by)\b)")
_OTHERS = lazy.compile(
    rf"(?i)\b(?P<w>(?:all |every |each )?(?:of )?(?:the )?(?:(?P<n>{COUNTED}) )?(?:others?|remaining)(?: (?P<k>{COUNTED}))?\b)(?: (?P<noun>ranks?|process(?:es)?|nodes?|gpus?|cards?)\b)?"
)
_EVERY_ONE = lazy.compile(
    rf"(?i)^\W*(?P<w>(?:all|each|every)(?: of the)?(?: (?P<n>{COUNTED}))?) (?:ranks?|process(?:es)?|nodes?|gpus?|cards?)\b(?=[^:;.{HOLE}]*:)"
)
_UNSURE = lazy.compile(
    r"(?i)\b(?:not|never|none|neither|nor|but|except|besides|most|than|nearly|almost|about|around|some|any|or|if|whether|up to|half|different"
    r"|only|just|first|last|together|combined|in total|in all)\b|n['’]t\b"
)
_MORE = r"(?:more|greater|larger|bigger|higher|longer|later|hotter|warmer|busier)"
_LESS = r"(?:less|fewer|smaller|lower|shorter|earlier|cooler|colder)"
_THAN_ANY = lazy.compile(
    rf"(?i)\b(?P<w>(?P<more>{_MORE})|{_LESS})\b[^,;:{HOLE}]*?\bthan (?:(?:ended|failed|ran|waited) )?(?:on |in |by |of )?(?P<any>(?:any|all|every)(?: of the| the)? others?|any(?:body|one|thing)? else(?:['’]s)?)\b"
)
_NEVER_ABOVE = lazy.compile(
    rf"(?i)\b(?P<a>never|at no time|not once) (?:(?:got|went|rose|was|were|grew|became|used|took|held|reached|had) )*(?P<b>(?P<more>exceeded|above|over|beyond|{_MORE} than)|below|under|{_LESS} than) (?={HOLE})"
)
_HIGHEST = lazy.compile(r"(?:^|_)(?:max|peak|highest|longest)(?:_|$)")
_LOWEST = lazy.compile(r"(?:^|_)(?:min|lowest|shortest)(?:_|$)")
_WITHIN = lazy.compile(
    rf"(?i)\b(?:(?P<w>well (?:within|below|under|inside))|(?P<e>exactly|precisely)) (?:its|the) (?:time |memory )?limit of (?={HOLE})"
)
_AGAIN = lazy.compile(rf"(?i)\b(?P<w>again) (?:at|on|in) (?={HOLE})")
_SAME_NUMBER = lazy.compile(r"(?i)\bthe (?P<w>same) (?:number|count|amount)\b")
_INTERVAL = lazy.compile(rf"(?i)\b(?P<w>every) (?:about |some )?(?={HOLE})")
_STEPS_APART = lazy.compile(rf"(?i)(?P<n>{HOLE}+) steps (?P<w>apart)\b")
_PACE = lazy.compile(r"(?:^|_)(?:gap|pace|interval|period)(?:_|$)")
_EVERY_OF = lazy.compile(
    rf"(?i)^\W*(?P<w>every|each|all)\b (?P<what>[^{HOLE}:;(]*)(?::|\() ?{HOLE}+ (?:out )?of (?:the |its |all )?{HOLE}+\W*$"
)
_ONLY_ONE = lazy.compile(rf"(?i)^\W*(?P<w>only) one (?P<noun>node|job|gpu|card|user)\b[^{HOLE},;:]*[,:] (?={HOLE})")
_PAST = lazy.compile(
    r"(?i)\b(?:the|its) (?:time )?limit (?:was|had been) (?P<w>exceeded|overrun|passed)\b|\b(?P<v>exceeded|overran|passed) (?:the|its) (?:time )?limit\b"
)
_EVERY_FEW = lazy.compile(r"(?i)\b(?P<w>every few) (?P<unit>seconds|minutes|hours)\b")
_UNITS = {"seconds": "s", "minutes": "min", "hours": "h"}
_FEW = 10
_ALL_SO_MANY = lazy.compile(rf"(?i)\b(?P<w>all (?:of (?:its|the) |its |the )?(?P<n>{COUNTED})) (?P<noun>gpus|cards)\b")
_AT_LEAST, _AT_MOST = (lazy.compile(rf"(?i)\bat {w} (?={HOLE})") for w in ("least", "most"))
_ALL_LEAST, _ALL_MOST = lazy.compile(r"^all_\w*_min$"), lazy.compile(r"^all_\w*_max$")
_UP_TO = lazy.compile(rf"(?i)\b(?:up to|as (?:hot|warm|high|much|long|many|large|far) as) (?={HOLE})")
_NOT = lazy.compile(r"(?i)\b(?:not|never|no|none|nor|without|but|except)\b|n['’]t\b")
_WELL = 0.8
_TWO = 2


def extended(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause such words stand that the rows beside them bear out."""
    return [
        *_every(clause, ledger),
        *_others(clause, before, ledger),
        *_they_all(clause, ledger),
        *several(clause, before, ledger),
        *likened(clause, ledger),
        *_than_any(clause, ledger),
        *never_above(clause),
        *_well_within(clause),
        *_again(clause),
        *_exceeded(clause, ledger),
        *_at_intervals(clause, ledger),
        *_every_few(clause),
        *_all_of_them(clause, ledger),
        *_every_of(clause),
        *_only_one(clause, ledger),
        *alone(clause, ledger),
        *((m.start(), m.end()) for m in _UP_TO.finditer(clause.own) if _high(m.end(), clause)),
    ]


def _every(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    own = clause.own
    said = list(_EVERY.finditer(own))
    if len(said) != 1 or _UNSURE.search(own) or _OTHERS.search(own):
        return
    m = said[0]
    columns, of_job = _OF[singular(m["noun"])]
    number = [g for g in clause.groups if m["n"] and g.start == m.start("n")]
    rest = [c for g in clause.groups if g not in number for c in g.cells]
    figures = [c for c in rest if c.column not in SUBJECTS]
    answers = {c.id for c in rest}
    if not figures or len(answers) != 1 or any(c.column == FOUND for c in rest):
        return
    evidence = ledger.get(figures[0].id)
    if not _all_rows(evidence, columns, of_job, ledger) or any(c.column in columns for c in rest):
        return
    if columns == ("attempt",) and len({r.get("job_id") for r in evidence.dicts()}) > 1:
        return  # attempts of several jobs are not those of one
    rows = range(len(evidence.rows))
    if any(evidence.value(c.column, r) != c.value for c in figures for r in rows):
        return
    many = len({tuple(evidence.value(n, r) for n in columns) for r in rows})
    if (m["w"].lower() == "both" and many != _TWO) or any(c.value != many for g in number for c in g.cells):
        return
    yield m.span("w")
    if each := _EACH_TOO.search(own, m.end()):
        yield each.span("w")
    yield from (same.span("w") for same in _SAME_NUMBER.finditer(own, m.end()))


def _they_all(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`no attempt ...: both ended as *`: every row of the answer has what is cited, and both are two."""
    m = _THEY_ALL.search(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    if m is None or len({c.id for c in cells}) != 1 or any(c.column in SUBJECTS or c.column == FOUND for c in cells):
        return
    columns, of_job = _OF[singular(m["noun"])]
    evidence = ledger.get(cells[0].id)
    rows = range(len(evidence.rows))
    alike = all(evidence.value(c.column, r) == c.value for c in cells for r in rows)
    alike = alike and (columns != ("attempt",) or len({r.get("job_id") for r in evidence.dicts()}) == 1)
    if alike and _all_rows(evidence, columns, of_job, ledger) and (m["w"].lower() != "both" or len(rows) == _TWO):
        yield m.span("w")


def _others(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the other ranks`: every row but those of the ones that are named before has what is cited behind; and `all four ranks ...: rank A
    by *, the others by *`, where each has something of that column."""
    found = others_of(clause, before, ledger)
    if found is None:
        return
    yield found
    cell = next((c for g in clause.groups if g.start >= found[1] for c in g.cells), None)
    if cell is None:
        return
    for m in _EVERY_ONE.finditer(clause.own, 0, found[0]):
        rows = ledger.get(cell.id).dicts()
        told = {c.column for g in clause.groups if not g.subject for c in g.cells} == {cell.column}
        counted = m["n"] is None or NUMBER_WORDS[m["n"].lower()] == len(rows)
        if told and counted and all(r[cell.column] for r in rows):
            yield m.span("w")


def others_of(clause: Clause, before: Sequence[Clause], ledger: Ledger) -> tuple[int, int] | None:
    """Where a clause says something of all others than those named before it, and every other row bears it out; None elsewhere."""
    m = _OTHERS.search(clause.own)
    if m is None or _UNSURE.search(clause.own):
        return None
    behind = [g for g in clause.groups if g.start >= m.end()]
    ahead = [g for g in clause.groups if g not in behind]
    cells = [c for g in (behind if any(g.subject for g in ahead) else clause.groups) for c in g.cells]
    if not cells or len({c.id for c in cells}) != 1 or any(g.subject for g in behind):
        return None
    evidence = ledger.get(cells[0].id)
    named = [g for b in before for g in b.groups] + ahead
    said = [c for g in named for c in g.cells if c.id == evidence.id and c.column in SUBJECTS]
    noun = singular(m["noun"]) if m["noun"] else (said[-1].column if said else "")
    columns, of_job = _OF.get(noun, ((), ""))
    if not said or not columns or said[-1].column not in columns or not _all_rows(evidence, columns, of_job, ledger):
        return None
    told = {c.row for c in said}
    rest = [r for r in range(len(evidence.rows)) if r not in told]
    many = m["n"] or m["k"]
    if not rest or (many and NUMBER_WORDS[many.lower()] != len(rest)):
        return None
    return None if any(evidence.value(c.column, r) != c.value for c in cells for r in rest) else m.span("w")


def _than_any(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`more than any other`: the one figure of the clause is the largest of its column, and no other row is level with it."""
    m = _THAN_ANY.search(clause.own)
    figures = [c for c, _, _ in clause.measures()]
    if m is None or len(figures) != 1 or re.search(r"(?i)\b(?:not|never|no|n['’]t)\b", clause.own):
        return
    cell = figures[0]
    evidence = ledger.get(cell.id)
    if evidence.truncated or len(evidence.rows) != evidence.row_count:
        return
    values = sorted(
        v for r in range(len(evidence.rows)) if isinstance(v := size(evidence.value(cell.column, r)), float)
    )
    own = size(cell.value)
    if len(values) < _TWO or len(values) != len(evidence.rows) or not isinstance(own, float) or values.count(own) > 1:
        return
    if own == (values[-1] if m["more"] else values[0]):
        yield m.span("w")
        yield m.span("any")


def never_above(clause: Clause) -> list[tuple[int, int]]:
    """Where `never above *` stands of the highest of its column, `never below *` of the lowest."""
    found: list[tuple[int, int]] = []
    for m in _NEVER_ABOVE.finditer(clause.own):
        group = next(g for g in clause.groups if g.start == m.end())
        edge = _HIGHEST if m["more"] else _LOWEST
        if len(group.cells) == 1 and edge.search(group.column):
            found += [m.span("a"), m.span("b")]
    return found


def _well_within(clause: Clause) -> list[tuple[int, int]]:
    """`* ..., well within its limit of *`: by a fifth at least."""
    found: list[tuple[int, int]] = []
    for m in _WITHIN.finditer(clause.own):
        limit = next(g.cells[0] for g in clause.groups if g.start == m.end())
        ahead = [c for c, _, end in clause.measures() if end <= m.start() and unit_of(c) == unit_of(limit)]
        x, y = (size(c.value) for c in (ahead[-1], limit)) if ahead else (None, None)
        if "limit" not in limit.column or not isinstance(x, float) or not isinstance(y, float):
            continue
        if x == y if m["e"] else x <= y * _WELL:
            found.append(m.span("e" if m["e"] else "w"))
    return found


def _exceeded(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`the limit was exceeded`, of a share of it above one."""
    m = _PAST.search(clause.own)
    shares = [c for g in clause.groups for c in g.cells if c.column in ("limit_used", "limit_share")]
    past = [isinstance(v := size(c.value), float) and v > 1 for c in shares]
    if m and past and all(past) and not _NOT.search(clause.own):
        yield m.span("v" if m["v"] else "w")


def _again(clause: Clause) -> list[tuple[int, int]]:
    """`at * and again at *`: two times of one column, the later behind."""
    found: list[tuple[int, int]] = []
    for m in _AGAIN.finditer(clause.own):
        moment = next(g.cells[0] for g in clause.groups if g.start == m.end())
        ahead = [c for c, _, end in clause.measures() if end <= m.start() and c.column == moment.column]
        x, y = (size(c.value) for c in (ahead[-1], moment)) if ahead else (None, None)
        if isinstance(x, str) and isinstance(y, str) and x < y:
            found.append(m.span("w"))
    return found


def _all_rows(evidence: Evidence, columns: Sequence[str], of_job: str, ledger: Ledger) -> bool:
    """Whether an answer has a row of each of them that the job has, and each is shown."""
    names = {c.name for c in evidence.columns}
    if (
        not {*columns} <= names
        or not whole(evidence, ledger)
        or any(f"{c}s" in names or f"all_{c}s" in names for c in columns[-1:])
    ):
        return False
    many = len({tuple(evidence.value(n, r) for n in columns) for r in range(len(evidence.rows))})
    return many > 1 and (not of_job or held_by_job(evidence, ledger, of_job) == many)


def _at_intervals(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`every *` of a gap or a pace; and `saved every * steps`, where the steps of all saves are so far apart."""
    for m in _INTERVAL.finditer(clause.own):
        cell = next(g.cells[0] for g in clause.groups if g.start == m.end())
        evidence = ledger.get(cell.id)
        if _PACE.search(cell.column):
            yield m.span("w")
        elif cell.column == "step" and evidence.query == "checkpoints" and whole(evidence, ledger):
            steps = [evidence.value("step", r) for r in range(len(evidence.rows))]
            own = cell.value
            if isinstance(own, int) and len(steps) >= _TWO and steps == [own * (i + 1) for i in range(len(steps))]:
                yield m.span("w")
    for m in _STEPS_APART.finditer(clause.own):
        cell = next(g.cells[0] for g in clause.groups if g.start == m.start("n"))
        evidence = ledger.get(cell.id)
        steps = [evidence.value("step", r) for r in range(len(evidence.rows))] if cell.column == "step" else []
        known = [s for s in steps if isinstance(s, int)]
        between = {b - a for a, b in pairwise(known)}
        complete = evidence.query == "checkpoints" and whole(evidence, ledger) and known == steps
        if complete and between == {cell.value}:
            yield m.span("w")


def _every_few(clause: Clause) -> Iterator[tuple[int, int]]:
    """`every few seconds`, beside a gap or a pace of two to ten of them."""
    paces = [c for g in clause.groups for c in g.cells if _PACE.search(c.column) and unit_of(c) in _UNITS.values()]
    for m in _EVERY_FEW.finditer(clause.own):
        sizes = [(v, unit_of(c)) for c in paces if isinstance(v := size(c.value), float)]
        if len(sizes) == 1 and sizes[0][1] == _UNITS[m["unit"].lower()] and _TWO <= sizes[0][0] < _FEW:
            yield m.span("w")


def _all_of_them(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`on all sixteen GPUs ... at least *`: the extreme of all, of a row that has so many; `all sixteen GPUs are free: * of *`."""
    figures = [c for g in clause.groups for c in g.cells]
    for m in _ALL_SO_MANY.finditer(clause.own):
        number = NUMBER_WORDS[m["n"].lower()]
        if not figures or _NOT.search(clause.own) or len({(c.id, c.row) for c in figures}) != 1:
            continue
        free = [c.column for c in figures] == ["all_free", "all_gpus"] and all(c.value == number for c in figures)
        behind = clause.own[m.end() :]
        edge = len(figures) == 1 and (
            (_AT_LEAST.search(behind) and _ALL_LEAST.search(figures[0].column))
            or (_AT_MOST.search(behind) and _ALL_MOST.search(figures[0].column))
        )
        many = {c.name for c in ledger.get(figures[0].id).columns} & {"gpus", "used"}
        of_all = edge and len(many) == _TWO and all(held(ledger, figures[0], n) == number for n in many)
        if (free and m["noun"].lower() in ("gpus", "cards")) or of_all:
            yield m.span("w")


def _high(at: int, clause: Clause) -> bool:
    """Whether the figure that stands there is the highest of many, by its column's name."""
    return any(g.start == at and _HIGHEST.search(g.column) for g in clause.groups)


def _every_of(clause: Clause) -> Iterator[tuple[int, int]]:
    """`Every loss is finite: * of *`: as many as there are, in one row, and the first is named by a word of its own column."""
    m = _EVERY_OF.match(clause.own)
    if m is None or _NOT.search(m["what"]) or len(clause.groups) != _TWO:
        return
    a, b = (g.cells[0] for g in clause.groups)
    named = stems(a.column.replace("_", " ")) - stems(b.column.replace("_", " "))
    if (a.id, a.row) == (b.id, b.row) and a.value == b.value and a.value and named and named <= stems(m["what"]):
        yield m.span("w")


def _only_one(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`Only one node was in trouble: *`: all that a question of the whole fleet found is of that one."""
    m = _ONLY_ONE.match(clause.own)
    group = next((g for g in clause.groups if m and g.start == m.end()), None)
    if (
        m is None
        or group is None
        or len(group.cells) != 1
        or _UNSURE.search(clause.own.replace("only", "", 1).replace("Only", "", 1))
    ):
        return
    evidence = ledger.get(group.cells[0].id)
    column = {"job": "job_id", "card": "gpu_uuid", "gpu": "gpu_uuid"}.get(m["noun"].lower(), m["noun"].lower())
    values = {evidence.value(group.column, r) for r in range(len(evidence.rows))}
    if group.column == column and "job_id" not in evidence.params and len(values) == 1 and whole(evidence, ledger):
        yield m.span("w")
