"""What a scorer is: one question about one verdict, answered with right, wrong or not applicable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_tools.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case should come out as. `families` are all codes that a careful reader accepts, the best one first."""

    families: tuple[str, ...]
    mode: str | None = None
    attribution: str | None = None
    facts: tuple[str, ...] = ()
    decided: bool = True
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Score:
    """`value` is None where the scorer has nothing to say about this case."""

    scorer: str
    value: bool | None
    why: str = ""


Scorer = Callable[[Verdict, Expected], Score]
