"""Whether a line has the form of those that a tool prints, loosely: to tell where a job's own words begin behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from store import lazy

Form = Callable[[str], bool]
"""Whether a line may be the tool's."""
_FIELD = lazy.compile(r"\s*[A-Za-z][\w:/.()-]*=")


def of_fields(line: str) -> bool:
    """scontrol's: it begins with a field and its value."""
    return _FIELD.match(line) is not None


def divided(mark: str, head: str) -> Form:
    """Of a table with a mark between its columns: one fewer is a last field that was left out."""
    least = head.count(mark) - 1
    return lambda line: line.count(mark) >= least


def first_with(words: str, lines: Sequence[str]) -> str:
    """The first line in which one of these words (a regular expression) stands; "" where none has it."""
    return next((t for t in lines if re.search(rf"\b(?:{words})\b", t, re.IGNORECASE)), "")
