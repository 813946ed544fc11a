"""What every tool shares: what a run carries, and how a piece of evidence is shown to a model.

Showing is what makes a cell citable: `show` prints rows and notes exactly those cells in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ModelRetry

from agent_tools.evidence import Asks, CellValue, Evidence, Ledger
from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.formats import format_cell
from agent_tools.references import marks, parse
from agent_tools.untrusted import Fence, cap, clean
from agent_tools.verdict import Draft
from store.redact import redact
from store.result import StoreError

MAX_SHOWN = 60
"""Rows of one answer that a model is shown."""
MAX_TEXT = 24_000
"""Characters of one answer that a model is shown."""


@dataclass(slots=True)
class Deps:
    """What a run carries. `trusted`: the deterministic reasoner, who reads whole results.

    `job_id` is "" while no job is open; `opener` opens another one, where the run may. `answered` are the ids of what the
    tools asked, in order, repeats included.
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
    known: dict[tuple[str, int | None], Facts] = field(default_factory=dict[tuple[str, "int | None"], Facts])

    def job(self) -> str:
        """The job that is open. Raises ModelRetry where none is: an empty answer would look like a finding."""
        if not self.job_id:
            raise ModelRetry("No job is open: find_jobs lists jobs, open_job opens one.")
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


def ask(deps: Deps, question: str, tool: str, *, max_rows: int = 200, show_rows: int = MAX_SHOWN, **params: Any) -> str:
    """Ask a question of the catalog and show the answer; an error of the store is an answer too."""
    deps.emit(f"{tool}: {question}")
    try:
        evidence = deps.ledger.ask(deps.reader, question, tool=tool, max_rows=max_rows, **params)
    except StoreError as error:
        return f"{question}: failed, which is not the same as empty:\n{failure(deps, error)}"
    deps.answered.append(evidence.id)
    return show(deps, evidence, range(min(len(evidence.rows), show_rows)))


def failure(deps: Deps, error: Exception) -> str:
    """An error's words between the marks: the engine quotes the value that it could not use, which is a stranger's."""
    return deps.fence.wrap(cap(redact(str(error))))


def show(deps: Deps, evidence: Evidence, rows: Iterable[int] | None = None) -> str:
    """Evidence as text for a model, and its cells noted as shown."""
    if deps.trusted:
        deps.ledger.mark_shown(evidence.id)
    wanted = list(range(len(evidence.rows)) if rows is None else rows)
    table = len(wanted) > 1
    names = [
        c.name
        for i, c in enumerate(evidence.columns)
        if not table or any(evidence.rows[r][i] is not None for r in wanted)
    ]
    lines = [f"row | {' | '.join(names)}"] if table else []
    size = 0
    for row in wanted:
        held = [name for name in names if evidence.value(name, row) is not None]
        if table:
            line = " | ".join([str(row), *(_text(evidence.cell(n, row)) if n in held else "-" for n in names)])
        else:
            line = "; ".join(f"{name} = {_text(evidence.cell(name, row))}" for name in held)
        size += len(line)
        if size > MAX_TEXT:
            break
        lines.append(line)
        deps.ledger.mark_shown(evidence.id, [row], held)
    shown = len(lines) - table
    head = f"{evidence.id} {evidence.query}: {evidence.row_count} rows, {shown} shown. Cite [[{evidence.id}.COLUMN]]"
    head += f" for row 0, [[{evidence.id}:N.COLUMN]] for row N." if shown > 1 else " for row 0."
    if shown < evidence.row_count:
        head += " The rest is not shown: ask more narrowly (time, node, rank, pattern) to see it."
    parts = [head]
    if shown:
        parts.append(deps.fence.wrap("\n".join(lines)))
    else:
        parts.append(_empty(evidence))
    if missing := [c.table for c in evidence.coverage if c.segments == 0]:
        parts.append(f"No data at all in: {', '.join(missing)} (unavailable: nothing was looking).")
    if evidence.caveat:
        parts.append(f"Caveat: {evidence.caveat}")
    return "\n".join(parts)


def _text(cell: CellValue) -> str:
    if not isinstance(cell.value, str):
        return format_cell(cell)
    text = " ".join(cap(clean(cell.value)).split())
    return f'"{text}"' if "|" in text else text  # so that no text looks like the next column


def _empty(evidence: Evidence) -> str:
    if not evidence.looked:
        return "Unavailable: no table that this question reads has any data."
    looked = ", ".join(f"{c.table} ({c.rows} rows)" for c in evidence.coverage if c.segments)
    return f"Empty: searched {looked or 'what is there'}, and nothing matches."


def show_sentence(deps: Deps, text: str) -> str:
    """A sentence of the families with its references kept and their values beside them; these cells count as shown."""
    out: list[str] = []
    at = 0
    for mark in marks(text):
        out.append(text[at : mark.end])
        id, row, column = parse(mark.ref)
        cell = deps.ledger.get(id).cell(column, row)
        deps.ledger.mark_shown(id, [row], [column])
        out.append(f" (= {clean(format_cell(cell))})")
        at = mark.end
    return "".join(out) + text[at:]
