"""A run of the suite as one page that needs nothing else: families, confusion, reliability, what went wrong.

Text from cases and models is escaped; the page holds no script and asks no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_tools.verdict import FAMILIES
from evals.baseline import Change, Comparison, reason
from evals.outcome import Outcome
from evals.summary import summary
from inquest import safe
from inquest.render.page import STYLE, document

MAX_FAILED = 400

SCORES_STYLE = """
main{max-width:72rem}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}.tile{background:var(--box);border-radius:.5rem;padding:.6rem 1rem;min-width:8.5rem}
.tile b{display:block;font-size:1.5rem;line-height:1.2;font-variant-numeric:tabular-nums}.tile span{color:var(--dim);font-size:.85rem}
.tile.bad b{color:var(--bad)}.tile.good b{color:var(--ok)}
.banner{border:2px solid var(--bad);border-radius:.5rem;padding:.6rem 1rem;color:var(--bad);font-weight:600}
td.n,th.n{text-align:right;white-space:nowrap}
table.heat td,table.heat th{text-align:center;padding:.15rem .3rem;min-width:1.9rem}table.heat th{color:var(--dim);font-weight:600}
table.heat td.right{background:color-mix(in srgb,var(--ok) calc(var(--w)*1%),var(--bg))}
table.heat td.wrong{background:color-mix(in srgb,var(--bad) calc(var(--w)*1%),var(--bg));font-weight:700}
svg.square{max-width:26rem}svg text{fill:var(--dim);font-size:11px}
.row{display:flex;flex-wrap:wrap;gap:2rem;align-items:flex-start}
"""


def scores_page(outcomes: Sequence[Outcome], comparison: Comparison | None = None, *, model: str | None = None) -> str:
    """The whole page."""
    s = summary(outcomes)
    who = safe.markup(model or "the built-in examiner")
    body = [f"<h1>How often is the verdict right?</h1><p class='meta'>{who}; {s['cases']} cases, {s['runs']} runs.</p>"]
    if not s["valid"]:
        why = "".join(f"<li>{safe.markup(w)}</li>" for w in sorted({o.invalid for o in outcomes if o.invalid})[:5])
        body.append(
            f'<div class="banner">Invalid: the model\'s endpoint failed in {s["invalid"]} of {s["runs"]} runs. '
            f"This is no result of the model.<ul>{why}</ul></div>"
        )
    body += [_tiles(s), "<h2>By family</h2>", _families(s)]
    body += ["<h2>What was taken for what</h2>", _heat(s["confusion"])]
    body += [
        "<h2>Is the confidence what it says?</h2>",
        f'<div class="row">{_diagram(s["reliability"])}{_bins(s)}</div>',
    ]
    body += ["<h2>Abstention and blame</h2>", _abstention(s)]
    if len(s["pass"]) > 1:
        body += ["<h2>Repeats</h2>", _passes(s["pass"])]
    if comparison is not None:
        body += ["<h2>Beside the baseline</h2>", _comparison(comparison)]
    body += ["<h2>What went wrong</h2>", _failed([o for o in outcomes if not o.right])]
    body += ["<h2>Cost of an answer</h2>", _spent(s)]
    return document("inquest: how often is the verdict right?", "".join(body), STYLE + SCORES_STYLE)


def _tiles(s: dict[str, Any]) -> str:
    def share(value: float | None, good: float) -> tuple[str, bool | None]:
        return ("-", None) if value is None else (f"{value:.1%}", value >= good)

    tiles = [
        ("right in every respect", (f"{s['right']} of {s['runs']}", s["right"] == s["runs"])),
        ("right family", share(s["family_accuracy"], 0.99)),
        ("right blame", share(s["attribution_accuracy"], 0.99)),
        ("hardware blamed wrongly", (f"{s['hardware_blamed_wrongly']}", s["hardware_blamed_wrongly"] == 0)),
        ("healthy called broken", (f"{s['healthy_called_broken']}", s["healthy_called_broken"] == 0)),
        ("abstained where it should", share(s["abstention"]["accuracy"], 0.97)),
        ("Brier", ("-", None) if s["brier"] is None else (f"{s['brier']:.4f}", s["brier"] < 0.03)),
    ]
    drawn = (
        f'<div class="tile{"" if good is None else " good" if good else " bad"}"><b>{text}</b><span>{name}</span></div>'
        for name, (text, good) in tiles
    )
    return f'<div class="tiles">{"".join(drawn)}</div>'


def _families(s: dict[str, Any]) -> str:
    names = ("family", "", "runs", "right", "share", "s.e.", "at least", "all right", "confidence")
    rows = [
        [
            code, FAMILIES.get(code, ("", ()))[0], f["runs"], f["family_right"], f"{f['accuracy']:.1%}",
            f"{f['standard_error']:.1%}", f"{f['at_least']:.1%}", f["all_right"],
            "-" if f["mean_confidence"] is None else f"{f['mean_confidence']:.2f}",
        ]
        for code, f in s["families"].items()
    ]  # fmt: skip
    note = '<p class="note">s.e.: standard error over cases; at least: Wilson\'s lower bound of the share, 97.5 %.</p>'
    return _table(names, rows, words=2) + note


def _heat(confusion: Sequence[dict[str, Any]]) -> str:
    """Expected family down, given one across; darker is more of the row."""
    if not confusion:
        return '<p class="note">Nothing to show.</p>'
    rows = sorted({c["expected"] for c in confusion})
    columns = sorted({c["got"] for c in confusion} | set(rows), key=lambda c: (c not in FAMILIES, c))
    cells = {(c["expected"], c["got"]): int(c["cases"]) for c in confusion}
    head = "<tr><th></th>" + "".join(f"<th>{safe.markup(c)}</th>" for c in columns) + "</tr>"
    body: list[str] = []
    for r in rows:
        total = sum(cells.get((r, c), 0) for c in columns)
        line = [f"<tr><th>{safe.markup(r)}</th>"]
        for c in columns:
            n = cells.get((r, c), 0)
            kind = "right" if r == c else "wrong"
            floor = 12 if kind == "right" else 35
            weight = floor + round((65 - floor) * n / total)
            line.append(f'<td class="{kind}" style="--w:{weight}">{n}</td>' if n else "<td></td>")
        body.append("".join(line) + "</tr>")
    note = '<p class="note">Down: what happened. Across: what the verdict says.</p>'
    return f'<div class="wide"><table class="heat">{head}{"".join(body)}</table></div>{note}'


def _diagram(bins: Sequence[dict[str, Any]]) -> str:
    """Mean confidence against the share that was right; on the diagonal a confidence is what it says."""
    size, pad = 320.0, 46.0
    top = max((int(b["count"]) for b in bins), default=1)

    def x(v: float) -> float:
        return pad + v * (size - 2 * pad)

    def y(v: float) -> float:
        return size - pad - v * (size - 2 * pad)

    parts = [
        f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(1)}" y2="{y(1)}" stroke="var(--dim)" stroke-dasharray="4 4"/>',
        f'<path d="M{x(0)} {y(1)}V{y(0)}H{x(1)}" fill="none" stroke="var(--line)"/>',
    ]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<text x="{x(tick)}" y="{size - pad + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{pad - 6}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
    for b in bins:
        radius = 3 + 9 * (int(b["count"]) / top) ** 0.5
        parts.append(
            f'<circle cx="{x(b["confidence"]):.1f}" cy="{y(b["right"]):.1f}" r="{radius:.1f}" fill="var(--accent)" '
            f'fill-opacity=".65"><title>{b["count"]} verdicts: confidence {b["confidence"]:.2f}, right {b["right"]:.2f}</title></circle>'
        )
    parts.append(f'<text x="{size / 2}" y="{size - 10}" text-anchor="middle">confidence</text>')
    parts.append(
        f'<text x="12" y="{size / 2}" text-anchor="middle" transform="rotate(-90 12 {size / 2})">share right</text>'
    )
    label = "Reliability diagram: mean confidence against the share of verdicts that was right"
    return f'<svg class="square" viewBox="0 0 {size:g} {size:g}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _bins(s: dict[str, Any]) -> str:
    rows = [
        [f"{b['low']:.2f} to {b['high']:.2f}", b["count"], f"{b['confidence']:.3f}", f"{b['right']:.3f}"]
        for b in s["reliability"]
    ]
    return f"<div>{_table(('confidence', 'verdicts', 'mean', 'right'), rows, words=1)}</div>"


def _abstention(s: dict[str, Any]) -> str:
    a = s["abstention"]
    rows = [
        ["held back, and named what is missing", a["right"]],
        ["held back without naming it", a["unnamed"]],
        ["answered without grounds", a["wrong"]],
        ["declined although there were grounds", a["declined"]],
        ["hardware blamed for what is not its fault", s["hardware_blamed_wrongly"]],
        ["hardware let off", len(s["blame"]["hardware_let_off"])],
        ["other wrong blame", len(s["blame"]["other"])],
        ["no answer of the model that holds", s["unanswered"]],
        ["errors of the suite itself", s["errors"]],
    ]
    return _table(("", "runs"), rows, words=1)


def _passes(passes: Sequence[dict[str, float]]) -> str:
    rows = [[f"pass^{p['k']}", f"{p['share']:.1%}", f"{p['standard_error']:.1%}"] for p in passes]
    return _table(("", "share", "s.e."), rows, words=1)


def _comparison(c: Comparison) -> str:
    head = f"<p>{len(c.worse)} worse, {len(c.better)} better, {c.same} as before, {c.new} new, {len(c.gone)} gone.</p>"

    def rows(changes: Sequence[Change], word: str) -> list[list[object]]:
        return [[word, x.case, f"{x.before:.0%} to {x.now:.0%}", x.why] for x in changes[:MAX_FAILED]]

    listed = rows(c.worse, "worse") + rows(c.unknown, "new and wrong") + rows(c.better, "better")
    return head + (_table(("", "case", "right", "why"), listed, words=4) if listed else "")


def _failed(failed: Sequence[Outcome]) -> str:
    if not failed:
        return '<p class="note">Nothing.</p>'
    rows = [
        [o.case if o.run == 1 else f"{o.case} run {o.run}", " or ".join(o.truth), o.got, reason(o), o.headline]
        for o in failed[:MAX_FAILED]
    ]
    more = f'<p class="note">And {len(failed) - MAX_FAILED} more.</p>' if len(failed) > MAX_FAILED else ""
    return _table(("case", "expected", "got", "why", "headline of the verdict"), rows, words=5) + more


def _spent(s: dict[str, Any]) -> str:
    rows = [[k, f"{f['median']:g}", f"{f['highest']:g}", f"{f['sum']:g}"] for k, f in s["spent"].items()]
    found = _table(("", "median", "highest", "in all"), rows, words=1)
    held = [[k, f["cases"], f"{f['mean']:.3f}"] for k, f in s["measures"].items()]
    return found + (_table(("measured, decides nothing", "answers", "mean"), held, words=1) if held else "")


def _table(names: Sequence[str], rows: Sequence[Sequence[object]], *, words: int) -> str:
    """A table whose first `words` columns are words and whose others are figures."""
    kinds = ["" if i < words else ' class="n"' for i in range(len(names))]
    head = "".join(f"<th{k}>{safe.markup(n)}</th>" for k, n in zip(kinds, names, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{k}>{safe.markup(safe.line(str(v)))}</td>" for k, v in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'
