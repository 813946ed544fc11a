"""What a family is: a pure function from facts to an assessment.

A family's module has `CODE` ("B1"), `EXPLAINS` (codes whose signs it accounts for when it is confirmed: a node that went
down explains the hang it caused) and `assess(facts) -> Assessment`. It does no I/O: everything it may look at is a cell
of evidence that `Facts` hands out together with its reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from agent_tools.verdict import FAMILIES, Attribution, Claim, Missing

if TYPE_CHECKING:
    from agent_tools.facts import Facts

Status = Literal["confirmed", "suspected", "ruled_out", "undecidable"]


@dataclass(slots=True)
class Assessment:
    """One family's answer.

    `confidence` is the probability that this family is the right answer, judged by this family alone. `counterfactual`
    is one sentence, with references, that says why the family is not it (for `ruled_out`) or what is lacking.
    `speaks_for` become the verdict's *shows*, `implies` its *implies*.
    """

    code: str
    status: Status
    mode: str | None = None
    confidence: float = 0.0
    attribution: Attribution = "undetermined"
    headline: str = ""
    speaks_for: list[Claim] = field(default_factory=list[Claim])
    speaks_against: list[Claim] = field(default_factory=list[Claim])
    implies: list[Claim] = field(default_factory=list[Claim])
    missing: list[Missing] = field(default_factory=list[Missing])
    warnings: list[Claim] = field(default_factory=list[Claim])
    actions: list[Claim] = field(default_factory=list[Claim])
    counterfactual: str = ""


def ruling(a: Assessment) -> str:
    """How a family that does not hold is told of by name: "Node down (F1) is ruled out. ..."; "" for one that holds."""
    if a.status in ("confirmed", "suspected") or not a.counterfactual:
        return ""
    how = "is ruled out" if a.status == "ruled_out" else "cannot be decided"
    return f"{FAMILIES[a.code][0]} ({a.code}) {how}. {a.counterfactual}"


@dataclass(frozen=True, slots=True)
class Family:
    """A family as the registry holds it."""

    code: str
    stem: str
    explains: tuple[str, ...]
    assess: Callable[[Facts], Assessment]
