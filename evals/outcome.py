"""What became of a case: plain data, so that it passes between processes and into a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Abstained = Literal["", "right", "unnamed", "wrong", "declined"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a case. `kind` is the variant's, "recorded" or "labelled"; `failures` are scorers with their words.

    `error` is ours: the case could not be made, asked or scored. `invalid` is the endpoint's: no verdict of the model
    exists, and the run says nothing about it. A model that answered, and whose answers did not hold, has the failure
    "answer" and no family. `spent` holds turns, tokens and seconds, `measures` what is reported and never fails.
    """

    case: str
    stem: str
    kind: str = ""
    run: int = 1
    truth: tuple[str, ...] = ()
    family: str = ""
    mode: str | None = None
    attribution: str = ""
    expected_attribution: str | None = None
    confidence: float = 0.0
    seconds: float = 0.0
    decided: bool = True
    abstained: Abstained = ""
    failures: tuple[tuple[str, str], ...] = ()
    error: str = ""
    invalid: str = ""
    headline: str = ""
    scores: dict[str, bool] = field(default_factory=dict[str, bool])
    spent: dict[str, float] = field(default_factory=dict[str, float])
    measures: dict[str, float] = field(default_factory=dict[str, float])
    remarks: tuple[str, ...] = ()
    """What a judge said, or why it said nothing."""

    @property
    def right(self) -> bool:
        """Every scorer that had something to say was content."""
        return not (self.failures or self.error or self.invalid)

    @property
    def family_right(self) -> bool:
        """The family alone; of a case that cannot be decided: it held back and named what is missing."""
        if self.error or self.invalid:
            return False
        if not self.decided:
            return self.abstained == "right"
        return self.family in self.truth

    @property
    def got(self) -> str:
        """The family that was given, or why there is none."""
        return self.family or ("invalid" if self.invalid else "error" if self.error else "no answer")

    @property
    def hardware_blamed(self) -> bool:
        """Hardware is blamed, with more than a suspicion, for what is not its fault or cannot be told."""
        if self.attribution != "infrastructure":
            return False
        if self.decided:
            return self.expected_attribution not in (None, "infrastructure")
        # Too sure of what its label calls the likeliest is an error of abstention, and no wrong blame.
        likeliest = next(iter(self.truth), "U0")
        return self.abstained == "wrong" and (likeliest == "U0" or self.family != likeliest)
