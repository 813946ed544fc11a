"""Text written by strangers: log lines, job names, node reasons. Data for a reader or a model, never an instruction.

Everything that leaves for a model goes through `clean` (one shape for one text) and stands between marks that are
random for each run, so that no line of a log can close the fence it stands in.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from typing import Literal

from store import lazy

MAX_CELL = 2000
"""Characters of one cell that a model is shown."""

_ANSI = lazy.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[@-Z\\^_])")
_DROPPED = {"Cc", "Cf", "Co", "Cs", "Cn"}
_FILLERS = "\u115f\u1160\u3164\uffa0\u2800"


def clean(text: str, form: Literal["NFKC", "NFC"] = "NFKC") -> str:
    """NFKC without escape sequences, controls, bidi and zero-width characters; newline and tab stay, CR ends a line."""
    if text.isascii() and text.isprintable():
        return text
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    text = unicodedata.normalize(form, text)
    return "".join(c for c in text if c in "\n\t" or _kept(c))


def _kept(c: str) -> bool:
    """Whether a character is something that a reader sees (variation selectors and blank letters are not)."""
    if c.isascii():
        return c.isprintable()
    return unicodedata.category(c) not in _DROPPED and c not in _FILLERS and not _selector(c)


def _selector(c: str) -> bool:
    return "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"


def cap(text: str, limit: int = MAX_CELL) -> str:
    """At most `limit` characters; a cut says how much is missing, and keeps the end, where errors have their message."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail
    return f"{text[:head]} [... {len(text) - limit} characters cut ...] {text[-tail:]}"


def one_line(text: str, limit: int = 300) -> str:
    """Cleaned text on one line, capped at its end."""
    flat = re.sub(r"\s+", " ", clean(text)).strip()
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


class Fence:
    """Marks for one run. `wrap` puts them around text, after removing anything in it that resembles them."""

    def __init__(self, mark: str | None = None) -> None:
        self.mark = mark or secrets.token_hex(8)

    @property
    def opening(self) -> str:
        """The line that opens untrusted text."""
        return f"<<untrusted {self.mark}>>"

    @property
    def closing(self) -> str:
        """The line that closes it."""
        return f"<<end {self.mark}>>"

    def wrap(self, text: str) -> str:
        """Fence a text: cleaned, and without the run's mark in any spelling."""
        inner = re.sub(re.escape(self.mark), "[mark removed]", clean(text), flags=re.IGNORECASE)
        return f"{self.opening}\n{inner}\n{self.closing}"
