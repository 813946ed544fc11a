"""A verdict as one HTML page that needs no network: each figure links to the query that produced it.

Everything that came from outside is escaped; the page holds no script at all.
"""

from __future__ import annotations

from typing import Any

from inquest import safe
from inquest.render.document import Document, Section, Spans, question
from inquest.render.pictures import pictures

MAX_ROWS = 60

STYLE = """
:root{--fg:#1b1f24;--dim:#667;--line:#d8dce2;--bg:#fff;--box:#f6f8fa;--accent:#0b62c4;--bad:#b3261e;--ok:#1a7f37;--warn:#9a6700}
@media (prefers-color-scheme:dark){:root{--fg:#e6e8eb;--dim:#9aa4b0;--line:#333a44;--bg:#0f1216;--box:#171b21;--accent:#6cb0ff;--bad:#ff8a80;--ok:#6fdd8b;--warn:#e6b450}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1.2rem 4rem}
h1{font-size:1.5rem;line-height:1.3;margin:.3rem 0 .6rem}h2{font-size:1.05rem;margin:1.8rem 0 .4rem}
h3{font-size:.95rem;margin:1.4rem 0 .3rem;overflow-wrap:anywhere}
.badge{display:inline-block;border-radius:.4rem;padding:.1rem .6rem;font-weight:700;color:#fff;background:var(--accent)}
.infrastructure{background:var(--bad)}.scheduler{background:var(--warn)}.none{background:var(--ok)}.undetermined{background:var(--dim)}
.meta,.note,footer{color:var(--dim);font-size:.9rem}li{margin:.3rem 0}
a.fig{color:var(--accent);text-decoration:none;border-bottom:1px dotted var(--accent);font-variant-numeric:tabular-nums}
a.fig sup{font-size:.65em;margin-left:.15em;color:var(--dim)}
.tag{font-size:.85em;font-weight:600;color:var(--dim)}
details{border-top:1px solid var(--line);padding:.4rem 0}summary{cursor:pointer;font-weight:600}
pre{background:var(--box);padding:.7rem;overflow-x:auto;font-size:.8rem;border-radius:.4rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums}
td,th{border:1px solid var(--line);padding:.2rem .5rem;text-align:left;vertical-align:top;max-width:28rem;overflow-wrap:anywhere}th{white-space:nowrap}
td:target,td.cited{background:color-mix(in srgb,var(--accent) 18%,transparent)}
figure{margin:1rem 0}.axis{font-size:11px;fill:var(--dim)}.back{fill:var(--line)}.front{fill:var(--dim)}.mark{fill:var(--accent)}.at-infrastructure .mark{fill:var(--bad)}
svg{width:100%;height:auto;background:var(--box);border-radius:.4rem}
"""


def page(doc: Document) -> str:
    """The whole page."""
    return document(safe.markup(title_text(doc)), body(doc), STYLE)


def title_text(doc: Document) -> str:
    """What the page is called."""
    return f"{_kind(doc)}: job {doc.job}" if doc.job else _kind(doc)


def _kind(doc: Document) -> str:
    return f"{doc.code} {doc.title}" + (f" ({doc.mode.replace('_', ' ')})" if doc.mode else "")


def body(doc: Document, below: str = "") -> str:
    """All that the page says, as markup: the verdict with its pictures, what is to stand `below` it, and its evidence."""
    cited = {s.ref for spans in _all_spans(doc) for s in spans if s.id}
    kind = _kind(doc)
    parts = [
        f'<p><span class="badge {safe.markup(doc.attribution)}">{safe.markup(kind)}</span></p>',
        f"<h1>{text(doc.headline)}</h1>",
        f'<p class="meta">Job {safe.markup(doc.job)}. {text(doc.disposition)} Confidence {doc.confidence:.2f}; '
        f"attributed to: {safe.markup(doc.attribution)}.</p>",
    ]
    parts.append(f'<div class="at-{safe.markup(doc.attribution)}">{pictures(doc)}</div>')
    parts += [section(s) for s in doc.sections]
    parts += [below, "<h2>Evidence</h2>"]
    parts += [evidence(r, cited) for r in doc.verdict.evidence if _held(r)]
    unused = ", ".join(f"{r['id']} {r['query']}" for r in doc.verdict.evidence if not _held(r))
    if unused:
        parts.append(f'<p class="note">Asked as well, and not cited: {safe.markup(unused)}</p>')
    parts.append("<footer>" + "".join(f"<p>{text(f)}</p>" for f in doc.footer) + "</footer>")
    return "".join(parts)


def document(title: str, body: str, style: str) -> str:
    """A page around markup that is safe already; its policy lets it load and run nothing."""
    return f"{opening(title, style)}{body}{CLOSING}"


