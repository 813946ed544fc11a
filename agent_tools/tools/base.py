"""What every tool shares: what a run carries, and how a piece of evidence is shown to a model.

Showing is what makes a cell citable: `show` prints rows and notes exactly those cells in the ledger.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from agent_tools.evidence import FOUND, OR_LATER, OR_LESS, Asks, CellValue, Evidence, Ledger
from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.formats import format_cell
from agent_tools.gate.fleetnone import asked_of_fleet
from agent_tools.references import marks, parse
from agent_tools.tools.watched import searched
from agent_tools.untrusted import MAX_CELL, Fence, cap, clean
from agent_tools.verdict import Draft
from agent_tools.viewer import Guarded
from store import lazy
from store.catalog import catalog
from store.redact import redact
from store.result import Cell, StoreError

if TYPE_CHECKING:
    from agent_tools.agent import Found

NO_JOB = "No job is open: find_jobs lists jobs, open_job opens one."
"""What a model is told that asks about a job before it opens one."""
MAX_SHOWN = 60
"""Rows of one answer that a model is shown."""
MAX_TEXT = 4_000
"""Characters of one answer that a model is shown, about a thousand tokens."""
LINE = 400
"""Characters of one cell in a table; a lone row has `MAX_CELL` for each."""
FEW = 4
"""Rows of a table up to which it has every column."""
Pick = Literal["first", "spread", "ends", "odd"] | tuple[str, ...] | Callable[["Evidence"], list[int]]
_LONG_NAMES = frozenset({"gpu_uuid", "gpu_uuids", "origin"})
"""Columns that a longer table leaves out: the node and the index beside them say the same."""
_STAMP = lazy.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d*Z")


@dataclass(slots=True)
class Deps:
    """What a run carries. `trusted`: the deterministic reasoner, who reads whole results.

    `job_id` is "" while no job is open; `opener` opens another one, and `judge` has the families asked about one that stays
    unopened, where the run may. `answered` are the ids of what the tools asked, in order, repeats included. `warned` are the
    questions whose caveat was told, `described` the assessments (job, family) that the differential told: neither is told twice.
    `deadline` is when the run ends, in time.monotonic's seconds.
    """

    reader: Asks
    ledger: Ledger
    job_id: str
    attempt: int | None
    assessments: Sequence[Assessment]
    draft: Draft
    lake: Any = None
    fence: Fence = field(default_factory=Fence)
    trusted: bool = False
    on_event: Callable[[str], None] | None = None
    answered: list[str] = field(default_factory=list[str])
    opener: Callable[[str, int | None], str] | None = None
    judge: Callable[[str], Found] | None = None
    deadline: float | None = None
    warned: set[str] = field(default_factory=set[str])
    described: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    known: dict[tuple[str, int | None], Facts] = field(default_factory=dict[tuple[str, "int | None"], Facts])

    def job(self) -> str:
        """The job that is open. Raises ModelRetry where none is: an empty answer would look like a finding."""
        if not self.job_id:
            from pydantic_ai import ModelRetry  # only a model can stand where no job is open, and it loads for long

            raise ModelRetry(NO_JOB)
        return self.job_id

    def facts(self) -> Facts:
        """What is known about the open job; each question is asked once."""
        key = (self.job(), self.attempt)
        if key not in self.known:
            self.known[key] = Facts(self.reader, self.ledger, *key)
        return self.known[key]

    def emit(self, text: str) -> None:
        """Tell the watcher, if there is one."""
        if self.on_event is not None:
            self.on_event(text)


def ask(
    deps: Deps,
    question: str,
    tool: str,
    *,
    max_rows: int = 200,
    show_rows: int = MAX_SHOWN,
    pick: Pick = "first",
    limit: int = MAX_TEXT,
    without: Sequence[str] = (),
    whole: bool = False,
    **params: Any,
) -> str:
    """Ask a question of the catalog and show the answer; an error of the store is an answer too. `without` are columns that
    say nothing in the rows that are picked; `whole` keeps those that a long table leaves out."""
    deps.emit(f"{tool}: {question}")
    try:
        evidence = deps.ledger.ask(deps.reader, question, tool=tool, max_rows=max_rows, **params)
    except StoreError as error:
        return f"{question}: failed, which is not the same as empty:\n{failure(deps, error)}"
    deps.answered.append(evidence.id)
    return show(deps, evidence, picked(evidence, show_rows, pick), limit=limit, without=without, whole=whole)


def picked(evidence: Evidence, wanted: int, pick: Pick) -> list[int]:
    """Which rows of an answer are shown: the first; evenly spread ones; the first few and the last; the odd ones out; of
    rows that are equal in some columns, one; or the first of an order of the asker's own."""
    held = len(evidence.rows)
    if callable(pick):
        return sorted(pick(evidence)[:wanted])
    if isinstance(pick, tuple):
        first = {tuple(evidence.value(c, r) for c in pick): r for r in reversed(range(held))}
        return sorted(first.values())[:wanted]
    if held <= wanted:
        return list(range(held))
    match pick:
        case "first":
            return list(range(wanted))
        case "spread":
            return sorted({round(i * (held - 1) / (wanted - 1)) for i in range(wanted)})
        case "ends":
            head = wanted // 4
            return [*range(head), *range(held - wanted + head, held)]
        case "odd":
            return sorted(oddest(evidence)[:wanted])


