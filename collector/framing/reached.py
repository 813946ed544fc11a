"""How far the reading of a file has come: in which line, and after how many of that line's carriage returns."""

from __future__ import annotations

from collector.framing.chunks import Chunk

Seat = tuple[int, int | None]
"""A segment's line, from 1, and how many carriage returns stand before it in that; None where none does."""


class Reached:
    """One file's place. Places are asked for in their order, chunk after chunk. `bars`: the chunk holds carriage returns."""

    def __init__(self) -> None:
        self._chunk = Chunk(b"", 0, 0, 0)
        self._at = self._line_no = self._returns = 0
        self.bars = False

    def begin(self, chunk: Chunk) -> None:
        """Go to the start of a chunk. One that goes on in the line in which the one before ended goes on counting in it."""
        if chunk.first_line != self._line_no:
            self._returns = 0
        self._chunk, self._at, self._line_no = chunk, 0, chunk.first_line
        self.bars = self._returns > 0 or b"\r" in chunk.data

    def seat(self, at: int) -> Seat:
        """Where the segment stands that begins at `at` of the chunk."""
        data, since = self._chunk.data, self._at
        self._line_no += self._chunk.lines(since, at)
        if self.bars:
            begun = data.rfind(b"\n", since, at) + 1
            self._returns = data.count(b"\r", begun or since, at) + (0 if begun else self._returns)
        self._at = at
        return self._line_no, self._returns or None

    def end(self) -> None:
        """Go to the end of the chunk, and let it go."""
        self.seat(len(self._chunk.data))
        self._chunk = Chunk(b"", 0, 0, 0)
