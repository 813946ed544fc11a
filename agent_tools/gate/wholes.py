"""Of how many is it all told, and did none come near its limit? Every row of the answer that is cited says it.

All [[E5.all_gpus]] GPUs of the four nodes are free.                                    the answer has four nodes, and no more
Neither node came near its memory limit: [[E6.peak_gib]] and [[E6:1.peak_gib]], of [[E6.limit_gib]].    each peak is a part of its own limit
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_tools.evidence import FOUND, CellValue, Evidence, Ledger
from agent_tools.gate.clauses import Clause, size
from agent_tools.gate.grounds import NUMBER_WORDS, SEVERAL
from agent_tools.gate.scope import held_by_job, whole
from agent_tools.gate.words import singular
from agent_tools.references import HOLE
from store import lazy

_OF: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("node", "host", "machine"), (("node",), "node_count")),
    **dict.fromkeys(("gpu", "card"), (("node", "gpu"), "gpus")),
    **dict.fromkeys(("rank", "process"), (("rank",), "gpus")),
}
"""By which columns a row is of one of them, and accounting's column of how many the job has."""
_OF_SO_MANY = lazy.compile(
    rf"(?i)\b(?:of|on|over|across|among) (?:(?P<all>all) )?(?:(?:of )?(?:the|its|these) )?(?P<n>{SEVERAL}) (?P<noun>nodes|hosts|machines|gpus|cards|ranks|processes)\b"
)
_NEAR = lazy.compile(
    r"(?i)^\W*(?P<w>neither|no|none of (?:the|its)) (?P<noun>nodes?|hosts?|machines?|gpus?|cards?) (?:ever )?(?:came|comes|got|gets|was|is|were) (?:anywhere |even )?(?P<near>near|close to) (?P<of>(?:its|the|their) (?:own )?(?:memory )?limit)\b(?P<rest>.*)$"
)
_NOT_THE_LIMIT = lazy.compile(
    r"(?i)^\W*(?:the )?host(?:['’]s)? memory (?:was|is) (?P<w>(?:not|never) (?:the|a) (?:limit|limiting factor|bottleneck))\b(?P<rest>.*)$"
)
_FIGURES = lazy.compile(
    rf"(?i)^(?:[\s{HOLE}:;,().]|\b(?:it|they|used|at|most|peaked|the|peaks?|highest|was|were|is|and|of|on|its|their|limits?|memory|nodes?|gpus?|each|against)\b)*$"
)
"""What may stand behind it: the peaks, whose they are, and the limits."""
_NOTHING_LATE = lazy.compile(
    r"(?i)\b(?:did|does|launched|was doing|has done|had done) (?P<w>(?:nothing|none)(?: (?:at all )?(?:towards|at|near) the end| lately| of late| any more| in the last minutes)?)(?=\W*$|\W*[:(,]| in the last| \W*and)"
)
_NOT_LATE = lazy.compile(
    r"(?i)\bhas (?P<w>not (?:done|been doing) anything) (?:lately|of late|in the last minutes)(?=\W*$|\W*[:(,])"
)
_NO_WORK = lazy.compile(
    rf"(?i)^\W*(?P<w>none of (?:the|its|these) (?:(?P<n>{SEVERAL}) )?(?P<noun>gpus|cards)) (?P<did>did any(?:thing| work)(?: at all)?|was (?:ever )?used|ever worked)(?=\W*$|\W*[:(,])"
)
_PEAKS: dict[str, tuple[str, str]] = {
    "peak_gib": ("peak_gib", "limit_gib"),
    "limit_gib": ("peak_gib", "limit_gib"),
    "used": ("used", ""),
}
_WELL = 0.8
_TWO = 2


