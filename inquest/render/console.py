"""The pages of the console: jobs, nodes, questions and answers. Pure text from rows; no script, nothing from elsewhere.

Everything that came from outside is escaped. The pages are drawn on the server, so that a browser needs to be allowed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from agent_tools.evidence import Ledger
from agent_tools.questions.answer import Reply, answer_texts
from agent_tools.references import Span, cited, render_text
from agent_tools.verdict import FAMILIES
from inquest import safe
from inquest.render.document import Item, Section
from inquest.render.page import STYLE, document, evidence, opening, section, text

CONSOLE_STYLE = (
    STYLE
    + """
main{max-width:78rem;padding-top:0}a{color:var(--accent)}
nav{display:flex;flex-wrap:wrap;gap:1.1rem;align-items:center;padding:.8rem 0;border-bottom:1px solid var(--line);margin-bottom:1rem}
nav a{text-decoration:none}nav a.here{font-weight:700;color:var(--fg)}nav form{margin:0 0 0 auto}nav .brand{font-weight:700;color:var(--fg)}
form.filter,form.ask{display:flex;flex-wrap:wrap;gap:.6rem;align-items:end;margin:.8rem 0}
label{display:flex;flex-direction:column;font-size:.8rem;color:var(--dim)}
input,select,button{font:inherit;padding:.3rem .5rem;border:1px solid var(--line);border-radius:.35rem;background:var(--box);color:var(--fg);min-width:0}
form.filter input{width:9rem}form.ask label{flex:1 1 20rem}button{cursor:pointer}button.plain{border:0;background:none;color:var(--accent);padding:0}
table.list{width:100%;font-size:.85rem}table.list td,table.list th{border-width:0 0 1px;padding:.35rem .5rem;overflow-wrap:break-word}table.list td.n{text-align:right;white-space:nowrap}
table.list td.t{white-space:nowrap}table.list .badge{font-size:.8rem;padding:0 .4rem}.faint{opacity:.6}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}.tile{background:var(--box);border-radius:.5rem;padding:.6rem 1rem;min-width:8rem}
.tile b{display:block;font-size:1.5rem;line-height:1.2;font-variant-numeric:tabular-nums}.tile span{color:var(--dim);font-size:.85rem}
.bars{display:grid;grid-template-columns:minmax(0,max-content) minmax(4rem,1fr) max-content;gap:.2rem .7rem;align-items:center;font-size:.85rem;max-width:48rem}
.bars i{display:block;height:.8rem;border-radius:.2rem;background:var(--dim);min-width:2px}.bars i.infrastructure{background:var(--bad)}
.problem{border:2px solid var(--bad);border-radius:.5rem;padding:.6rem 1rem}ol.steps{color:var(--dim);font-size:.85rem}
"""
)

FILTERS = {
    "job": "Job or array",
    "user": "User",
    "name": "Name contains",
    "state": "State",
    "partition": "Partition",
    "node": "Node",
    "since": "Since (UTC)",
    "until": "Until (UTC)",
}
"""What jobs may be narrowed by, beside the family: the parameter and what stands above its field."""
TILES = {
    "attempts": "attempts",
    "failed": "failed",
    "examined": "with a verdict",
    "infrastructure": "laid at the infrastructure",
    "gpu_hours_held": "GPU-hours held",
    "gpu_hours_wasted": "GPU-hours wasted",
}
"""What the jobs add up to: columns of `fleet_tally`."""
Rows = Sequence[Mapping[str, Any]]


def frame(title: str, body: str, *, user: str = "", here: str = "") -> str:
    """A page of the console around markup that is safe already."""
    return document(safe.markup(f"{title} - inquest"), _nav(user, here) + body, CONSOLE_STYLE)


def begun(title: str, *, user: str, here: str = "") -> str:
    """The beginning of a page whose rest is still in the making; `page.CLOSING` ends it."""
    return opening(safe.markup(f"{title} - inquest"), CONSOLE_STYLE) + _nav(user, here)


def _nav(user: str, here: str) -> str:
    if not user:
        return '<nav><span class="brand">inquest</span></nav>'
    links = (("/", "Jobs"), ("/nodes", "Nodes"), ("/ask", "Ask"), ("/docs", "API"))
    shown = "".join(f'<a href="{to}"{" class=here" if name == here else ""}>{name}</a>' for to, name in links)
    return (
        f'<nav><span class="brand">inquest</span>{shown}<form method="post" action="/logout">'
        f'<span class="meta">{_said(user)}</span> <button class="plain">log out</button></form></nav>'
    )


def login(then: str, refused: str = "") -> str:
    """Asks for a token."""
    told = problem_box(refused) if refused else ""
    return frame(
        "Log in",
        f'<h1>Log in</h1>{told}<form class="ask" method="post" action="/login"><input type="hidden" name="then" value="{safe.markup(then)}">'
        '<label>Token<input name="token" type="password" autocomplete="current-password" required autofocus></label>'
        "<button>Log in</button></form>"
        '<p class="note">An operator makes one with <code>inquest serve --token-file FILE --new-token USER</code>.</p>',
    )


def problem(status: int, told: str) -> str:
    """A page that says what went wrong, in words that say how to go on."""
    back = '<p class="note"><a href="/">Back to the jobs</a></p>'
    return frame("Not shown", f"<h1>This cannot be shown ({status})</h1>{problem_box(told)}{back}")


def problem_box(told: str) -> str:
    """What went wrong, within a page."""
    return f'<p class="problem">{_said(told, 600)}</p>'


def jobs(
    rows: Rows, total: int, tally: Rows, families: Rows, given: Mapping[str, str], *, user: str, operator: bool
) -> str:
    """Attempts of jobs with their stored verdicts, and what they add up to. `given` are the filters as they were typed."""
    body = ["<h1>Jobs</h1>", _filter(given, operator), _tiles(tally), _bars(families, given)]
    if rows:
        head = [
            "Job",
            "Name",
            "User",
            "Partition",
            "State",
            "Ended (UTC)",
            "Ran",
            "Nodes",
            "GPUs",
            "Verdict",
            "Confidence",
            "Wasted",
        ]
        body.append(_list(head, [_job(r) for r in rows]))
        if total > len(rows):
            body.append(f'<p class="note">The newest {len(rows):,} of {total:,}: narrow them to see others.</p>')
    else:
        body.append(
            '<p class="note">No attempt of a job fits. Jobs come from accounting: `inquest watch`, `inquest follow` or `inquest import` bring them.</p>'
        )
    return frame("Jobs", "".join(body), user=user, here="Jobs")


def _filter(given: Mapping[str, str], operator: bool) -> str:
    fields = [
        f'<label>{title}<input name="{name}" value="{safe.markup(given.get(name, ""))}"'
        + (' placeholder="2026-03-01"' if name in ("since", "until") else "")
        + "></label>"
        for name, title in FILTERS.items()
        if operator or name != "user"
    ]
    options = "".join(
        f'<option value="{code}"{" selected" if given.get("family") == code else ""}>{code} {safe.markup(title)}</option>'
        for code, (title, _) in FAMILIES.items()
    )
    chosen = f'<label>Verdict<select name="family"><option value="">any</option>{options}</select></label>'
    return f'<form class="filter" method="get" action="/">{"".join(fields)}{chosen}<button>Show</button></form>'


def _tiles(tally: Rows) -> str:
    if not tally:
        return ""
    row = tally[0]
    tiles = [f'<div class="tile"><b>{_number(row[key])}</b><span>{words}</span></div>' for key, words in TILES.items()]
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _bars(families: Rows, given: Mapping[str, str]) -> str:
    """How often each verdict was given, as bars that lead to its jobs."""
    known = [r for r in families if r["value"] in FAMILIES]
    if len(known) < 2:
        return ""
    most = max(int(r["attempts"]) for r in known)
    bars = "".join(
        f'<a href="/?{safe.markup(urlencode({**given, "family": r["value"]}))}">{r["value"]} {safe.markup(FAMILIES[r["value"]][0])}</a>'
        f'<i class="{"infrastructure" if r["infrastructure"] else ""}" style="width:{100 * int(r["attempts"]) / most:.1f}%"></i>'
        f"<span>{int(r['attempts']):,}</span>"
        for r in sorted(known, key=lambda r: (-int(r["attempts"]), r["value"]))
    )
    return f'<details open><summary>Verdicts</summary><div class="bars">{bars}</div></details>'


def _job(r: Mapping[str, Any]) -> list[tuple[str, str]]:
    attempt = int(r["attempt"] or 1)
    shown = str(r["job_id"]) + (f" (run {attempt})" if attempt > 1 else "")
    ended = f", signal {r['exit_signal']}" if r["exit_signal"] else f", {r['exit_code']}" if r["exit_code"] else ""
    verdict = (
        f'<span class="badge {safe.markup(str(r["attribution"] or ""))}">{_said(r["family"])}</span> {safe.markup(FAMILIES.get(str(r["family"]), ("",))[0])}'
        if r["family"]
        else '<span class="faint">none yet</span>'
    )
    return [
        ("", f'<a href="{_to_job(str(r["job_id"]), attempt)}">{_said(shown)}</a>'),
        ("", _said(r["name"], 40)),
        ("", _said(r["user"])),
        ("", _said(r["partition"])),
        ("", _said(r["state"]) + safe.markup(ended)),
        ("t", _time(r["end_ts"])),
        ("n", _span(r["elapsed_s"])),
        ("", _said(r["node_list"], 40) if r["node_list"] else _number(r["node_count"])),
        ("n", _number(r["gpus"])),
        ("", verdict),
        ("n", "" if r["confidence"] is None else f"{r['confidence']:.2f}"),
        ("n", "" if r["gpu_hours_wasted"] is None else f"{r['gpu_hours_wasted']:,.2f} h"),
    ]


def nodes(rows: Rows, total: int, *, user: str, operator: bool) -> str:
    """Nodes that were or are in trouble."""

    def cells(r: Mapping[str, Any]) -> list[tuple[str, str]]:
        name = str(r["node"])
        linked = f'<a href="/?{safe.markup(urlencode({"node": name}))}">{_said(name)}</a>' if operator else _said(name)
        flags = f" ({_said(r['state_flags'])})" if r["state_flags"] else ""
        until = '<span class="badge infrastructure">still</span>' if r["still"] else _time(r["until_ts"])
        return [
            ("", linked),
            ("", _said(r["state"]) + flags),
            ("", _said(r["reason"], 120)),
            ("", _said(r["reason_user"])),
            ("t", _time(r["begin_ts"])),
            ("t", until),
        ]

    body = "<h1>Nodes in trouble</h1>"
    if rows:
        body += _list(["Node", "State", "Reason", "Set by", "From (UTC)", "Until (UTC)"], [cells(r) for r in rows])
        body += f'<p class="note">Rows shown: {len(rows):,} of {total:,}. What was recorded last may be old.</p>'
    else:
        body += '<p class="note">No node was recorded as down, failed, drained or silent. Node states come from `inquest watch` or `inquest follow`.</p>'
    return frame("Nodes", body, user=user, here="Nodes")


def ask_form(job: str = "", question: str = "") -> str:
    """A field for a question, about a job where one is named."""
    about = f'<input type="hidden" name="job" value="{safe.markup(job)}">' if job else ""
    example = "what did the loss do before the end?" if job else "which jobs failed on gpu-07 this month?"
    return (
        f'<form class="ask" method="post" action="/ask">{about}<label>{f"Ask about job {_said(job)}" if job else "Ask about the jobs and nodes"}'
        f'<input name="question" maxlength="2000" required value="{safe.markup(question)}" placeholder="{example}"></label><button>Ask</button></form>'
    )


def attempts(job: str, rows: Rows, shown: int | None, stored: bool) -> str:
    """The runs of a job as links, and whether what stands below was stored or is of now."""
    known = [int(r["attempt"]) for r in rows]
    links = [
        f'<a href="{_to_job(job, n)}"{" class=here" if n == shown else ""}>run {n}: {_said(r["state"])}</a>'
        for n, r in zip(known, rows, strict=True)
    ]
    parts = [f"<p>{', '.join(links)}</p>"] if len(known) > 1 else []
    again = f"/jobs/{quote(job, safe='')}?" + urlencode({**({"attempt": shown} if shown else {}), "fresh": 1})
    if stored:
        parts.append(
            f'<p class="note">As it was stored when the job ended. <a href="{safe.markup(again)}">Examine it again</a> with what the lake holds now.</p>'
        )
    return "".join(parts)


def reply(answer: Reply, ledger: Ledger) -> str:
    """An answer and what it rests on, as markup."""

    def spans(sentence: str) -> list[Span]:
        return render_text(sentence, ledger)

    sections = [
        Section("What the data shows", [Item(spans(c.text)) for c in answer.shows]),
        Section(
            "What it implies",
            [Item(spans(c.text), "" if c.status == "established" else c.status) for c in answer.implies],
        ),
        Section("What it cannot answer", [Item(spans(m.text), note=spans(m.signal)) for m in answer.cannot_answer]),
        Section("What to do", [Item(spans(c.text)) for c in answer.actions], numbered=True),
    ]
    used = set(cited(answer_texts(answer)))
    parts = [f"<h1>{text(spans(answer.short))}</h1>", *(section(s) for s in sections if s.items)]
    held = [r for r in answer.evidence if r["rows"]]
    if held:
        parts.append("<h2>Evidence</h2>" + "".join(evidence(r, used, r["id"] in answer.tables) for r in held))
    made = answer.provenance
    parts += [
        f'<p class="note">{_said(note, 600)}</p>'
        for note in [*made.notes, f"Answered by {made.model} in {made.seconds:.1f} s."]
    ]
    return "".join(parts)


def step(told: str) -> str:
    """One step of an answer in the making."""
    return f"<li>{_said(told, 200)}</li>"


def _list(head: Sequence[str], rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    top = "".join(f"<th>{h}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td{f' class={kind}' if kind else ''}>{cell}</td>" for kind, cell in row) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table class="list"><tr>{top}</tr>{body}</table></div>'


def _to_job(job: str, attempt: int) -> str:
    return safe.markup(f"/jobs/{quote(job, safe='')}" + (f"?attempt={attempt}" if attempt > 1 else ""))


def _said(value: object, limit: int = 80) -> str:
    told = "" if value is None else safe.line(str(value))
    return safe.markup(told if len(told) <= limit else told[: limit - 1] + "…")


def _number(value: object) -> str:
    return "" if not isinstance(value, int | float) else f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def _time(value: object) -> str:
    return "" if value is None else safe.markup(str(value)[:16].replace("T", " "))


def _span(seconds: object) -> str:
    if not isinstance(seconds, int | float):
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (
        f"{days} d {hours} h"
        if days
        else f"{hours} h {minutes} min"
        if hours
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )
