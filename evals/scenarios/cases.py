"""Cases: what a folder of `evals/cases` offers, and how a seed makes one of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import evals.cases
from evals.scenarios.plan import Plan
from evals.scorers.base import Expected

Kind = Literal["fault", "twin", "healthy", "blind"]
"""fault: the family itself; twin: looks like it and is another; healthy: noisy and sound; blind: its decisive source is gone."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One shape of a case. `make` gives a plan and what it should come out as, from a seed."""

    name: str
    kind: Kind
    make: Callable[[int], tuple[Plan, Expected]]
    draws: int = 1
    """Draws of it in the standing set."""


@dataclass(frozen=True, slots=True)
class CaseId:
    """A variant of a family's folder with a seed: enough to make the case anywhere."""

    stem: str
    variant: str
    seed: int

    def __str__(self) -> str:
        return f"{self.stem}/{self.variant}/{self.seed}"


def stems() -> list[str]:
    """The folders of `evals/cases`, sorted."""
    return sorted(m.name for m in pkgutil.iter_modules(evals.cases.__path__) if m.ispkg)


def variants(stem: str) -> tuple[Variant, ...]:
    """What a folder offers. Raises ModuleNotFoundError for a stem without `variants.py`."""
    found: tuple[Variant, ...] = importlib.import_module(f"evals.cases.{stem}.variants").VARIANTS
    return found


def standing() -> list[CaseId]:
    """The standing set: each variant with its fixed seeds."""
    return [
        CaseId(stem, v.name, 1000 * (i + 1) + n)
        for stem in stems()
        for i, v in enumerate(variants(stem))
        for n in range(v.draws)
    ]


def drawn(count: int, seed: int) -> list[CaseId]:
    """`count` further draws of every variant from a seed of the caller's."""
    return [
        CaseId(stem, v.name, 1_000_000 + 10_007 * seed + 101 * i + n)
        for stem in stems()
        for i, v in enumerate(variants(stem))
        for n in range(count)
    ]


def made(case: CaseId) -> tuple[Variant, Plan, Expected]:
    """The case's variant, plan and expectation. Raises KeyError for a variant that does not exist."""
    variant = next((v for v in variants(case.stem) if v.name == case.variant), None)
    if variant is None:
        raise KeyError(str(case))
    plan, expected = variant.make(case.seed)
    return variant, plan, expected