def of_wholes(clause: Clause, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a clause such words stand that the rows bear out."""
    cells = [c for g in clause.groups for c in g.cells]
    if len({c.id for c in cells}) != 1 or any(c.column == FOUND for c in cells):
        return []
    evidence = ledger.get(cells[0].id)
    return [
        *_of_so_many(clause, evidence, ledger),
        *_near(clause, cells, evidence, ledger),
        *_not_the_limit(clause, cells, evidence, ledger),
        *_idle_at_end(clause, cells),
        *_no_work(clause, cells, evidence, ledger),
    ]


def _of_so_many(clause: Clause, evidence: Evidence, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`of the four nodes`: the answer has a row of each, so many of them, and so has the job that was asked about."""
    for m in _OF_SO_MANY.finditer(clause.own):
        columns, of_job = _OF[singular(m["noun"])]
        if _many(evidence, columns, of_job, ledger) == NUMBER_WORDS[m["n"].lower()]:
            yield m.span("n")


def _many(evidence: Evidence, columns: Sequence[str], of_job: str, ledger: Ledger) -> int | None:
    """How many of them a whole answer has a row of; None where it does not, or the job has more."""
    names = {c.name for c in evidence.columns}
    if not {*columns} <= names or not whole(evidence, ledger) or f"{columns[-1]}s" in names:
        return None
    many = len({tuple(evidence.value(n, r) for n in columns) for r in range(len(evidence.rows))})
    return many if evidence.params.get("job_id") is None or held_by_job(evidence, ledger, of_job) == many else None


def _near(clause: Clause, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`neither node came near its limit`: each row has a peak and a limit of its own, and none used more than four fifths of it."""
    m = _NEAR.match(clause.own)
    if m is None or not _FIGURES.match(m["rest"]) or any(c.column not in (*_PEAKS, "node", "gpu") for c in cells):
        return
    columns, of_job = _OF[singular(m["noun"])]
    peaks = {_PEAKS[c.column] for c in cells if c.column in _PEAKS}
    many = _many(evidence, columns, of_job, ledger)
    names = {c.name for c in evidence.columns}
    if len(peaks) != 1 or not many or (m["w"].lower() == "neither" and many != _TWO):
        return
    peak, limit = next(iter(peaks))
    if not {n for n in (peak, limit) if n} <= names or "used" not in names:
        return
    if _all_far(evidence):
        yield m.span("w")
        yield m.span("near")


def _all_far(evidence: Evidence) -> bool:
    """Whether no row used more than four fifths of its own limit."""
    shares = [size(evidence.value("used", r)) for r in range(len(evidence.rows))]
    return all(isinstance(s, float) and s <= _WELL for s in shares)


def _not_the_limit(
    clause: Clause, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`host memory was not the limit: * of *`: no node of the job used more than four fifths of its own, and nothing was killed for it."""
    m = _NOT_THE_LIMIT.match(clause.own)
    names = {c.name for c in evidence.columns}
    if m is None or not {"used", "oom_kills", "limit_gib"} <= names or not _FIGURES.match(m["rest"]):
        return
    if any(c.column not in (*_PEAKS, "node") for c in cells) or not _many(evidence, ("node",), "node_count", ledger):
        return
    if _all_far(evidence) and all(evidence.value("oom_kills", r) == 0 for r in range(len(evidence.rows))):
        yield m.span("w")


def _idle_at_end(clause: Clause, cells: Sequence[CellValue]) -> Iterator[tuple[int, int]]:
    """`GPU * did nothing towards the end: *`: a zero of what it did in the last minutes."""
    late = [c for c in cells if c.column.endswith("_late")]
    rows = {(c.id, c.row) for c in cells}
    if late and len(rows) == 1 and all(c.value == 0 and not isinstance(c.value, bool) for c in late):
        yield from (m.span("w") for m in (*_NOTHING_LATE.finditer(clause.own), *_NOT_LATE.finditer(clause.own)))


def _no_work(
    clause: Clause, cells: Sequence[CellValue], evidence: Evidence, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """`none of the four GPUs did any work: *`: each of them has a row, and a zero of how busy its engine was."""
    m = _NO_WORK.match(clause.own)
    if m is None or {c.column for c in cells} - {"node", "gpu"} != {"engine_mean"}:
        return
    columns, of_job = _OF[singular(m["noun"])]
    many = _many(evidence, columns, of_job, ledger)
    idle = all(evidence.value("engine_mean", r) == 0 for r in range(len(evidence.rows)))
    if idle and many and (m["n"] is None or NUMBER_WORDS[m["n"].lower()] == many):
        yield m.span("w")
        yield m.span("did")
