"""Is a confidence what it says? The Brier score and a reliability table over many verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

EDGES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class Bin:
    """Verdicts whose confidence lies from `low` up to `high`: how many, their mean confidence, the share that was right."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


def brier(pairs: Sequence[tuple[float, bool]]) -> float:
    """Mean square of confidence minus outcome; 0 is perfect. Zero pairs give nan."""
    return sum((p - right) ** 2 for p, right in pairs) / len(pairs) if pairs else float("nan")


def reliability(pairs: Sequence[tuple[float, bool]]) -> list[Bin]:
    """The bins that hold verdicts, lowest first."""
    found: list[Bin] = []
    for low, high in pairwise(EDGES):
        inside = [(p, r) for p, r in pairs if low <= p < high or (high == 1.0 and p == 1.0)]
        if inside:
            n = len(inside)
            found.append(Bin(low, high, n, sum(p for p, _ in inside) / n, sum(r for _, r in inside) / n))
    return found
