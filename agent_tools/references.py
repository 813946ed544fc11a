"""References inside sentences: `[[E7.column]]`, `[[E7:3.column]]`; how they are read, filled and split off.

A *mark* is a reference as found in a text. A *span* is a piece of a finished sentence: plain text, or a cell with its
evidence id, from which a front end makes whatever it shows (terminal, Markdown, HTML, JSON).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import format_cell
from store import lazy
from store.result import Cell

MARK = lazy.compile(r"\[\[(E[1-9][0-9]{0,5})(?::([0-9]{1,7}))?\.([A-Za-z_][A-Za-z0-9_]{0,127})\]\]")
_BARE = lazy.compile(r"(E[1-9][0-9]{0,5})(?::([0-9]{1,7}))?\.([A-Za-z_][A-Za-z0-9_]{0,127})")
HOLE = "\ue000"
"""Stands for the characters of a reference where only the words around it are looked at."""


class BadReference(ValueError):
    """A reference that leads nowhere; the text says why and what exists."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference as it stands in a text."""

    start: int
    end: int
    ref: str


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a finished sentence. `text` is what to show; a cell also has its address, raw value and unit."""

    kind: Literal["text", "cell"]
    text: str
    ref: str = ""
    id: str = ""
    value: Cell = None
    unit: str = ""


@lru_cache(4096)
def marks(text: str) -> tuple[Mark, ...]:
    """Every well-formed reference, in order. The gate asks for those of the findings' sentences with each sentence that it checks."""
    return tuple(Mark(m.start(), m.end(), m[0][2:-2]) for m in MARK.finditer(text))


@lru_cache(1024)
def masked(text: str) -> str:
    """The text with each reference replaced by as many holes, so that positions stay. The gate looks at a sentence many times."""
    return MARK.sub(lambda m: HOLE * len(m[0]), text)


@lru_cache(4096)
def parse(ref: str) -> tuple[str, int, str]:
    """Evidence id, row and column of a reference with or without its brackets."""
    inner = ref[2:-2] if ref.startswith("[[") and ref.endswith("]]") else ref
    found = _BARE.fullmatch(inner)
    if found is None:
        raise BadReference(f"{ref!r} is no reference; one looks like [[E1.column]] or [[E1:3.column]]")
    return found[1], int(found[2] or 0), found[3]


def resolve(ref: str, ledger: Ledger) -> CellValue:
    """The cell of a reference. Raises BadReference for an unknown id, column or row."""
    id, row, column = parse(ref)
    try:
        return ledger.get(id).cell(column, row)
    except (KeyError, IndexError) as error:
        raise BadReference(str(error.args[0])) from None


def render_text(text: str, ledger: Ledger) -> list[Span]:
    """A sentence as spans, each reference filled from its cell. A reference that leads nowhere raises BadReference."""
    spans: list[Span] = []
    at = 0
    for mark in marks(text):
        if mark.start > at:
            spans.append(Span("text", text[at : mark.start]))
        cell = resolve(mark.ref, ledger)
        spans.append(Span("cell", format_cell(cell), mark.ref, cell.id, cell.value, cell.unit))
        at = mark.end
    if at < len(text):
        spans.append(Span("text", text[at:]))
    return spans


def plain(text: str, ledger: Ledger) -> str:
    """A sentence with its references filled, without marking them."""
    return "".join(span.text for span in render_text(text, ledger))


def cited(texts: Iterable[str]) -> list[str]:
    """The references of several texts, each once, in order."""
    return list(dict.fromkeys(mark.ref for text in texts for mark in marks(text)))