def oddest(evidence: Evidence) -> list[int]:
    """Every row, those first that are furthest from the others in some measure."""
    odd = _oddness(evidence)
    return sorted(range(len(odd)), key=lambda r: (-odd[r], r))


def _oddness(evidence: Evidence) -> list[float]:
    """How far each row is from the others, in its oddest measure: distances from the median over their own median."""
    odd = [0.0] * len(evidence.rows)
    for column in zip(*evidence.rows, strict=True):
        known = {r: float(v) for r, v in enumerate(column) if isinstance(v, int | float) and math.isfinite(v)}
        if len(known) < FEW:
            continue
        middle = median(known.values())
        usual = max(median(abs(v - middle) for v in known.values()), abs(middle) * 0.01, 1e-9)
        for r, v in known.items():
            odd[r] = max(odd[r], abs(v - middle) / usual)
    return odd


def failure(deps: Deps, error: Exception) -> str:
    """An error's words between the marks: the engine quotes the value that it could not use, which is a stranger's."""
    return deps.fence.wrap(cap(redact(str(error))))


def show(
    deps: Deps,
    evidence: Evidence,
    rows: Iterable[int] | None = None,
    *,
    limit: int = MAX_TEXT,
    without: Sequence[str] = (),
    whole: bool = False,
) -> str:
    """Evidence as text for a model, and its cells noted as shown. What every row has in common is said once."""
    if deps.trusted:
        deps.ledger.mark_shown(evidence.id)
    wanted = list(range(len(evidence.rows)) if rows is None else rows)
    table = len(wanted) > 1
    names = [c.name for i, c in enumerate(evidence.columns) if any(evidence.rows[r][i] is not None for r in wanted)]
    if len(wanted) > FEW and not whole:
        names = [n for n in names if n not in _LONG_NAMES]
    names = [n for n in names if n not in without and n not in (OR_LATER, OR_LESS)]  # said beside the values
    common = [n for n in names if table and len({_said(evidence.cell(n, r)) for r in wanted}) == 1]
    varied = [n for n in names if n not in common]
    lines: list[str] = []
    if common:
        lines.append(f"in every row: {_pairs(evidence, common, wanted[0])}")
    if table:
        lines.append(" | ".join(["row", *varied]))
    before = len(lines)
    size = 0
    for row in wanted:
        held = [n for n in varied if evidence.value(n, row) is not None]
        if table:
            line = " | ".join([str(row), *(_text(evidence.cell(n, row), LINE) if n in held else "-" for n in varied)])
        else:
            line = _pairs(evidence, held, row)
        size += len(line)
        if size > limit and len(lines) > before:
            break
        lines.append(line)
        deps.ledger.mark_shown(evidence.id, [row], [*held, *common])
    shown = len(lines) - before
    parts = [f"{evidence.id} {evidence.query}: {evidence.row_count} rows, {shown} shown."]
    if shown and shown < evidence.row_count:
        parts[0] += " The rest is not shown: ask more narrowly (time, node, rank, pattern) to see it."
    watched, unwatched = _without_data(deps, evidence)
    parts.append(deps.fence.wrap("\n".join(lines)) if shown else _empty(evidence, watched) + _citable(deps, evidence))
    if watched and evidence.looked:
        parts.append(f"No data at all in: {', '.join(watched)} (a source was looking and saw nothing).")
    if unwatched and evidence.looked:
        why = "nothing was looking" if deps.job_id else "whether a source was looking is told of an open job"
        parts.append(f"No data at all in: {', '.join(unwatched)} (unavailable: {why}).")
    if evidence.caveat and evidence.query not in deps.warned:
        deps.warned.add(evidence.query)
        parts.append(f"Caveat: {evidence.caveat}")
    return "\n".join(parts)


