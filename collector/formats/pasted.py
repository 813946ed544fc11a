"""What a paste puts around a text: the marks of a quotation or a list before every line, a table's bars, a page's names for its characters.

Threads and mails quote a log with `> ` before each line, a list has `- `, and the source of a page writes `&lt;` for `<`. A table
in Markdown has a bar at both ends of each line, and a ruler below its head. A script comments its report out, and a post leads
to a fenced block with a sentence. Only a text that is marked throughout is taken for one, and only a short one: nobody quotes a
whole log.
"""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress

from store import lazy

LIMIT = 65_536
"""Bytes up to which a file may be a paste."""
_FEWEST = {b">": 2, b"# ": 3, b"- ": 3, b"* ": 3}
"""Lines that have to bear a mark; one alone may be a prompt, a bar, a line of a diff."""
_DEEPEST = 8
"""How many quotations of a quotation are opened."""
_FENCE = lazy.compile(rb"[ \t]{0,8}(?:`{3,8}|~{3,8})[\w.+-]{0,20}\s{0,8}")
_LEADS = 3
"""Lines of a post that may stand above its only block, and below it."""
_PERSON = lazy.compile(
    rb"(?i)(?=.{0,300}\b(?:I|we|my|our|me|us|you|anyone|somebody|how|what|why|please|thanks?|cheers|regards)\b)[a-z][a-z\d ,.'()/?!-]{0,300}[.!?]\s{0,8}"
)
"""A sentence that somebody says to others; what a program says has other marks in it, or no such word."""
_RULER = lazy.compile(rb"\|(?: {0,8}:?-{2,200}:? {0,8}\|){2,64}")
_ENTITY = lazy.compile(r"&(?:lt|gt|quot|amp|apos|nbsp|#39|#x27);")


def unmarked(raw: bytes) -> bytes:
    """The text without those marks, each line where it was; as it came where it bears none."""
    if raw.lstrip()[:1] in (b">", b"#", b"-", b"*"):
        raw = _without_marks(raw)
    if b"```" in raw or b"~~~" in raw:
        raw = _within_fence(raw)
    if raw.lstrip()[:1] == b"|":
        raw = _without_bars(raw)
    if b"&" in raw and b"<" not in raw:
        text = raw.decode("utf-8", "surrogateescape")
        if len(_ENTITY.findall(text)) > 1 and not _is_json(text):
            raw = html.unescape(text).encode("utf-8", "surrogateescape")
    return raw


def _is_json(text: str) -> bool:
    """A document, or a line of one each, whose own quotation marks a `&quot;` in a string would end."""
    for piece in (text, text.lstrip().partition("\n")[0]):
        with suppress(ValueError):
            return isinstance(json.loads(piece), (dict, list))
    return False


def _without_marks(raw: bytes) -> bytes:
    for depth in range(_DEEPEST):
        lines = raw.split(b"\n")
        said = [line.lstrip() for line in lines if line.strip()]
        # A quotation may hold another, a list no list of lists; three marks on end are a program's own.
        if any(line.startswith(b">>>") or (depth and not line.startswith(b">")) for line in said):
            break
        for mark, fewest in _FEWEST.items():
            if len(said) >= fewest and all((line.rstrip() + b" ").startswith(mark) for line in said):
                pattern = rb"^[ \t]*" + re.escape(mark.strip()) + rb"(?: |$|(?=\S))"
                raw = b"\n".join(re.sub(pattern, b"", line, count=1) for line in lines)
                break
        else:
            break
    return raw


def _within_fence(raw: bytes) -> bytes:
    """What stands between the only two fences where the rest is the poster's: a lead that ends in a colon, a few sentences to the readers."""
    lines = raw.split(b"\n")
    said = [n for n, line in enumerate(lines) if line.strip()]
    fences = [n for n in said if _FENCE.fullmatch(lines[n])]
    if len(fences) != 2:
        return raw
    above, below = ([lines[n].rstrip() for n in said if side(n)] for side in (fences[0].__gt__, fences[1].__lt__))
    spoken = all(map(_PERSON.fullmatch, above)) or above[-1].endswith(b":")
    if max(len(above), len(below)) > _LEADS or not spoken or not all(map(_PERSON.fullmatch, below)):
        return raw
    return b"\n".join(line if fences[0] < n < fences[1] else b"" for n, line in enumerate(lines))


def _without_bars(raw: bytes) -> bytes:
    """The cells of a table in Markdown, which alone has a ruler there, with a bar between them; the ruler's line stays empty."""
    lines = [line.strip() for line in raw.split(b"\n")]
    at = next((n for n, line in enumerate(lines) if _RULER.fullmatch(line)), 0)
    said = [line for line in lines if line]
    if at != lines.index(said[0]) + 1 or not all(len(s) > 1 and s[:1] == s[-1:] == b"|" for s in said):
        return raw
    lines[at] = b""
    return b"\n".join(b"|".join(cell.strip() for cell in line[1:-1].split(b"|")) for line in lines)
