"""A verdict for a terminal: the headline first, the three parts, then what to do. Colours only where they are wanted."""

from __future__ import annotations

import textwrap

from inquest import safe
from inquest.render.document import Document, Item, Section, Spans

BOLD, DIM, RED, YELLOW, GREEN, CYAN, OFF = (
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[31m",
    "\x1b[33m",
    "\x1b[32m",
    "\x1b[36m",
    "\x1b[0m",
)
COLOUR_OF = {"infrastructure": RED, "scheduler": YELLOW, "none": GREEN, "undetermined": DIM}


def terminal(doc: Document, *, width: int = 100, colour: bool = False, full: bool = True) -> str:
    """The whole verdict as text that ends without a newline. `full` adds timeline and counterfactuals."""
    width = max(40, min(width, 120))
    paint = Paint(colour)
    kind = f"{doc.code}  {doc.title}" + (f" ({doc.mode.replace('_', ' ')})" if doc.mode else "")
    facts = f"confidence {doc.confidence:.2f}, attributed to: {doc.attribution}"
    lines = [
        paint(BOLD + COLOUR_OF.get(doc.attribution, CYAN), kind) + "   " + paint(DIM, facts),
        *wrapped(doc.headline, "", "", width, paint, strong=True),
    ]
    where = [f"job {safe.line(doc.job)}"] if doc.job else []
    lines += wrapped(doc.disposition, " ".join(where) + (": " if where else ""), "  ", width, paint)
    for section in doc.sections:
        if full or not section.detail:
            lines += ["", paint(BOLD, section.title), *section_lines(section, width, paint)]
    lines.append("")
    for f in doc.footer:
        lines += wrapped(f, "", "", width, paint)
    return "\n".join(lines)


def section_lines(section: Section, width: int, paint: Paint) -> list[str]:
    """The sentences of a section."""
    lines: list[str] = []
    for number, item in enumerate(section.items, 1):
        mark = f"{number}. " if section.numbered else "- "
        lines += _item(item, "  " + mark, width, paint)
    return lines


def _item(item: Item, first: str, width: int, paint: Paint) -> list[str]:
    tag = f"{safe.line(item.tag)}: " if item.tag else ""
    lines = wrapped(item.spans, first + tag, " " * len(first), width, paint)
    if item.note and "".join(s.text for s in item.note):
        lines += wrapped(item.note, " " * len(first) + "-> ", " " * (len(first) + 3), width, paint)
    return lines


def wrapped(spans: Spans, first: str, rest: str, width: int, paint: Paint, *, strong: bool = False) -> list[str]:
    """Spans as lines; a figure is followed by its evidence's id."""
    shown = "".join(f"{safe.line(s.text)} [{s.id}]" if s.id else _spaced(s.text) for s in spans)
    if not shown:
        return []
    parts = textwrap.wrap(
        shown, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    if strong:
        return [paint(BOLD, part) for part in parts]
    return [paint.ids(part) for part in parts]


def _spaced(text: str) -> str:
    """One line, with the blanks at either end kept: they separate the text from the figure beside it."""
    body = safe.line(text)
    if not body:
        return " " if text else ""
    return (" " if text[0].isspace() else "") + body + (" " if text[-1].isspace() else "")


class Paint:
    """Escape codes where colours are wanted, nothing elsewhere."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, code: str, text: str) -> str:
        """The text in a colour."""
        return f"{code}{text}{OFF}" if self.on and text else text

    def ids(self, text: str) -> str:
        """Dim the evidence ids, so that the sentence reads on."""
        if not self.on:
            return text
        out = ""
        for i, part in enumerate(text.split("[E")):
            if i == 0:
                out = part
                continue
            number, closed, tail = part.partition("]")
            out += f"{DIM}[E{number}]{OFF}{tail}" if closed and number.isdigit() else f"[E{part}"
        return out