def _said(cell: CellValue) -> tuple[Cell, str]:
    return cell.value, cell.bound


def _pairs(evidence: Evidence, names: list[str], row: int) -> str:
    return "; ".join(f"{n} = {_text(evidence.cell(n, row), MAX_CELL)}" for n in names)


def _text(cell: CellValue, limit: int) -> str:
    if not isinstance(cell.value, str):
        return format_cell(cell)
    if stamp := _STAMP.fullmatch(cell.value):
        return f"{stamp[1]}Z {cell.bound}".rstrip()
    text = " ".join(cap(clean(cell.value), limit).split())
    return f'"{text}"' if "|" in text else text  # so that no text looks like the next column


def _without_data(deps: Deps, evidence: Evidence) -> tuple[list[str], list[str]]:
    """The tables without any row: those that a source watched for the open job all the same, and the others."""
    bare = [c.table for c in evidence.coverage if c.segments == 0]
    known = deps.facts() if bare and deps.job_id else None
    watched = [t for t in bare if known is not None and known.has(t)]
    return watched, [t for t in bare if t not in watched]


def _empty(evidence: Evidence, watched: Sequence[str]) -> str:
    if not evidence.looked and watched:
        return f"Empty: a source was looking for {', '.join(watched)} and saw nothing."
    if not evidence.looked:
        return "Unavailable: no table that this question reads has any data."
    looked = ", ".join(f"{c.table} ({c.rows} rows)" for c in evidence.coverage if c.segments)
    return f"Empty: searched {looked or 'what is there'}, and nothing matches."


def _citable(deps: Deps, evidence: Evidence) -> str:
    """How to cite that nothing was found, where a source was looking on every node throughout: then the count is shown."""
    if (state := asked_of_fleet(evidence.query, evidence.params)) and _all_jobs(deps, evidence):
        deps.ledger.mark_shown(evidence.id, [0], [FOUND])
        return f" Cite that as [[{evidence.id}.{FOUND}]] (= 0 rows): 'No job ended as {state} ([[{evidence.id}.{FOUND}]])'."
    if evidence.row_count or not searched(deps, evidence):
        return ""
    deps.ledger.mark_shown(evidence.id, [0], [FOUND])
    what = catalog()[evidence.query].none[0]
    told = f"The log holds no {what[4:]}" if what.startswith("log ") else f"No {what} ..."
    return f" Cite that as [[{evidence.id}.{FOUND}]] (= 0 rows): '{told} ([[{evidence.id}.{FOUND}]])'."


def _all_jobs(deps: Deps, evidence: Evidence) -> bool:
    """Whether an empty answer was sought among the jobs of everybody, of which there are some."""
    there = any(c.table == "slurm_job" and c.rows for c in evidence.coverage)
    return not evidence.row_count and there and not isinstance(deps.reader, Guarded)


def show_sentence(deps: Deps, text: str, told: set[str] | None = None) -> str:
    """A sentence of the families with its references kept and their values beside them; these cells count as shown.

    A unit that the sentence has itself stays its own, since it is cited word by word. `told` are the references whose values
    stand in the same text already: it is sent again with every request, and grows by what is shown here."""
    out: list[str] = []
    at = 0
    for mark in marks(text):
        out.append(text[at : mark.end])
        at = mark.end
        id, row, column = parse(mark.ref)
        if told is not None:
            if mark.ref in told:
                continue
            told.add(mark.ref)
        cell = deps.ledger.get(id).cell(column, row)
        deps.ledger.mark_shown(id, [row], [column])
        value, _, unit = clean(format_cell(cell)).rpartition(" ")
        own = value and re.match(rf" {re.escape(unit)}\b", text[mark.end :])
        out.append(f" (= {value if own else clean(format_cell(cell))})")
    return "".join(out) + text[at:]
