"""A verdict as Markdown, for a ticket or a chat message. Each figure links to its evidence below."""

from __future__ import annotations

from typing import Any

from inquest import safe
from inquest.render.document import Document, Spans, question

MAX_ROWS = 20


def markdown(doc: Document) -> str:
    """The whole verdict as Markdown."""
    mode = f" ({safe.markdown(doc.mode)})" if doc.mode else ""
    out = [
        f"# {doc.code} {safe.markdown(doc.title)}{mode}",
        "",
        f"**{_text(doc.headline)}**",
        "",
        f"Job {safe.markdown(doc.job)}: {_text(doc.disposition)}  " if doc.job else _text(doc.disposition),
        f"Confidence {doc.confidence:.2f}, attributed to: {doc.attribution}",
        "",
    ]
    for section in doc.sections:
        out += [f"## {section.title}", ""]
        for number, item in enumerate(section.items, 1):
            mark = f"{number}." if section.numbered else "-"
            tag = f"**{safe.markdown(item.tag)}**: " if item.tag else ""
            note = _text(item.note)
            out.append(f"{mark} {tag}{_text(item.spans)}" + (f" ({note})" if note else ""))
        out.append("")
    out += ["## Evidence", ""]
    for record in doc.verdict.evidence:
        if record["rows"]:
            out += _evidence(record)
    unused = ", ".join(f"{r['id']} {r['query']}" for r in doc.verdict.evidence if not r["rows"])
    if unused:
        out += [f"Asked as well, and not cited: {safe.markdown(unused)}", ""]
    out += ["", *(f"{_text(f)}  " for f in doc.footer), ""]
    return "\n".join(out)


def _text(spans: Spans) -> str:
    parts = [f"[{safe.markdown(safe.line(s.text))}](#{s.id.lower()})" if s.id else safe.markdown(s.text) for s in spans]
    return "".join(parts)


def _evidence(record: dict[str, Any]) -> list[str]:
    names = [c["name"] for c in record["columns"]]
    rows: list[list[Any]] = record["rows"][:MAX_ROWS]
    more = "" if record["row_count"] <= len(rows) else f", the first {len(rows)} shown"
    lines = [
        f'### <a id="{record["id"].lower()}"></a>{record["id"]}: {safe.markdown(question(record))}',
        "",
        f"{record['row_count']} rows{more}; sha256 {record['sha256'][:16]}…",
        "",
    ]
    if rows:
        used = [i for i in range(len(names)) if any(r[i] is not None for r in rows)]
        lines.append("| " + " | ".join(safe.markdown(names[i]) for i in used) + " |")
        lines.append("|" + "---|" * len(used))
        lines += ["| " + " | ".join(_cell(r[i]) for i in used) + " |" for r in rows]
        lines.append("")
    return lines


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = safe.line(str(value))
    return safe.markdown(text if len(text) <= 160 else text[:159] + "…")
