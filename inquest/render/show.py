"""From a verdict to finished text: the one place that resolves references for the front ends."""

from __future__ import annotations

import json
from typing import Any

from agent_tools.references import Span, render_text
from agent_tools.seal import ledger_of, seal
from agent_tools.verdict import Verdict
from inquest import safe
from inquest.render.document import Document, document
from inquest.render.markdown import markdown
from inquest.render.page import page
from inquest.render.terminal import terminal


def laid_out(verdict: Verdict) -> Document:
    """The verdict as sections of spans."""
    ledger = ledger_of(verdict)
    return document(verdict, lambda text: render_text(text, ledger))


def terminal_text(verdict: Verdict, *, width: int = 100, colour: bool = False, full: bool = True) -> str:
    """For a terminal."""
    return terminal(laid_out(verdict), width=width, colour=colour, full=full)


def markdown_text(verdict: Verdict) -> str:
    """For a ticket."""
    return markdown(laid_out(verdict))


def html_text(verdict: Verdict) -> str:
    """One self-contained page."""
    return page(laid_out(verdict))


def json_value(verdict: Verdict, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    """The sealed verdict, and beside it under `rendered` its sentences with the references filled.

    The sentences of the verdict itself keep their references: they are what can be verified.
    """
    return seal(verdict, extra={"rendered": rendered(laid_out(verdict)), **(extra or {})})


def rendered(doc: Document) -> dict[str, Any]:
    """The sentences as a reader sees them, each figure followed by its evidence id."""
    return {
        "headline": _words(doc.headline),
        "disposition": _words(doc.disposition),
        **{
            s.title: [
                " ".join(x for x in (i.tag and f"{i.tag}:", _words(i.spans), _words(i.note)) if x) for i in s.items
            ]
            for s in doc.sections
        },
    }


def json_text(verdict: Verdict, extra: dict[str, Any] | None = None) -> str:
    """`json_value` as one line of JSON; a figure that is not finite is written as text, since JSON has no word for it."""
    return safe.json_line(json.dumps(json_value(verdict, extra), ensure_ascii=False, allow_nan=False))


def bundle_text(verdict: Verdict) -> str:
    """The sealed evidence bundle."""
    return safe.json_line(json.dumps(seal(verdict), ensure_ascii=False, indent=1, allow_nan=False))


def _words(spans: list[Span]) -> str:
    return "".join(f"{s.text} [{s.id}]" if s.id else s.text for s in spans)
