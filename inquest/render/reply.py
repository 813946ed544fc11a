"""An answer to a free question, for a terminal and as JSON; evidence as a table."""

from __future__ import annotations

from typing import Any

from agent_tools.evidence import Evidence, Ledger
from agent_tools.formats import format_cell
from agent_tools.questions.answer import Reply
from agent_tools.references import Span, plain, render_text
from inquest import safe
from inquest.render.document import Item, Section, spent
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
        Section("What to do", [Item(spans(c.text)) for c in reply.actions], numbered=True),
    ]
    for section in sections:
        if section.items:
            lines += ["", paint(BOLD, section.title), *section_lines(section, width, paint)]
    for id in reply.tables:
        lines += ["", evidence_text(ledger.get(id), colour=colour)]
    for note in _notes(reply):
        lines += ["", *(paint(DIM, part) for part in wrapped([Span("text", note)], "", "", width, paint))]
    return "\n".join(lines)


def reply_markdown(reply: Reply, ledger: Ledger) -> str:
    """The answer as Markdown, its tables as blocks of code: for programs whose windows draw Markdown."""

    def said(text: str) -> str:
        return "".join(
            f"{safe.markdown(safe.line(s.text))} ({s.id})" if s.id else safe.markdown(s.text)
            for s in render_text(text, ledger)
        )

    sections = [
        ("What the data shows", [said(c.text) for c in reply.shows]),
        (
            "What it implies",
            [f"{'' if c.status == 'established' else f'{c.status}: '}{said(c.text)}" for c in reply.implies],
        ),
        (
            "What it cannot answer",
            [f"{said(m.text)} ({said(m.signal)})" if m.signal else said(m.text) for m in reply.cannot_answer],
        ),
        ("What to do", [said(c.text) for c in reply.actions]),
    ]
    parts = [f"**{said(reply.short)}**"]
    for title, items in sections:
        if items:
            parts.append("\n".join([f"## {title}", "", *(f"- {item}" for item in items)]))
    for id in reply.tables:
        # Four blanks before each line: no text can end such a block.
        table_text = evidence_text(ledger.get(id))
        parts.append("\n".join(f"    {row}" for row in table_text.splitlines()))
    parts += [safe.markdown(safe.line(note)) for note in _notes(reply)]
    return "\n\n".join(parts)


def _notes(reply: Reply) -> list[str]:
    """What a reader has to know of how the answer was made; where a model made it, what it took and might have taken."""
    made = reply.provenance
    return [*made.notes, f"Answered by {made.model}: {spent(made)}"] if made.requests else list(made.notes)


def counted(rows: int) -> str:
    """How many rows, in words."""
    return f"{rows} row{'' if rows == 1 else 's'}"


def evidence_text(
    evidence: Evidence, *, max_rows: int = MAX_ROWS, colour: bool = False, sql: bool = False, width: int | None = None
) -> str:
    """A piece of evidence: what was asked, and its rows as a table (one row: a line for each column).

    With `sql` its query stands ahead of them: a long one would push the rows out of a terminal. A table that is wider than
    `width` is told row by row.
    """
    head = f"[{evidence.id}] {safe.line(evidence.query)}: {counted(evidence.row_count)}"
    lines = [Paint(colour)(BOLD, head)]
    if sql:
        asked = ", ".join(f"{k} = {v!r}" for k, v in evidence.params.items() if v is not None)
        lines += [f"  {safe.plain(part)}" for part in evidence.sql.splitlines()]
        lines += [f"  with {safe.line(asked)}", ""] if asked else [""]
    rows = range(min(max_rows, len(evidence.rows)))
    held = [c.name for i, c in enumerate(evidence.columns) if any(evidence.rows[r][i] is not None for r in rows)]

    def cell(name: str, row: int) -> str | None:
        found = evidence.cell(name, row)
        return None if found.value is None else format_cell(found)

    def record(row: int) -> list[str]:
        wide = max((len(safe.line(name)) for name in held), default=0)
        return [f"  {safe.line(name).ljust(wide)}  {safe.line(str(cell(name, row)))[:200]}" for name in held]

    if len(rows) == 1:
        lines += record(0)
    elif held:
        drawn = table(held, [[cell(name, row) for name in held] for row in rows], width=48)
        if width is not None and max(map(len, drawn.splitlines())) > width:
            drawn = "\n".join(line for row in rows for line in (f"row {row}", *record(row)))
        lines.append(drawn)
    if evidence.row_count > len(rows):
        lines.append(f"... {evidence.row_count - len(rows)} more")
    if evidence.caveat:
        lines.append(f"  {safe.line(evidence.caveat)}")
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
            "actions": [plain(c.text, ledger) for c in reply.actions],
        },
    }
