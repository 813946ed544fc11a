"""How much a series of figures trembles, whatever its course."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

COARSE = 0.01
"""Below it loggers' four decimals leave two digits or fewer."""


def spread(values: Sequence[float]) -> float:
    """Distance between the 10th and the 90th percentile: one stray point does not count."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    return ordered[-1 - cut] - ordered[cut]


def step_noise(values: Sequence[float]) -> float:
    """Noise as the median jump between neighbours, scaled to a standard deviation."""
    jumps = [abs(b - a) for a, b in pairwise(values)]
    return median(jumps) / 0.954 if jumps else 0.0


def bend_noise(values: Sequence[float]) -> float:
    """Noise as the median bend between three neighbours, scaled to a standard deviation: a slope does not count."""
    bends = [abs(a - 2.0 * b + c) for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    return median(bends) / 1.652 if bends else 0.0


def rolling_median(values: Sequence[float], width: int) -> list[float]:
    """The median of each point's neighbourhood of `width` points, shorter at the edges."""
    half = width // 2
    return [median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))]


def coarse(value: float) -> bool:
    """Whether a small figure was printed to so few digits that figures which differ look alike (0.0019). Zero is itself."""
    return 0.0 < abs(value) < COARSE and len(f"{value:.3g}".lstrip("-0.").rstrip("0")) <= 2
