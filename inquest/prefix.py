"""What a reader has been shown of something that is still being made, and what follows when more of it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Prefix(Generic[T]):
    """`held` is what is shown and stands."""

    held: list[T] = field(default_factory=list[T])

    def grown(self, now: Sequence[T]) -> tuple[bool, list[T]]:
        """Is what was shown withdrawn, and what is to be shown next. The same told again from its beginning is neither."""
        both = min(len(now), len(self.held))
        if list(now[:both]) != self.held[:both]:
            return True, list(now)
        return False, list(now[both:])

    def whole(self, now: Sequence[T]) -> tuple[bool, list[T]]:
        """The same when nothing more will come: what was shown and is not in it is withdrawn too."""
        withdrawn = list(now[: len(self.held)]) != self.held
        return withdrawn, list(now) if withdrawn else list(now[len(self.held) :])

    def show(self, withdrawn: bool, new: Sequence[T]) -> None:
        """Note that it was shown."""
        self.held = [*(() if withdrawn else self.held), *new]
