"""What a rule on an exception is: its type and its words, and the fault class that they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from store import lazy


@dataclass(frozen=True, slots=True)
class Rule:
    """Type and words that mean a fault class, and the reason in plain words."""

    mode: str
    certainty: float
    why: str
    names: str = ""
    says: tuple[str, ...] = ()
    _name: re.Pattern[str] | None = field(init=False, repr=False)
    _says: re.Pattern[str] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile once."""
        object.__setattr__(self, "_name", lazy.compile(rf"(?:^|\.)(?:{self.names})$") if self.names else None)
        object.__setattr__(self, "_says", lazy.compile("|".join(self.says), re.IGNORECASE) if self.says else None)

    def fits(self, name: str, message: str) -> bool:
        """Whether an exception of this type and text is what the rule speaks of."""
        return (self._name is None or self._name.search(name) is not None) and (
            self._says is None or self._says.search(message) is not None
        )
