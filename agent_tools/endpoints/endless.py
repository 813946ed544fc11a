"""Does an answer have an end? A small model that has lost its way repeats itself until the context or the time is full.

The JSON object is a JSON string that contains a list of job details. The JSON object is a JSON string that contains ...
"""

from __future__ import annotations

from dataclasses import dataclass

LOOP = 600
"""Characters at the end of a text that are one piece, repeated."""
PIECE = 150
"""Characters that such a piece has at most."""
BLANK = 200
"""Blank characters in a row: an answer's JSON is indented by fewer."""
EVERY = 60
"""Characters after which it is looked at again."""


@dataclass(slots=True)
class Heard:
    """What came so far of one part of an answer, looked at now and then. `most` are the characters that it may have."""

    most: int
    text: str = ""
    _looked: int = 0

    def more(self, piece: str) -> bool:
        """Take the next piece; whether it is time to look again."""
        self.text += piece
        if len(self.text) - self._looked < EVERY:
            return False
        self._looked = len(self.text)
        return True

    def endless(self) -> str:
        """Why it has no end, in words; "" while it may have one."""
        if len(self.text) > self.most:
            return f"went on for more than {self.most:,} characters"
        return "repeated itself without end" if repeats(self.text) else ""


def repeats(text: str) -> bool:
    """Whether a text ends in blanks only, or in one piece again and again."""
    tail = text[-LOOP:]
    if not tail[-BLANK:].strip():
        return len(tail) >= BLANK
    if len(tail) < LOOP:
        return False
    last = tail[-PIECE:]
    found = tail.rfind(last, 0, len(tail) - 1)
    period = len(tail) - PIECE - found
    return found >= 0 and period <= PIECE and tail[period:] == tail[:-period]
