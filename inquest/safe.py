"""What strangers wrote, made harmless for a terminal and for a page.

A log line can carry escape sequences that move the cursor, set the clipboard or draw a link, and letters that make text
read backwards. None of them passes.
"""

from __future__ import annotations

import html
import json
import unicodedata

from store import lazy

KEPT = {"\n", "\t"}
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_LINKED = lazy.compile(r"://|(?i:\bwww\.)|(?i:\b(?:mailto|xmpp):)")
"""What some renderers make a link of by itself."""


def plain(text: str) -> str:
    """Text without control, format (bidi, zero-width), surrogate and private-use characters; tabs and newlines stay."""
    if text.isascii() and text.isprintable():
        return text
    # A text has few letters, however long it is: each is looked up once.
    return text.translate({ord(c): None for c in set(text) - KEPT if unicodedata.category(c) in _OBEYED})


def line(text: str) -> str:
    """`plain`, in one line."""
    return " ".join(plain(text).split())


def markup(text: str) -> str:
    """Text for HTML: no tag or entity of the text survives as such."""
    return html.escape(plain(text), quote=True)


def markdown(text: str) -> str:
    """Text for Markdown: no link, image, code span, table or tag of the text survives as such."""
    escaped = "".join("\\" + c if c in "\\`*_[]<>|#!" else c for c in plain(text))
    return _LINKED.sub(lambda m: m[0].replace(":", "\\:").replace(".", "\\."), escaped).replace("\n", " ")


def json_line(text: str) -> str:
    """A JSON document that means the same, with what a terminal would obey written as an escape."""
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    letters = [c for c in set(text) if c == "\x7f" or not c.isascii()]
    return text.translate({ord(c): _escaped(c) for c in letters if unicodedata.category(c) in {*_OBEYED, "Zl", "Zp"}})


def _escaped(c: str) -> str:
    return "\\u007f" if c == "\x7f" else json.dumps(c)[1:-1]
