"""Losses that lost much of what had been learned, or went dead, on curves where noise or a short past hides how much.

Pure functions on the losses of a curve, in their order; `curve` gives the shapes their names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from agent_tools.facts.noise import bend_noise, spread, step_noise

_LEVEL = 8
"""Reports that show a level."""
_STILL = 0.02
"""Relative spread under which a stretch of reports stands still."""
_DEAD = 0.05
"""Share of the early gradient norm that is left of a model whose outputs no longer answer to its weights."""
_ABOVE = 1.05
"""How far above all that was before it a level stands that no noise explains."""
_UNLEARNT = 1.1
"""How far above its very first reports a loss stands that knows less than at its start."""
_LEAP, _OF_LEARNT = 0.6, 0.2
"""A leap's share of the level that it left, and of all that had been learned."""


def went_dead(losses: Sequence[float], norms: Sequence[float | None]) -> int | None:
    """Where a loss came to stand still above its start to the end, with a gradient norm of next to nothing; None where none did.

    A converged model's gradients shrink too, but its loss is below its start; one that a schedule has stopped keeps its
    gradients.
    """
    n = len(losses)
    early = [g for g in norms[: max(4, n // 8)] if g is not None]
    if n < 2 * _LEVEL or len(early) < 4 or median(early) <= 0:
        return None
    level = median(losses[-n // 3 :])
    start = n
    while start > 0 and abs(losses[start - 1] - level) <= 0.5 * _STILL * level:
        start -= 1
    tail = [g for g in norms[start:] if g is not None]
    if n - start < max(_LEVEL, n // 3) or start < 2 or len(tail) < _LEVEL:
        return None
    begun = median(losses[: max(2, min(start, n // 10))])
    sunk = median(tail) <= _DEAD * median(early)
    return start if sunk and level > _ABOVE * begun else None


def leapt_back(losses: Sequence[float]) -> int | None:
    """Where the loss leapt, from one report to the next few, far above what it had reached, and stayed there to the end."""
    n = len(losses)
    noise = step_noise(losses)
    best: tuple[float, int] | None = None
    for i in range(_LEVEL, n - max(_LEVEL, n // 8) + 1):
        before, after = median(losses[i - 5 : i]), median(losses[i : i + 5])
        if best is None or after - before > best[0]:
            best = (after - before, i)
    if best is None:
        return None
    leap, at = best
    before = median(losses[at - 5 : at])
    learnt = median(losses[: max(3, n // 20)]) - before
    stays = sum(v > before + 0.5 * leap for v in losses[at:]) >= 0.95 * (n - at)
    last = median(losses[-5:]) - before
    if leap <= max(_LEAP * before, _OF_LEARNT * learnt, 12.0 * noise) or learnt <= 0.3 * before or not stays:
        return None
    return at if last >= 0.7 * leap else None


def given_back_for_good(
    losses: Sequence[float], at: int, best: float, learnt: float, norms: Sequence[float | None] = ()
) -> bool:
    """Whether the reports from there on to the end, a fifth of all at least, hold a level far from the best one's noise.

    Then the larger part of what had been learned is gone, though the first reports stood higher still. A gradient that sank to
    nothing tells it of a level that is not twice the best: a model that was only given other data has gradients left.
    """
    after = losses[at:]
    back = median(after) - best
    lasting = len(after) >= max(_LEVEL, len(losses) // 5)
    far = back >= best or norms_sunk(norms, at)
    return lasting and min(after) - best >= 0.5 * learnt and far and back >= 20.0 * bend_noise(losses)


def norms_sunk(norms: Sequence[float | None], at: int) -> bool:
    """Whether the gradient norm of the reports from there on, a fifth of all at least, is next to nothing beside what it was."""
    before, after = ([g for g in part if g is not None and math.isfinite(g)] for part in (norms[:at], norms[at:]))
    lasting = len(before) >= _LEVEL and len(after) >= max(_LEVEL, len(norms) // 5)
    return lasting and median(after) <= _DEAD * median(before)


def stands_still(losses: Sequence[float]) -> bool:
    """Whether these reports lie within two percent of each other."""
    return spread(losses) <= _STILL * max(abs(median(losses)), 1e-3)


def deadened(losses: Sequence[float], at: int) -> bool:
    """Whether reports from there on tremble three times less than those before: outputs that no longer depend on the batch do that."""
    before, after = losses[:at], losses[at:]
    return min(len(before), len(after)) >= 2 * _LEVEL and bend_noise(after) <= bend_noise(before) / 3.0


def nothing_left(losses: Sequence[float], at: int, norms: Sequence[float | None] = ()) -> bool:
    """Whether the reports from there on went dead; or stand, half of all at least, above the first ones: less is known than nothing."""
    after = losses[at:]
    above = 2 * len(after) >= len(losses) >= 2 * _LEVEL and median(after) > _UNLEARNT * median(losses[:3])
    return above or deadened(losses, at) or norms_sunk(norms, at)
