"""A verdict as sections of sentences, the one structure that the terminal, Markdown and HTML renderers draw.

A sentence is a list of spans: plain text, or a figure with the id of the evidence that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_tools.references import Span
from agent_tools.verdict import FAMILIES, Provenance, RuledOut, Verdict

Spans = list[Span]
OTHERS = "Why not another cause"
OPEN = "What the sources here can neither show nor exclude"


@dataclass(frozen=True, slots=True)
class Item:
    """One sentence; `tag` is a short word before it (a status, a family, a time), `note` a remark after it."""

    spans: Spans
    tag: str = ""
    note: Spans = field(default_factory=list[Span])


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its sentences; `detail` sections may be folded away."""

    title: str
    items: list[Item]
    numbered: bool = False
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A verdict ready to be drawn."""

    code: str
    title: str
    mode: str
    confidence: float
    attribution: str
    job: str
    disposition: Spans
    headline: Spans
    sections: list[Section]
    footer: list[Spans]
    verdict: Verdict


def document(verdict: Verdict, spans: Callable[[str], Spans]) -> Document:
    """Lay a verdict out; `spans` resolves the references in one sentence."""
    family = FAMILIES.get(verdict.family, (verdict.family, ()))[0]

    def other(r: RuledOut) -> Item:
        return Item(spans(r.text), f"{r.family} {FAMILIES.get(r.family, ('', ()))[0]}")

    sections = [
        Section("What the data shows", [Item(spans(c.text)) for c in verdict.shows]),
        Section("What it implies", [Item(spans(c.text), _status(c.status)) for c in verdict.implies]),
        Section("What it cannot decide", _undecided(verdict, spans)),
        Section("What to do", [Item(spans(c.text)) for c in verdict.actions], numbered=True),
        Section("Also noticed", [Item(spans(c.text)) for c in verdict.warnings]),
        Section(
            "Timeline", [Item([*spans(m.ts), Span("text", " "), *spans(m.text)]) for m in verdict.timeline], detail=True
        ),
        Section(OTHERS, [other(r) for r in verdict.ruled_out if r.status != "undecidable"], detail=True),
        Section(OPEN, [other(r) for r in verdict.ruled_out if r.status == "undecidable"], detail=True),
    ]
    return Document(
        code=verdict.family,
        title=family,
        mode=verdict.mode or "",
        confidence=verdict.confidence,
        attribution=verdict.attribution,
        job=(verdict.job or "") + (f", attempt {verdict.attempt}" if (verdict.attempt or 1) > 1 else ""),
        disposition=spans(verdict.disposition),
        headline=spans(verdict.headline),
        sections=[s for s in sections if s.items],
        footer=_footer(verdict, spans),
        verdict=verdict,
    )


FIRST = 3
"""Open questions of an undetermined verdict that are told each by itself: those that would decide come first."""


def _undecided(verdict: Verdict, spans: Callable[[str], Spans]) -> list[Item]:
    """What stays open, each with what would decide it. Where nothing is known that is all; then the rest is one sentence."""
    items = [Item(spans(m.text), note=spans(m.signal)) for m in verdict.cannot_decide]
    if verdict.family != "U0" or len(items) <= FIRST + 1:
        return items
    more = f"Nor can it decide {len(items) - FIRST} further questions, which are about other causes (--json has each)."
    return [*items[:FIRST], Item([Span("text", more)])]


def _status(status: str) -> str:
    return "" if status == "established" else status


def _footer(verdict: Verdict, spans: Callable[[str], Spans]) -> list[Spans]:
    """What the verdict cost and rests on; the figures of the last lines describe the tool's run, not the job."""
    p, lines = verdict.provenance, list[Spans]()
    if verdict.cost.basis:
        lines.append(spans(verdict.cost.basis))
    over = f"{len(verdict.evidence)} pieces of evidence"
    lines.append([Span("text", f"Reasoned by {p.model} over {over}: {spent(p)}, inquest {p.version}")])
    if p.zone:
        lines.append([Span("text", f"Times without a zone were read as {p.zone}.")])
    return lines + [[Span("text", note)] for note in p.notes]


def spent(p: Provenance) -> str:
    """What an answer took, and the bounds that it was held to: "2 requests, 3 tool calls, 1.2 s (at most ...)"."""
    calls = f"{p.requests} requests, {p.tool_calls} tool calls, " if p.requests else ""
    return f"{calls}{p.seconds:.1f} s{f' ({p.bounds})' if p.bounds else ''}"


def question(record: dict[str, Any]) -> str:
    """The query of a piece of evidence as a call, without the parameters that were not given."""
    given = ", ".join(f"{k}={v}" for k, v in record["params"].items() if v is not None)
    return f"{record['query']}({given})"
