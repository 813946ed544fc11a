"""Regular expressions that are compiled when they are first used.

There are two thousand of them, and a run uses a fifth: to compile them all took a fifth of the time of `inquest why FILE`.

    _STEP = lazy.compile(r"step (\\d+)")      used like what re.compile gives; a match's `re` is the compiled one
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast

_OWN = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "flags", "groups", "groupindex")
"""What a compiled expression has, beside its text."""


class _Lazy(Generic[AnyStr]):
    """Stands for a compiled expression until it is asked something; from then on it has what that has."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern = pattern
        self._given = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _OWN:
            raise AttributeError(name)
        made = re.compile(self.pattern, self._given)
        for each in _OWN:
            setattr(self, each, getattr(made, each))
        return getattr(made, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return compile, (self.pattern, self._given)

    def __repr__(self) -> str:
        return f"lazy.compile({self.pattern!r}, {self._given!r})"


def compile(pattern: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, made at its first use: where it is wrong it raises `re.error` then, not here."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, int(flags)))
