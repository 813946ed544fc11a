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
td,th{border:1px solid var(--line);padding:.2rem .5rem;text-align:left;vertical-align:top;max-width:28rem;overflow-wrap:anywhere}
td:target,td.cited{background:color-mix(in srgb,var(--accent) 18%,transparent)}
figure{margin:1rem 0}.axis{font-size:11px;fill:var(--dim)}.back{fill:var(--line)}.front{fill:var(--dim)}.mark{fill:var(--accent)}.at-infrastructure .mark{fill:var(--bad)}
svg{width:100%;height:auto;background:var(--box);border-radius:.4rem}
"""


def page(doc: Document) -> str:
    """The whole page."""
    cited = {s.ref for spans in _all_spans(doc) for s in spans if s.id}
    kind = f"{doc.code} {doc.title}" + (f" ({doc.mode.replace('_', ' ')})" if doc.mode else "")
    title = safe.markup(f"{kind}: job {doc.job}" if doc.job else kind)
    body = [
        f'<p><span class="badge {safe.markup(doc.attribution)}">{safe.markup(kind)}</span></p>',
        f"<h1>{_text(doc.headline)}</h1>",
        f'<p class="meta">Job {safe.markup(doc.job)}. {_text(doc.disposition)} Confidence {doc.confidence:.2f}; '
        f"attributed to: {safe.markup(doc.attribution)}.</p>",
    ]
    body.append(f'<div class="at-{safe.markup(doc.attribution)}">{pictures(doc)}</div>')
    body += [_section(s) for s in doc.sections]
    body.append("<h2>Evidence</h2>")
    body += [_evidence(r, cited) for r in doc.verdict.evidence if r["rows"]]
    unused = ", ".join(f"{r['id']} {r['query']}" for r in doc.verdict.evidence if not r["rows"])
    if unused:
        body.append(f'<p class="note">Asked as well, and not cited: {safe.markup(unused)}</p>')
    body.append("<footer>" + "".join(f"<p>{_text(f)}</p>" for f in doc.footer) + "</footer>")
    return document(title, "".join(body), STYLE)


def document(title: str, body: str, style: str) -> str:
    """A page around markup that is safe already; its policy lets it load and run nothing."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{style}</style></head><body><main>{body}</main></body></html>\n"
    )


def _all_spans(doc: Document) -> list[Spans]:
    return [doc.headline, doc.disposition, *(i.spans for s in doc.sections for i in s.items)]


def _section(section: Section) -> str:
    kind = "ol" if section.numbered else "ul"
    items = "".join(
        "<li>"
        + (f'<span class="tag">{safe.markup(i.tag)}</span> ' if i.tag else "")
        + _text(i.spans)
        + (f' <span class="note">{_text(i.note)}</span>' if i.note else "")
        + "</li>"
        for i in section.items
    )
    inner = f"<{kind}>{items}</{kind}>"
    if section.detail:
        return f"<details><summary>{section.title}</summary>{inner}</details>"
    return f"<h2>{section.title}</h2>{inner}"


def _text(spans: Spans) -> str:
    return "".join(
        f'<a class="fig" href="#{_anchor(s.ref)}" title="{safe.markup(s.ref)}">{safe.markup(safe.line(s.text))}'
        f"<sup>{safe.markup(s.id)}</sup></a>"
        if s.id
        else safe.markup(s.text)
        for s in spans
    )


def _anchor(ref: str) -> str:
    return "c-" + "".join(c if c.isalnum() else "-" for c in ref)


def _evidence(record: dict[str, Any], cited: set[str]) -> str:
    names = [c["name"] for c in record["columns"]]
    mine = {ref for ref in cited if ref.startswith((f"{record['id']}.", f"{record['id']}:"))}
    far = [int(r.split(":")[1].split(".")[0]) for r in mine if ":" in r]
    keep = sorted({*range(min(MAX_ROWS, len(record["rows"]))), *(n for n in far if n < len(record["rows"]))})
    used = [
        i
        for i, n in enumerate(names)
        if any(record["rows"][k][i] is not None for k in keep) or any(r.endswith(f".{n}") for r in mine)
    ]
    draw = _upright if len(keep) <= 2 else _across
    count = f"{record['row_count']} rows" + ("" if len(keep) == record["row_count"] else f", {len(keep)} shown")
    return (
        f'<details id="{safe.markup(record["id"])}"{" open" if mine else ""}><summary>{safe.markup(record["id"])}: '
        f'{safe.markup(question(record))} <span class="meta">{count}</span></summary>'
        f'<div class="wide">{draw(record, used, keep, cited)}</div>'
        f'<p class="note">{safe.markup(record.get("caveat") or "")} sha256 {safe.markup(record["sha256"])}</p>'
        f"<details><summary>query</summary><pre>{safe.markup(record['sql'])}</pre></details></details>"
    )


def _across(record: dict[str, Any], used: list[int], keep: list[int], cited: set[str]) -> str:
    """Columns beside each other, as a query prints them."""
    head = "".join(f"<th>{_name(record, i)}</th>" for i in used)
    body = "".join("<tr>" + "".join(_td(record, i, k, cited) for i in used) + "</tr>" for k in keep)
    return f"<table><tr>{head}</tr>{body}</table>"


def _upright(record: dict[str, Any], used: list[int], keep: list[int], cited: set[str]) -> str:
    """Columns below each other: a row or two of many columns is not legible across."""
    body = "".join(
        f"<tr><th>{_name(record, i)}</th>" + "".join(_td(record, i, k, cited) for k in keep) + "</tr>" for i in used
    )
    return f"<table>{body}</table>"


def _name(record: dict[str, Any], i: int) -> str:
    column = record["columns"][i]
    return f'<span title="{safe.markup(column.get("doc") or "")}">{safe.markup(column["name"])}{_unit(column)}</span>'


def _unit(column: dict[str, Any]) -> str:
    return f" [{safe.markup(column['unit'])}]" if column.get("unit") else ""


def _td(record: dict[str, Any], column: int, row: int, cited: set[str]) -> str:
    name, value = record["columns"][column]["name"], record["rows"][row][column]
    ref = f"{record['id']}.{name}" if row == 0 else f"{record['id']}:{row}.{name}"
    text = "" if value is None else safe.line(str(value))
    shown = safe.markup(text if len(text) <= 400 else text[:399] + "…")
    mark = ' class="cited"' if ref in cited else ""
    return f'<td id="{_anchor(ref)}"{mark}>{shown}</td>'