def opening(title: str, style: str) -> str:
    """All of a page before its body: for one that is sent while the rest of it is still in the making."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{style}</style></head><body><main>"
    )


CLOSING = "</main></body></html>\n"


def _all_spans(doc: Document) -> list[Spans]:
    return [doc.headline, doc.disposition, *(i.spans for s in doc.sections for i in s.items)]


def section(section: Section) -> str:
    """A heading with its sentences."""
    kind = "ol" if section.numbered else "ul"
    items = "".join(
        "<li>"
        + (f'<span class="tag">{safe.markup(i.tag)}</span> ' if i.tag else "")
        + text(i.spans)
        + (f' <span class="note">{text(i.note)}</span>' if i.note else "")
        + "</li>"
        for i in section.items
    )
    inner = f"<{kind}>{items}</{kind}>"
    if section.detail:
        return f"<details><summary>{section.title}</summary>{inner}</details>"
    return f"<h2>{section.title}</h2>{inner}"


def text(spans: Spans) -> str:
    """A sentence whose figures lead to their cells."""
    return "".join(
        f'<a class="fig" href="#{_anchor(s.ref)}" title="{safe.markup(s.ref)}">{safe.markup(safe.line(s.text))}'
        f"<sup>{safe.markup(s.id)}</sup></a>"
        if s.id
        else safe.markup(s.text)
        for s in spans
    )


def _anchor(ref: str) -> str:
    return "c-" + "".join(c if c.isalnum() else "-" for c in ref)


def evidence(record: dict[str, Any], cited: set[str], wanted: bool = False) -> str:
    """What was asked and its rows, open where one of them is cited or the whole is wanted."""
    names = [c["name"] for c in record["columns"]]
    mine = {ref for ref in cited if ref.startswith((f"{record['id']}.", f"{record['id']}:"))}
    far = [int(r.split(":")[1].split(".")[0]) for r in mine if ":" in r]
    held = _held(record)
    keep = sorted({*sorted(held)[:MAX_ROWS], *(n for n in far if n in held)})
    used = [
        i
        for i, n in enumerate(names)
        if any(held[k][i] is not None for k in keep) or any(r.endswith(f".{n}") for r in mine)
    ]
    draw = _upright if len(keep) <= 2 else _across
    count = f"{record['row_count']} rows" + ("" if len(keep) == record["row_count"] else f", {len(keep)} shown")
    return (
        f'<details id="{safe.markup(record["id"])}"{" open" if mine or wanted else ""}><summary>{safe.markup(record["id"])}: '
        f'{safe.markup(question(record))} <span class="meta">{count}</span></summary>'
        f'<div class="wide">{draw(record, used, {k: held[k] for k in keep}, cited)}</div>'
        f'<p class="note">{safe.markup(record.get("caveat") or "")} sha256 {safe.markup(record["sha256"])}</p>'
        f"<details><summary>query</summary><pre>{safe.markup(record['sql'])}</pre></details></details>"
    )


def _held(record: dict[str, Any]) -> dict[int, list[Any]]:
    """The rows that came with it, by their place: all, or of a large answer in a stored verdict the cited ones."""
    rows: list[list[Any]] | None = record["rows"]
    kept: dict[str, list[Any]] = record.get("kept") or {}
    return dict(enumerate(rows)) if rows is not None else {int(place): row for place, row in kept.items()}


def _across(record: dict[str, Any], used: list[int], rows: dict[int, list[Any]], cited: set[str]) -> str:
    """Columns beside each other, as a query prints them."""
    head = "".join(f"<th>{_name(record, i)}</th>" for i in used)
    body = "".join("<tr>" + "".join(_td(record, i, k, row, cited) for i in used) + "</tr>" for k, row in rows.items())
    return f"<table><tr>{head}</tr>{body}</table>"


def _upright(record: dict[str, Any], used: list[int], rows: dict[int, list[Any]], cited: set[str]) -> str:
    """Columns below each other: a row or two of many columns is not legible across."""
    body = "".join(
        f"<tr><th>{_name(record, i)}</th>" + "".join(_td(record, i, k, row, cited) for k, row in rows.items()) + "</tr>"
        for i in used
    )
    return f"<table>{body}</table>"


def _name(record: dict[str, Any], i: int) -> str:
    column = record["columns"][i]
    return f'<span title="{safe.markup(column.get("doc") or "")}">{safe.markup(column["name"])}{_unit(column)}</span>'


def _unit(column: dict[str, Any]) -> str:
    return f" [{safe.markup(column['unit'])}]" if column.get("unit") else ""


def _td(record: dict[str, Any], column: int, place: int, row: list[Any], cited: set[str]) -> str:
    name, value = record["columns"][column]["name"], row[column]
    ref = f"{record['id']}.{name}" if place == 0 else f"{record['id']}:{place}.{name}"
    said = "" if value is None else safe.line(str(value))
    shown = safe.markup(said if len(said) <= 400 else said[:399] + "…")
    mark = ' class="cited"' if ref in cited else ""
    return f'<td id="{_anchor(ref)}"{mark}>{shown}</td>'
