"""Words of order: each is held against the row that it stands for.

    The first attempt ended as [[E5.state]], the second as [[E5:1.state]].
    The second attempt ran longer than the first: [[E5:1.elapsed_s]] against [[E5.elapsed_s]].
    The first XID came from [[E8.node]]; the second from [[E8:1.node]].

Which attempt a row is of its own column says; of other rows the order of their times, where every row is held and shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held
from agent_tools.gate.order import order
from agent_tools.gate.scope import whole
from store import lazy

ORDINALS = {
    word: n
    for n, word in enumerate(
        (
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
        ),
        1,
    )
}
_NOUN = r"(?:attempt|run|try|start|exception|error|XID|event|checkpoint|save|failure|one)"
_ORDINAL = lazy.compile(
    rf"(?i)\b(?:the|its|a) (?P<n>{'|'.join(ORDINALS)}|last)\b(?=(?: (?:and (?:the )?(?P<m>{'|'.join(ORDINALS)}|last)\b))?(?: (?P<noun>{_NOUN})\b)?)"
)
_NOT_ROWS = lazy.compile(
    r"(?i)\s+(?!attempts?\b|runs?\b|try\b|start\b|exceptions?\b|errors?\b|xids?\b|events?\b|checkpoints?\b|saves?\b|failure\b|ones?\b)(?:[a-z]+ )?(?:[a-z]+s|rank|node|gpu|step|epoch|line|report|loss|minute|second|hour)\b(?<!as)(?<!was)(?<!is)(?<!has)"
)
"""What an ordinal may be of that is no row here: `the second node`, `the first five steps`."""
_RERUN = lazy.compile(r"(?i)\bthe re-?run\b")
_REPORT = lazy.compile(r"(?i) reports?\b")
_TWO_REPORTS = lazy.compile(r"(?i)\b(?:between|in|over|at|from) the (?P<w>(?P<n>first|last) two) reports\b")
_DURING = lazy.compile(r"(?i)\b(?:at|in|on|with|during|by) (?:its|the|his|her|their) $")
_ATTEMPTS = lazy.compile(r"(?i)^(?:attempt|run|try|start)$")


def ordered(clause: Clause) -> frozenset[str]:
    """What a clause puts in order: "attempt", "xid"."""
    return frozenset(
        m["noun"].lower() for m in _ORDINAL.finditer(clause.own) if m["noun"] and m["noun"].lower() != "one"
    )


def in_order(clause: Clause, ledger: Ledger, nouns: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
    """Where in a clause two or more ordinals, or one of something else than an attempt, stand that each have their own row.

    `nouns` are what is put in order, there or in a clause before it."""
    own = clause.own
    said = list(_ORDINAL.finditer(own))
    if not said or any(_NOT_ROWS.match(own, m.end("n")) for m in said):
        return []
    of_attempts = not nouns or all(_ATTEMPTS.match(n) for n in nouns)
    bare = bool(nouns) and of_attempts and said[0]["noun"] is None  # "...; the second completed", of attempts
    alone = of_attempts or said[0]["n"].lower() in ("first", "last")
    if len(nouns) > 1 or (len(said) == 1 and alone and not bare):
        return []
    shares = _shares(clause, [m.span("n") for m in said])
    if shares is None or not all(
        _are(cells, m["n"].lower(), of_attempts, ledger) for m, cells in zip(said, shares, strict=True)
    ):
        return []
    return [m.span("n") for m in said]


def of_reports(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where ordinals of reports stand (`at the first report, *, at the third *`), each before a cell of the curve's row of that report."""
    if m := _TWO_REPORTS.search(clause.own):
        return [m.span("w")] if _of_two(m["n"].lower(), clause, ledger) else []
    said = list(_ORDINAL.finditer(clause.own))
    nouns = {w[0].strip().lower() for m in said if (w := _REPORT.match(clause.own, m.end("n")))}
    shares = _shares(clause, [m.span("n") for m in said]) if nouns else None
    if shares is None or not all(
        _is_report(c, m["n"].lower(), ledger) for m, of in zip(said, shares, strict=True) for c in of
    ):
        return []
    if any(_NOT_ROWS.match(clause.own, m.end("n")) and not _REPORT.match(clause.own, m.end("n")) for m in said):
        return []
    return [m.span("n") for m in said]


def _of_two(said: str, clause: Clause, ledger: Ledger) -> bool:
    """Whether all that a clause cites is of the first two reports of a curve, or of its last two, and something of each."""
    cells = [c for g in clause.groups for c in g.cells]
    if len({c.id for c in cells}) != 1:
        return False
    last = len(ledger.get(cells[0].id).rows) - 1
    first, second = (0, 1) if said == "first" else (last - 1, last)
    evidence = ledger.get(cells[0].id)
    alone = all(_is_report(evidence.cell(cells[0].column, r), n, ledger) for r, n in ((0, "first"), (last, "last")))
    return alone and {c.row for c in cells} == {first, second} and first >= 0


