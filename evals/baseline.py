"""An earlier report beside this run: which cases got worse, which better, which are new. Cases are known by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evals.outcome import Outcome


class BaselineError(ValueError):
    """A file that is no report to compare with; the text says why and what would mend it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One case: the share of its runs that was right, then and now, and what is wrong now."""

    case: str
    before: float
    now: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`unknown` are cases that the baseline lacks and that are wrong now; `gone` are those that only it has."""

    worse: list[Change] = field(default_factory=list[Change])
    better: list[Change] = field(default_factory=list[Change])
    same: int = 0
    new: int = 0
    unknown: list[Change] = field(default_factory=list[Change])
    gone: list[str] = field(default_factory=list[str])

    @property
    def held(self) -> bool:
        """Nothing got worse, and nothing that is new is wrong."""
        return not self.worse and not self.unknown


def read(path: Path) -> dict[str, float]:
    """The share of right runs by case of an earlier `inquest eval --json`. Raises BaselineError."""
    try:
        held: Any = json.loads(path.read_text(encoding="utf-8"))
        summary, outcomes = held["summary"], cast("list[dict[str, Any]]", held["outcomes"])
        right = [(str(o["case"]), bool(o["right"])) for o in outcomes]
    except OSError as error:
        raise BaselineError(f"the baseline {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise BaselineError(f"{path} is no report: make one with `inquest eval --json > {path.name}`") from None
    if not summary.get("valid"):
        raise BaselineError(f"{path} is of an invalid run, in which the model's endpoint failed: make another")
    return _shares(right)


def compare(before: dict[str, float], outcomes: Sequence[Outcome]) -> Comparison:
    """This run beside an earlier one."""
    valid = [o for o in outcomes if not o.invalid]
    now = _shares((o.case, o.right) for o in valid)
    why = {o.case: reason(o) for o in valid if not o.right}
    changes = [Change(case, before[case], share, why.get(case, "")) for case, share in now.items() if case in before]
    new = {case: share for case, share in now.items() if case not in before}
    return Comparison(
        worse=sorted((c for c in changes if c.now < c.before), key=lambda c: (c.now - c.before, c.case)),
        better=sorted((c for c in changes if c.now > c.before), key=lambda c: (c.before - c.now, c.case)),
        same=sum(c.now == c.before for c in changes),
        new=len(new),
        unknown=[Change(case, 1.0, share, why.get(case, "")) for case, share in new.items() if share < 1],
        gone=sorted(set(before) - {o.case for o in outcomes}),
    )


def reason(o: Outcome) -> str:
    """What is wrong with an outcome, in a line."""
    if o.invalid or o.error:
        return o.invalid or o.error
    said = "; ".join(f"{scorer}: {why}" if why else scorer for scorer, why in o.failures)
    got = o.family + (f":{o.mode}" if o.mode else "")
    return f"{got} at {o.confidence:.2f}. {said}" if got else said


def _shares(right: Iterable[tuple[str, bool]]) -> dict[str, float]:
    runs: dict[str, list[bool]] = {}
    for case, value in right:
        runs.setdefault(case, []).append(value)
    return {case: sum(r) / len(r) for case, r in runs.items()}
