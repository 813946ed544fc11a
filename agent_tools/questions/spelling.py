"""Words for a time that a question has with a slip of the keys. They are read as what they stand for, and that is said: left aside, the answer
would be about all times."""

from __future__ import annotations

import re

from store import lazy

_WORDS = (
    "yesterday", "today", "tonight", "overnight", "weekend", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "january", "february", "april", "august", "september", "october", "november", "december",
)  # fmt: skip
"""March and May are near to common words."""
_UNITS = ("hour", "week", "month", "year")
_WORD = lazy.compile(r"(?<![\w.@/-])[A-Za-z]{3,12}(?![\w.@/-])")
_BEFORE_UNIT = lazy.compile(r"(?i)\b(?:this|last|past|the|previous)\s+(?:\d{1,3}\s+|few\s+|couple of\s+)?$")
_OTHERS = frozenset({"sundry", "tidy", "four", "mouth", "weak", "weekly", "monthly", "yearly", "hourly"})
"""Words of their own that are one slip away."""
_MAX = 3


def spelled(question: str) -> tuple[str, list[tuple[str, str]]]:
    """The question with such words put right, and each of them beside what it was taken for."""
    taken: list[tuple[str, str]] = []

    def right(m: re.Match[str]) -> str:
        word = m[0].lower()
        known = (*_WORDS, *_UNITS) if _BEFORE_UNIT.search(question[: m.start()]) else _WORDS
        stem = word[:-1] if word.endswith("s") and word[:-1] in known else word
        if stem in known or word in _OTHERS or len(taken) >= _MAX:
            return m[0]
        meant = next((k for k in known for w in {word, word.removesuffix("s")} if _slip(w, k)), None)
        if meant is None:
            return m[0]
        taken.append((m[0], meant))
        return meant

    return _WORD.sub(right, question), taken


def _slip(word: str, meant: str) -> bool:
    """Whether it is the other but for one letter that is left out, added or changed, or two that changed places. The first is never wrong."""
    if word[:1] != meant[:1] or abs(len(word) - len(meant)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    rest, other = word[at:], meant[at:]
    swapped = rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    return word != meant and (rest[1:] == other or rest == other[1:] or rest[1:] == other[1:] or swapped)
