"""States of a line that the next one overwrites: of bars, the most of which say nothing that the last one does not.

They are looked at now and then, and the last one of a line and of a chunk always is: a bar of a known kind from its first
state on, and any other once many of them, one after the other, have given nothing. One whose figures are not finite is looked at.
"""

from __future__ import annotations

from store import lazy

EVERY = 16 << 10
"""Bytes from one state that is looked at to the next."""
DULL = 64
"""States that gave nothing, one after the other, after which it is expected of those like them."""
_NOT_FINITE = lazy.compile(rb"(?i)\bnan\b|\binf(?:inity)?\b")


class Overwritten:
    """One file's. A state's kind is the set of parsers that may want it, as bits; `sparse` are those of the known bars."""

    def __init__(self, sparse: int) -> None:
        self._sparse = sparse
        self._next = 0
        self._kind = self._dull = 0

    def begin(self) -> None:
        """Go to the start of a chunk, or look at the next one whatever it is."""
        self._next = 0

    def replaces(self, kind: int, one: int) -> bool:
        """Whether a state of this kind lets another go that was passed over: that of a bar, or of its own kind."""
        return kind == one or not one & ~self._sparse

    def passes(self, data: bytes, start: int, end: int, kind: int) -> bool:
        """Whether the state at `start` to `end` need not be looked at, unless it turns out to be the last one."""
        if start >= self._next:
            return False
        if not kind & ~self._sparse:
            return True
        dull = kind == self._kind and self._dull >= DULL and data[end : end + 1] == b"\r"
        return dull and _NOT_FINITE.search(data, start, end) is None

    def looked(self, data: bytes, start: int, end: int, kind: int, gave: bool) -> None:
        """Learn whether what was looked at gave anything."""
        if data[end : end + 1] == b"\r":
            self._dull = 0 if gave else self._dull + 1 if kind == self._kind else 1
            self._kind = kind
        if kind & self._sparse or (kind == self._kind and self._dull >= DULL):
            self._next = start + EVERY

    def went_by(self, last: int) -> None:
        """Bars of which all were read at once, the last of them at `last`."""
        self._next = last + EVERY
