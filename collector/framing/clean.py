"""One line's bytes to text that is safe to store and to show."""

from __future__ import annotations

from store import lazy

# C0 and C1 controls, soft hyphen, zero-width, bidi marks and overrides, line and paragraph separators, BOM,
# interlinear marks and the tag characters: all of them invisible, all of them used to hide text.
_INVISIBLE = lazy.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
MAX_TEXT = 8 << 10


def clean_text(raw: bytes, limit: int = MAX_TEXT) -> str:
    """Decode (UTF-8, else Latin-1 where nothing in it is valid UTF-8) and drop what is invisible; at most `limit`.

    Never raises. A longer line keeps its first three quarters and its end, with a mark of what was left out between.
    """
    if len(raw) > limit:
        head, tail = limit * 3 // 4, limit // 4
        raw = raw[:head] + b" ...[%d bytes]... " % (len(raw) - head - tail) + raw[-tail:]
    if raw.isascii():
        text = raw.decode("ascii")
        return text if text.isprintable() else _INVISIBLE.sub("", text)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        if all(c == "\ufffd" or c < "\x80" for c in text) and bad <= 64:
            text = raw.decode("latin-1")
    return _INVISIBLE.sub("", text)
