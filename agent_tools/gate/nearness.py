"""How near it came: what was just, right or shortly before or after another thing, and what ended well before its limit.

Both nodes were idle at [[E5:4.ts]], just after the job had ended at [[E5:3.ts]].        within a minute of it
The exception in line [[E6.line_no]] came right after the banner in line [[E6:3.line_no]].      the next line
The highest loss came at step [[E7.highest_step]], shortly before the last step, [[E7.last_step]].      within a twentieth of the run
It failed after [[E2.elapsed_s]], well before its limit of [[E2.time_limit_s]].          within half of it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, Group, held, job_of, size
from agent_tools.gate.order import is_time
from store import lazy

_NEAR = lazy.compile(
    r"(?i)\b(?P<w>(?P<close>just|right|immediately|directly)|shortly|soon|a moment) (?P<way>before|after)\b"
)
_WELL = lazy.compile(
    r"(?i)\b(?P<w>well|long|far) (?P<way>before|within|below|under|short of) (?:(?:its|the|the job's) )?(?:(?:own )?(?:time |wall-?clock )?limit|(?:its |the )?end of its limit)\b"
)
_NOWHERE = lazy.compile(
    r"(?i)\b(?:was|is|came|got) (?P<w>nowhere near|not even near|far from) (?:its|the) (?:time |wall-?clock )?limit\b"
)
_LONG = lazy.compile(r"(?i)\b(?P<w>well|long) (?P<way>before|after) (?:the |its )?(?:last |first )?step\b")
_JUST_IN = lazy.compile(
    r"(?i)\b(?P<w>only just|just|barely) (?:within|before|under|below) (?:its|the) (?:time |wall-?clock )?limit\b"
)
_OTHER_LIMIT = lazy.compile(r"(?i)\b(?:memory|ram|vram|cgroup|power|temperature|clock|disk|quota)\b")
_DENIED = lazy.compile(r"(?i)\b(?:not|never|no|none|neither|nor|cannot)\b|n['’]t\b")
_CLOSE_S, _SHORT_S = 60.0, 300.0
_SHORT_SHARE, _WELL_SHARE, _BRIM = 0.05, 0.5, 0.98
_APART = 0.1
_LINES, _STEPS = lazy.compile(r"^(?:\w+_)?line(?:_no)?$"), lazy.compile(r"^(?:\w+_)?step$")


def near(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where in a clause such words stand that the times, lines, steps and limits beside them bear out."""
    if _DENIED.search(clause.own):
        return
    for m in _NEAR.finditer(clause.own):
        for same in (is_time, _line, _step):
            ahead = [g for g in clause.groups if g.end <= m.start() and same(g.cells[0])]
            behind = [g for g in clause.groups if g.start >= m.end() and same(g.cells[0])]
            if not ahead and len(behind) > 1 and not clause.own[: m.start()].strip():
                ahead, behind = behind[1:2], behind[:1]  # "Shortly before * it came at *"
            if ahead and behind:
                if _by(ahead[-1], behind[0], m, ledger):
                    yield m.span("w")
                break
    for m in _LONG.finditer(clause.own):
        ahead = [g.cells[-1] for g in clause.groups if g.end <= m.start() and _step(g.cells[0])][-1:]
        behind = [g.cells[0] for g in clause.groups if g.start >= m.end() and _step(g.cells[0])][:1]
        x, y = (size(c[0].value) if c else None for c in (ahead, behind))
        if not isinstance(x, float) or not isinstance(y, float) or not one_log(ahead[0], behind[0], ledger):
            continue
        if (x - y if m["way"].lower() == "after" else y - x) >= _APART * max(x, y):
            yield m.span("w")
    yield from _limit(clause, ledger)


def _line(cell: CellValue) -> bool:
    return bool(_LINES.match(cell.column))


def _step(cell: CellValue) -> bool:
    return bool(_STEPS.match(cell.column))


def _by(first: Group, second: Group, m: re.Match[str], ledger: Ledger) -> bool:
    """Whether the first came so near to the second, on the side that is said."""
    a, b = first.cells[-1], second.cells[0]
    close = m["close"] is not None
    if is_time(a):
        x, y = (datetime.fromisoformat(str(c.value).replace("Z", "+00:00")) for c in (a, b))
        gap, most = (x - y).total_seconds(), _CLOSE_S if close else _SHORT_S
    else:
        p, q = size(a.value), size(b.value)
        if not isinstance(p, float) or not isinstance(q, float) or not one_log(a, b, ledger):
            return False
        gap = p - q
        most = (1.0 if _line(a) else 0.0) if close else _SHORT_SHARE * max(p, q)
    return 0 < (gap if m["way"].lower() == "after" else -gap) <= most


def one_log(a: CellValue, b: CellValue, ledger: Ledger) -> bool:
    """Whether two places are of one log: of one file, or of one job where one of the answers has no file of its own."""
    one, other = held(ledger, a, "file"), held(ledger, b, "file")
    return one == other if one is not None and other is not None else job_of(ledger, a) == job_of(ledger, b)


def _limit(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """`well before its limit`, `just within its limit`, beside how long it ran or which share of the limit that was."""
    if _OTHER_LIMIT.search(clause.own) or any(
        "limit" in c.column and _share(c, ledger) is None for g in clause.groups for c in g.cells
    ):
        return
    shares = {s for g in clause.groups for c in g.cells if (s := _share(c, ledger)) is not None}
    if len(shares) != 1:
        return
    share = next(iter(shares))
    if share <= _WELL_SHARE:
        yield from (m.span("w") for m in (*_WELL.finditer(clause.own), *_NOWHERE.finditer(clause.own)))
    if _BRIM <= share <= 1:
        yield from (m.span("w") for m in _JUST_IN.finditer(clause.own))


def _share(cell: CellValue, ledger: Ledger) -> float | None:
    """The part of its limit that the job ran, by the row of a cell of it; None where the cell is of something else."""
    if cell.column not in ("elapsed_s", "limit_share", "limit_used", "time_limit_s"):
        return None
    ran, limit = size(held(ledger, cell, "elapsed_s")), size(held(ledger, cell, "time_limit_s"))
    if isinstance(ran, float) and isinstance(limit, float) and limit > 0:
        return ran / limit
    own = size(cell.value)
    return own if isinstance(own, float) and cell.column.startswith("limit_") else None
