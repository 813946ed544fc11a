"""Words without their endings: whether a text speaks of something, by words and not by grammar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from store import lazy

_CAMEL = lazy.compile(r"(?<=[a-z])(?=[A-Z])|_|\d+")
_ISE = lazy.compile(r"(?<=[a-z]{3})iz(?=(?:e|ed|es|er|ers|ing|ation|ations)(?:$|'))")
"""What is written in two ways: `initialized` and `initialised`."""
_WHOLE = frozenset({"NaN", "NaNs"})


def parts(word: str) -> list[str]:
    """The words of a name that is written together in capitals or with underscores."""
    return [word] if word in _WHOLE else [w for w in _CAMEL.split(word) if w]


@lru_cache(4096)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's words; what is written together in capitals or with underscores is taken apart.

    The findings' sentences and the descriptions of columns are asked for with each sentence that is checked.
    """
    return frozenset(stem(w) for piece in re.findall(r"[^\W\d]+", text) for w in parts(piece))


@lru_cache(8192)
def stem(word: str) -> str:
    """A word without its ending, so that what is said in another form is found."""
    low = _ISE.sub("is", word.lower().replace("’", "'"))
    for end in ("'s", "ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "ly", "s", "e", "y"):
        if low.endswith(end) and len(low) - len(end) >= 3 and not (end == "s" and low.endswith("ss")):
            low = low[: -len(end)]
            break
    return low[:-1] if len(low) > 4 and low[-1] == low[-2] else low


def singular(noun: str) -> str:
    """A noun of things that are counted, as of one."""
    low = noun.lower()
    return "process" if low.startswith("process") else low.removesuffix("s")


_LISTED = lazy.compile(r"(?:^|: ?)(?:[a-z_0-9]+, )+(?:[a-z_0-9]+ or [a-z_ ]+|[a-z_0-9]+|\.\.\.)(?=$|;| where)")
_SWEEPING = lazy.compile(r"(?i)\b(?:all|every|each|both|only|none|any)\b")


def telling(doc: str, *, text: bool) -> str:
    """What a column's description says of a cell: not the values that it lists, which other rows have, and not of how many."""
    return _SWEEPING.sub(" ", _LISTED.sub(" ", doc) if text else doc)


def spoken_of(word: str, among: frozenset[str]) -> bool:
    """Whether a word, or a longer or shorter form of it, is among stems."""
    own = stem(word)
    if own in among or word.lower() in among:
        return True
    return len(own) >= 5 and any(s.startswith(own) or (len(s) >= 5 and own.startswith(s)) for s in among)


def listed(words: Sequence[str]) -> str:
    """The first of the words that nothing says, or of the things that are told of them, as a reader is told."""
    return ", ".join(w if w.startswith("the ") else repr(w) for w in words[:6])


def said_of(text: str, word: str) -> str:
    """What "the same node" is said of: the stem of the next word."""
    found = re.search(rf"(?i)\b{re.escape(word)}\s+([a-z]+)", text)
    return stem(found[1]) if found else ""


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with these places blank."""
    for begin, end in spans:
        text = text[:begin] + " " * (end - begin) + text[end:]
    return text
