"""The pictures of a verdict's page, as SVG: the loss over the steps, and the job's GPUs side by side.

They are drawn from the rows that the verdict carries, so that a page needs no lake. A verdict without such rows has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from agent_tools.seal import PICTURES
from inquest import safe
from inquest.render.document import Document, Spans

WIDE, HIGH, PAD, LEFT, FOOT = 720.0, 180.0, 10.0, 52.0, 22.0
MOST_NODES_NAMED = 16
Gpu = tuple[object, object, object]
"""Node, index, UUID: any of them may be unknown."""


@dataclass(frozen=True, slots=True)
class Bars:
    """What stands beside each other: a column of `gpu_summary` before another one; `unit` where it is no share of one."""

    front: str
    back: str | None
    what: str
    unit: str = ""


_WHOLE = Bars("sm_mean", "engine_mean", "Mean SM activity, before mean engine activity (pale)")
_LATE = Bars("sm_late", "engine_late", "SM activity in the last ten minutes, before engine activity (pale)")
_ENGINE = Bars("engine_mean", None, "Mean engine activity")
_BARS = {
    "B1": Bars("peak_gib", "total_gib", "Highest memory in use, before the memory of the card (pale)", " GiB"),
    "B3": Bars("severe_throttle_share", None, "Share of samples with severe throttle bits"),
    **dict.fromkeys(("C1", "C2", "C3"), _LATE),
    **dict.fromkeys(("D1", "D2", "D3"), _WHOLE),
}
"""By family, where the GPUs beside each other are what it is about: then they stand before the loss."""


def pictures(doc: Document) -> str:
    """All that can be drawn, the one that the family is about first."""
    named = marked(doc.verdict.evidence, {s.ref for spans in _told(doc) for s in spans if s.id})
    losses = [loss(r) for r in doc.verdict.evidence if r["query"] in PICTURES and r["rows"]][:1]
    records = [r for r in doc.verdict.evidence if r["query"] == "gpu_summary" and r["rows"]][:1]
    kind = _BARS.get(doc.code, _WHOLE)
    drawn = [gpus(r, named, kind) or gpus(r, named, _ENGINE) for r in records]
    return "".join([*drawn, *losses] if doc.code in _BARS else [*losses, *drawn])


def _told(doc: Document) -> list[Spans]:
    """What the verdict itself says: a GPU that only tells another cause apart is not what it names."""
    return [doc.headline, *(i.spans for s in doc.sections if not s.detail for i in s.items)]


def marked(evidence: Iterable[dict[str, Any]], cited: set[str]) -> set[Gpu]:
    """The GPUs whose own index or UUID a sentence cites, in whatever query they stand."""
    found: set[Gpu] = set()
    for record in evidence:
        names = [c["name"] for c in record["columns"]]
        if not {"node", "gpu", "gpu_uuid"} <= set(names):
            continue
        for k, row in enumerate(record["rows"] or ()):
            places = [f"{record['id']}:{k}"] + ([record["id"]] if k == 0 else [])
            if any(f"{place}.{n}" in cited for place in places for n in ("gpu", "gpu_uuid")):
                found.add(_gpu(dict(zip(names, row, strict=True))))
    return found


def _gpu(row: dict[str, Any]) -> Gpu:
    return row["node"], row["gpu"], row["gpu_uuid"]


def gpus(record: dict[str, Any], marks: set[Gpu], kind: Bars) -> str:
    """A bar for each GPU, node by node, from rows of `gpu_summary`; those that are marked are coloured.

    Nothing where no GPU has the figure.
    """
    names = [c["name"] for c in record["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in record["rows"]]
    columns = [c for c in (kind.back, kind.front) if c]
    top = max((_finite(r[c]) or 0.0 for r in rows for c in columns), default=0.0) if kind.unit else 1.0
    if top <= 0 or not any(_finite(r[kind.front]) is not None for r in rows):
        return ""
    step = (WIDE - LEFT - PAD) / len(rows)
    width, floor = max(0.6, step * 0.8), HIGH - FOOT
    bars: list[str] = []
    for k, row in enumerate(rows):
        x = LEFT + k * step
        for column in columns:
            value = _finite(row[column])
            if value is None:
                continue
            shade = "back" if column == kind.back else "mark" if _gpu(row) in marks else "front"
            high = min(value / top, 1.0) * (floor - PAD)
            told = f"{row['node']} GPU {row['gpu']}: {column} {value:g}"
            wide = max(width, 2.0) if shade == "mark" else width
            bars.append(
                f'<rect class="{shade}" x="{x:.1f}" y="{floor - high:.1f}" width="{wide:.1f}" height="{high:.1f}">'
                f"<title>{safe.markup(safe.line(told))}</title></rect>"
            )
    bars += _node_names(rows, step)
    bars += [_text(LEFT - 6, PAD + 8, f"{top:g}{kind.unit}", "end"), _text(LEFT - 6, floor, "0", "end")]
    named = "; the GPUs that the verdict names are coloured" if any(_gpu(r) in marks for r in rows) else ""
    return _figure("".join(bars), f"{kind.what}, of {len(rows)} GPUs by node and index ({record['id']}){named}")


def _node_names(rows: list[dict[str, Any]], step: float) -> list[str]:
    nodes = [(str(node or "?"), len(list(those))) for node, those in groupby(rows, key=lambda r: r["node"])]
    if len(nodes) > MOST_NODES_NAMED:
        return []
    shown: list[str] = []
    at = LEFT
    for node, count in nodes:
        middle = at + count * step / 2
        shown.append(_text(middle, HIGH - 7, safe.line(node)[: max(3, int(count * step / 6.5))], "middle"))
        at += count * step
    return shown


def loss(record: dict[str, Any]) -> str:
    """The loss over the steps, from rows of `loss_curve`; a bin without a finite loss leaves a gap."""
    names = [c["name"] for c in record["columns"]]
    column, step = names.index("loss"), names.index("first_step")
    steps = [r[step] for r in record["rows"]]
    # A step that counts within its epoch would draw the epochs over one another.
    stepped = None not in steps and all(b > a for a, b in pairwise(steps))
    points = [(float(r[step] if stepped else k), _finite(r[column])) for k, r in enumerate(record["rows"])]
    good = [(x, y) for x, y in points if y is not None]
    if len(good) < 3:
        return ""
    x0, x1 = good[0][0], good[-1][0]
    y0, y1 = min(y for _, y in good), max(y for _, y in good)
    floor = HIGH - FOOT

    def at(x: float, y: float) -> str:
        across = LEFT + (x - x0) / ((x1 - x0) or 1) * (WIDE - LEFT - PAD)
        return f"{across:.1f},{floor - (y - y0) / ((y1 - y0) or 1) * (floor - PAD):.1f}"

    runs: list[list[str]] = [[]]
    for x, y in points:
        if y is None:
            runs.append([])
        else:
            runs[-1].append(at(x, y))
    drawn = "".join(
        f'<polyline fill="none" stroke="currentColor" stroke-width="1.6" points="{" ".join(run)}"/>'
        for run in runs
        if run
    )
    drawn += _text(LEFT - 6, PAD + 8, f"{y1:.4g}", "end") + _text(LEFT - 6, floor, f"{y0:.4g}", "end")
    drawn += _text(LEFT, HIGH - 7, f"{x0:g}", "start") + _text(WIDE - PAD, HIGH - 7, f"{x1:g}", "end")
    label = f"Training loss by {'step' if stepped else 'report'}: from {good[0][1]:g} to {good[-1][1]:g}, between {y0:g} and {y1:g} ({record['id']})"
    return _figure(drawn, label)


def _figure(drawn: str, label: str) -> str:
    told = safe.markup(label)
    return (
        f'<figure><svg viewBox="0 0 {WIDE:g} {HIGH:g}" role="img" aria-label="{told}">{drawn}</svg>'
        f'<figcaption class="note">{told}</figcaption></figure>'
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text class="axis" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{safe.markup(words)}</text>'


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
