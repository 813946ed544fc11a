"""How far the steps of a log's reports lie apart: what a changed logging window or a resume looks like in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

_Place = tuple[float | None, float | None]


def window_changed(steps: Sequence[float | None], epochs: Sequence[float | None], start: int, width: int) -> bool:
    """Whether the distance between reports changes, or the steps go back, within `width` reports of the one at `start`."""
    apart = strides(steps, epochs)
    near = range(max(1, start - width - 1), min(len(apart), start + 2))
    before = [s for s in apart[: max(1, start - width - 1)] if s is not None and s > 0]
    if not before:
        return False
    usual = median(before)
    later = [s for s in apart[start + 1 :] if s is not None and s > 0]
    if any((s := apart[i]) is not None and s <= 0 for i in near):
        return True
    return bool(later) and not 0.67 <= median(later) / usual <= 1.5


def from_the_start(steps: Sequence[float | None], epochs: Sequence[float | None]) -> bool:
    """Whether the reports reach back to the first tenth of the steps (or epochs) that they tell of: no late part of a training."""
    told = [v for v in (epochs if epochs and epochs[0] is not None else steps) if v is not None]
    return bool(told) and told[0] <= 0.1 * told[-1]


def strides(steps: Sequence[float | None], epochs: Sequence[float | None]) -> list[float | None]:
    """The distances between the steps of neighbours, None where they are not known.

    Where the step begins anew in each epoch, its way back is neither a resume nor another window, and no distance is known
    from one epoch to another.
    """
    pairs = list(pairwise(zip(steps, epochs, strict=True)))
    within = any(a[0] is not None and b[0] is not None and b[0] <= a[0] and _of_next_epoch(a, b) for a, b in pairs)
    return [
        None if a[0] is None or b[0] is None or (within and _of_next_epoch(a, b)) else b[0] - a[0] for a, b in pairs
    ]


def _of_next_epoch(a: _Place, b: _Place) -> bool:
    return a[1] is not None and b[1] is not None and b[1] > a[1]
