"""What a live source is: one thing on a node or a cluster that is asked again and again, to rows.

A source never blocks for longer than its own bound, never keeps what it has already given, and raises when it cannot
look: the loop that drives it records that in `source_health`, so that "no row" is never read as "nothing happened".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

from store.rows import Row


class SourceUnavailable(Exception):
    """This source cannot work here or not now. `remedy` is the one command or change that would mend it, if any."""

    def __init__(self, reason: str, remedy: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Source(Protocol):
    """One live source. `name` is the module's stem; `covers` the tables it fills."""

    name: ClassVar[str]
    covers: ClassVar[tuple[str, ...]]

    @property
    def interval_s(self) -> float:
        """How often `rows` wants to be called, in seconds."""
        ...

    def open(self) -> None:
        """Get ready: find libraries, devices, sockets. Raises SourceUnavailable; may be called again after `close`."""
        ...

    def rows(self) -> Iterator[Row]:
        """What was seen since the last call. Raises SourceUnavailable when the source went away; then `open` is tried again."""
        ...

    def close(self) -> None:
        """Let go of everything; never raises."""
        ...
