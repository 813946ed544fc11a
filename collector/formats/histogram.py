"""Quantiles of a histogram that Prometheus keeps by cumulative buckets."""

from __future__ import annotations

import math
from collections.abc import Mapping


def quantile(buckets: Mapping[float, float], share: float) -> float | None:
    """The quantile of a cumulative histogram by its bounds, as Prometheus computes it; None when nothing was counted."""
    bounds = sorted(b for b in buckets if b == b)
    if not bounds or buckets[bounds[-1]] <= 0:
        return None
    wanted = share * buckets[bounds[-1]]
    low, below = 0.0, 0.0
    for bound in bounds:
        count = buckets[bound]
        if count >= wanted:
            if math.isinf(bound):
                return low or None
            return low + (bound - low) * (wanted - below) / (count - below) if count > below else bound
        low, below = bound, count
    return None
