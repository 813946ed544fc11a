"""The wording of a progress line: what stands in all lines like it, and where their numbers are.

A run prints one wording a million times. A parser that has read such a line the long way says how it was worded, and from
then on lines like it are read by that: one at a time, or all of a block of bytes at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from store import lazy

_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place whose text differs from line to line. `letters` are all that it can hold; None where it can hold anything.

    The patterns never give back what they took, so that a line that nearly fits costs no more than one that does.
    """

    pattern: str
    letters: str | None


# A number as it mostly stands there: what is written in any other way (nan, .5, 1_000) goes the long way.
FIGURE = Slot(r"([-+]?[0-9]{1,32}+(?:\.[0-9]{0,32}+)?(?:[eE][-+]?[0-9]{1,4}+)?)", _DIGITS + "+-.eE")
COUNT = Slot(r"([0-9]{1,18}+)", _DIGITS)
MOMENT = Slot(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2} (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{1,6}+)?)", _DIGITS + "-: .,"
)
AGAIN = Slot(FIGURE.pattern.replace("(", "(?:", 1), FIGURE.letters)
PADDING = Slot(r" {0,40}+", " ")

TIME, STEP, TOTAL = "@time", "@step", "@total"
"""Names of slots that are no metric."""


class Wording:
    """Fixed text and slots, in order; `keys` name the slots that hold a value. Lines are held against all of it."""

    def __init__(self, pieces: Sequence[str | Slot], keys: Sequence[str]) -> None:
        self.pieces = tuple(pieces)
        self.keys = tuple(keys)
        self.source = "".join(p.pattern if isinstance(p, Slot) else re.escape(p) for p in self.pieces)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return lazy.compile(self.source)

    @property
    def exact(self) -> bool:
        """Whether nothing but numbers and times can differ between two lines of this wording."""
        return all(p.letters is not None for p in self.pieces if isinstance(p, Slot))

    def match(self, text: str) -> dict[str, list[str]] | None:
        """What stands in the slots of a line, as columns of one value; None for a line of another wording."""
        found = self._pattern.fullmatch(text)
        return None if found is None else {k: [v] for k, v in zip(self.keys, found.groups(), strict=True)}

    def may_hold(self, literals: Iterable[str]) -> bool:
        """Whether one of the literals may stand in some line of this wording. A no is sure."""
        places = self._places
        return any(places.hold(literal) for literal in literals)

    @cached_property
    def _places(self) -> _Places:
        return _Places(self.pieces)


class _Places:
    """The letters of a wording as places, each a bit: a fixed letter, or a slot that holds any number of its letters."""

    def __init__(self, pieces: Sequence[str | Slot]) -> None:
        self._of: dict[str, int] = {}
        self._any = self._many = 0
        bit = 1
        for piece in pieces:
            if isinstance(piece, Slot):
                self._many |= bit
                self._any |= bit if piece.letters is None else 0
            for letter in (piece.letters or "") if isinstance(piece, Slot) else piece:
                self._of[letter] = self._of.get(letter, 0) | bit
                bit <<= isinstance(piece, str)
            bit <<= isinstance(piece, Slot)
        self._all = 2 * bit - 1

    def hold(self, text: str) -> bool:
        """Whether the text may stand anywhere: every place where one can be after each of its letters is followed at once."""
        at = self._all
        for letter in text:
            slots = at & self._many
            while slots:  # a slot may also be empty
                slots = slots << 1 & ~at
                at |= slots
                slots &= self._many
            read = at & (self._of.get(letter, 0) | self._any)
            at = (read & self._many) | (read & ~self._many) << 1
            if not at:
                return False
        return True


class Repeated:
    """The wording that the lines of a stream had last. Where hardly one is like the one before, none is kept any more."""

    GIVE_UP = 20

    def __init__(self) -> None:
        self.known: Wording | None = None
        self._misses = 0

    def match(self, text: str) -> dict[str, list[str]] | None:
        """As `Wording.match` of the wording that is known."""
        found = self.known.match(text) if self.known is not None else None
        self._misses = self._misses + 1 if found is None else 0
        return found

    def learn(self, wording: Wording | None) -> None:
        """Know lines that are worded so from now on."""
        self.known = wording if self._misses <= self.GIVE_UP else None


@dataclass(slots=True)
class Steps:
    """`TrainStep` rows by column: fields of the same value in all of them, and fields with one value for each."""

    framework: str
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    columns: dict[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