def _is_report(cell: CellValue, said: str, ledger: Ledger) -> bool:
    """Whether a row of a curve is of one report alone, and of that one, each of those before it of one alone too."""
    evidence = ledger.get(cell.id)
    if not {"bin", "points"} <= {c.name for c in evidence.columns}:
        return False
    at = len(evidence.rows) - 1 if said == "last" else ORDINALS[said] - 1
    up_to = range(len(evidence.rows)) if said == "last" else range(min(at + 1, len(evidence.rows)))
    alone = all(evidence.value("points", r) == 1 for r in up_to)
    return alone and cell.row == at and (said != "last" or whole(evidence, ledger))


def misordered(clause: Clause, ledger: Ledger) -> str:
    """Why a cell is not of the attempt that a clause counts it to; "" where each is, or does not tell its attempt."""
    own = clause.own
    said = [m for m in _ORDINAL.finditer(own) if not _NOT_ROWS.match(own, m.end("n"))]
    nouns = {m["noun"].lower() for m in said if m["noun"] and m["noun"].lower() != "one"}
    if not said or not nouns or not all(_ATTEMPTS.match(n) for n in nouns):
        return ""
    if len(said) == 1 and (m := said[0])["noun"] and _DURING.search(own[: m.start("n")]):
        ahead = [c for g in clause.groups if g.end <= m.start() for c in g.cells]
        rows = {(c.id, c.row) for c in ahead}
        named = (
            all(c.column == "job_id" for c in ahead) and ORDINALS.get(m["n"].lower(), 1) > 1
        )  # the job, by any of its rows
        tells = not named and len(rows) == 1 and isinstance(held(ledger, ahead[0], "attempt"), int)
        if tells and m["n"].lower() != "last" and not _is(ahead[0], m["n"].lower(), True, ledger):
            return f"{m['n']!r} is not the attempt of [[{ahead[0].ref}]]: say of each attempt what its own row says"
    for m, cells in zip(said, _shares(clause, [m.span("n") for m in said]) or [], strict=False):
        told = [c for c in cells if isinstance(held(ledger, c, "attempt"), int)]
        if told and not any(_is(c, m["n"].lower(), True, ledger) for c in told):
            return f"{m['n']!r} is not the attempt of [[{told[0].ref}]]: say of each attempt what its own row says"
    return ""


def _shares(clause: Clause, at: Sequence[tuple[int, int]]) -> list[list[CellValue]] | None:
    """The cells that each ordinal is said of: those up to the next, or one each of those behind the last."""
    edges = [*(a for a, _ in at[1:]), len(clause.own)]
    cells = [(g.start, c) for g in clause.groups for c in g.cells]
    if any(start < at[0][0] for start, _ in cells):
        return None
    shares = [[c for start, c in cells if begin <= start < end] for (begin, _), end in zip(at, edges, strict=True)]
    if all(shares):
        return shares
    behind = shares[-1]
    if any(shares[:-1]) or len(behind) != len(at) or len({c.column for c in behind}) != 1:
        return None
    return [[c] for c in behind]


def _are(cells: Sequence[CellValue], said: str, of_attempts: bool, ledger: Ledger) -> bool:
    return all(_is(c, said, of_attempts, ledger) for c in cells)


def _is(cell: CellValue, said: str, of_attempts: bool, ledger: Ledger) -> bool:
    evidence = ledger.get(cell.id)
    if of_attempts:
        number = held(ledger, cell, "attempt")
        numbers = [n for r in range(len(evidence.rows)) if isinstance(n := _attempt(cell, r, ledger), int)]
        return isinstance(number, int) and number == (max(numbers) if said == "last" else ORDINALS[said])
    if not whole(evidence, ledger) or len(evidence.rows) < 2:
        return False
    others = [evidence.cell(cell.column, r) for r in range(len(evidence.rows)) if r != cell.row]
    signs = [order(o, cell, ledger) for o in others]
    if any(s not in (-1, 1) for s in signs):
        return False
    return signs.count(-1) == (len(others) if said == "last" else ORDINALS[said] - 1)


def _attempt(cell: CellValue, row: int, ledger: Ledger) -> object:
    evidence = ledger.get(cell.id)
    return evidence.value("attempt", row) if any(c.name == "attempt" for c in evidence.columns) else None


def anew(own: str) -> Iterator[int]:
    """Where in a clause another one of several begins to be spoken of: at each ordinal but the first."""
    said = list(_ORDINAL.finditer(own))
    again = bool(said) and _RERUN.search(own[: said[0].start()]) is not None  # "the rerun ... after the first attempt"
    for m in said if again else said[1:]:
        yield m.start("n")
