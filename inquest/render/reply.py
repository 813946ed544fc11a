"""An answer to a free question, for a terminal and as JSON; evidence as a table."""

from __future__ import annotations

from typing import Any

from agent_tools.answer import Reply
from agent_tools.evidence import Evidence, Ledger
from agent_tools.formats import format_cell
from agent_tools.references import plain, render_text
from inquest import safe
from inquest.render.document import Item, Section
from inquest.render.table import table
from inquest.render.terminal import BOLD, DIM, Paint, section_lines, wrapped

MAX_ROWS = 20
"""Rows of a table that an answer shows; `/evidence` shows all that are held."""


def reply_text(reply: Reply, ledger: Ledger, *, width: int = 100, colour: bool = False) -> str:
    """The answer first, then what it rests on."""
    width = max(40, min(width, 120))
    paint = Paint(colour)

    def spans(text: str) -> Any:
        return render_text(text, ledger)

    lines = wrapped(spans(reply.short), "", "", width, paint, strong=True)
    sections = [
        Section("What the data shows", [Item(spans(c.text)) for c in reply.shows]),
        Section(
            "What it implies",
            [Item(spans(c.text), "" if c.status == "established" else c.status) for c in reply.implies],
        ),
        Section("What it cannot answer", [Item(spans(m.text), note=spans(m.signal)) for m in reply.cannot_answer]),
    ]
    for section in sections:
        if section.items:
            lines += ["", paint(BOLD, section.title), *section_lines(section, width, paint)]
    for id in reply.tables:
        lines += ["", evidence_text(ledger.get(id), colour=colour)]
    for note in reply.provenance.notes:
        lines += ["", *(paint(DIM, part) for part in wrapped(spans(note), "", "", width, paint))]
    return "\n".join(lines)


def evidence_text(evidence: Evidence, *, max_rows: int = MAX_ROWS, colour: bool = False, sql: bool = False) -> str:
    """A piece of evidence: what was asked, and its rows as a table (one row: a line for each column)."""
    head = f"[{evidence.id}] {evidence.query}: {evidence.row_count} rows"
    lines = [Paint(colour)(BOLD, head)]
    rows = range(min(max_rows, len(evidence.rows)))
    held = [c.name for i, c in enumerate(evidence.columns) if any(evidence.rows[r][i] is not None for r in rows)]

    def cell(name: str, row: int) -> str | None:
        found = evidence.cell(name, row)
        return None if found.value is None else format_cell(found)

    if len(rows) == 1:
        wide = max(map(len, held), default=0)
        lines += [f"  {name.ljust(wide)}  {safe.line(str(cell(name, 0)))[:200]}" for name in held]
    elif held:
        lines.append(table(held, [[cell(name, row) for name in held] for row in rows], width=48))
    if evidence.row_count > len(rows):
        lines.append(f"... {evidence.row_count - len(rows)} more")
    if evidence.caveat:
        lines.append(f"  {evidence.caveat}")
    if sql:
        asked = ", ".join(f"{k} = {v!r}" for k, v in evidence.params.items() if v is not None)
        lines += [
            "",
            *(f"  {safe.plain(part)}" for part in evidence.sql.splitlines()),
            f"  with {safe.line(asked)}" if asked else "",
        ]
    return "\n".join(lines).rstrip()


def reply_json(reply: Reply, ledger: Ledger) -> dict[str, Any]:
    """The reply, and beside it under `rendered` its sentences with the references filled."""
    return {
        **reply.model_dump(),
        "rendered": {
            "short": plain(reply.short, ledger),
            "shows": [plain(c.text, ledger) for c in reply.shows],
            "implies": [f"{c.status}: {plain(c.text, ledger)}" for c in reply.implies],
            "cannot_answer": [f"{plain(m.text, ledger)} ({plain(m.signal, ledger)})" for m in reply.cannot_answer],
        },
    }
