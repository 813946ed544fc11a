"""The shape of a loss curve: pure functions on a series of logged points.

A shape is only named where it stands out from the curve's own noise. What looks like a divergence and is none: noise, the
first steps and the warm-up, a level that shifts because the logging window changed, the losses of reinforcement and
preference learning (they may rise), a step whose NaN was skipped, and a curve of too few points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from agent_tools.facts.noise import coarse, rolling_median, spread, step_noise
from agent_tools.facts.strides import from_the_start, window_changed
from agent_tools.facts.thrown_back import given_back_for_good, leapt_back, nothing_left, stands_still, went_dead

Shape = Literal[
    "none", "too_few", "non_finite", "transient", "spike", "plateau", "flat", "falling", "level", "rising", "shifted"
]

FEW = 8
"""Fewer finite points than this decide nothing about a level."""
MANY = 40
"""As many points as a loss that trembles has to show before its standing still says something."""

RATE_ZERO = 1e-8
GRADIENT_ZERO = 1e-6
STILL = 0.005
"""Relative spread under which a stretch counts as flat."""


@dataclass(frozen=True, slots=True)
class Point:
    """One logged point, or a bin of neighbours (then `loss` is their median). Absent is None.

    `bad` says that the loss was not finite, or that it printed as zero or not at all with a gradient norm that was not.
    `step` may count within `epoch`.
    """

    step: float | None
    loss: float | None
    grad_norm: float | None = None
    learning_rate: float | None = None
    bad: bool = False
    epoch: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the curve looks like. `at` is the index of the point where the shape begins, where it has a beginning.

    `points` counts finite points, `bad` those that are not finite, `trailing_bad` those at the very end. `strong` is False
    where the shape is there but few points or a small movement carry it.
    """

    shape: Shape
    points: int
    bad: int = 0
    trailing_bad: int = 0
    at: int | None = None
    strong: bool = True
    why: str = ""


def is_bad(loss: float | None, grad_norm: float | None) -> bool:
    """Whether a logged point stands for a value that is not finite: a trainer may print loss 0.0 beside a NaN gradient."""
    if loss is not None and not math.isfinite(loss):
        return True
    return grad_norm is not None and not math.isfinite(grad_norm) and (loss is None or loss == 0.0)


def read(points: Sequence[Point], *, may_rise: bool = False, trailing_bad: int | None = None) -> Reading:
    """Name the shape of a curve. `may_rise`: the objective's loss carries no meaning in its level (PPO, GRPO, DPO, ...).

    `trailing_bad` overrides the count of bad points at the end where `points` are bins of many.
    """
    bad = sum(p.bad for p in points)
    tail_bad = _trailing(points) if trailing_bad is None else trailing_bad
    kept = [i for i, p in enumerate(points) if not p.bad and p.loss is not None and math.isfinite(p.loss)]
    good = [points[i] for i in kept]
    if bad and (tail_bad or not good):
        first = next((i for i, p in enumerate(points) if p.bad), None) if not good else len(points) - _trailing(points)
        return Reading("non_finite", len(good), bad, tail_bad, first, strong=tail_bad >= 2)
    finite = _finite_shape(good, may_rise)
    at = kept[finite.at] if finite.at is not None else None
    if bad and finite.shape not in ("spike", "plateau", "flat"):
        first = next(i for i, p in enumerate(points) if p.bad)
        return Reading("transient", len(good), bad, 0, first, strong=bad <= len(good), why=finite.shape)
    return Reading(finite.shape, len(good), bad, 0, at, finite.strong, finite.why)


def _trailing(points: Sequence[Point]) -> int:
    return next((i for i, p in enumerate(reversed(points)) if not p.bad), len(points))


def _finite_shape(good: list[Point], may_rise: bool) -> Reading:
    n = len(good)
    losses = [p.loss for p in good if p.loss is not None]
    if n == 0:
        return Reading("none", 0)
    if not may_rise and (stuck := _stuck_epochs(good, losses)) is not None:
        return stuck
    if not may_rise and (dead := _guessing(losses)) is not None:
        return dead
    if not may_rise and n >= 3 and min(losses) >= 0.0 and (burst := _leapt(good, losses) or _burst(losses)) is not None:
        return burst
    if n >= FEW:
        still = _flat(good, losses)
        if still is not None and not (may_rise and not _rate_is_zero(good)):
            return still
        if not may_rise and min(losses) >= 0.0:
            risen = _exploded(losses) or _doubled(good, losses) or _died(good, losses)
            risen = risen or _diverged(good, losses) or _huge(good, losses) or _thrown_back(good, losses)
            if risen is None and 0.0 < 20.0 * losses[0] < losses[-1] and min(losses) > 0.0:
                risen = _diverged(good, [math.log(v) for v in losses])  # each report dwarfs those before it
            if risen is not None:
                return risen
    return _trend(losses)


def _flat(good: list[Point], losses: list[float]) -> Reading | None:
    """Flat from start to end, with a zero rate, a zero gradient, or the very same figure printed again and again."""
    n, level = len(losses), median(losses)
    gradients = [p.grad_norm for p in good if p.grad_norm is not None and math.isfinite(p.grad_norm)]
    gradient_zero = len(gradients) >= FEW and max(gradients[1:]) <= GRADIENT_ZERO
    if spread(losses) > STILL * max(abs(level), 1e-3):
        # Batches differ, so a loss that nothing trains still trembles: with a rate of zero only a trend would speak, and with both less so.
        still = _rate_is_zero(good) and _unmoved(losses, 2.0 if gradient_zero else 1.0)
        return Reading("flat", n, strong=True, why="rate") if still else None
    begun = n >= MANY and not _warming(good)
    if _rate_is_zero(good):
        return Reading("flat", n, strong=True, why="rate")
    if gradient_zero:
        # A framework that does not measure the norm prints 0 as well: a loss speaks that does not tremble, or never did but that.
        still = begun and level >= 0.5 and _unmoved(losses) and from_the_start(*_places(good))
        same = max(losses) - min(losses) <= 1e-4 * max(abs(level), 1e-3)
        return Reading("flat", n, strong=still or same, why="gradient")
    if n >= 10 and len(set(losses)) == 1 and not coarse(level):
        return Reading("flat", n, strong=n >= 20, why="same")
    if begun and level >= 0.5 and _unmoved(losses) and abs(losses[0] - level) <= STILL * level:
        # Weak: late in a long training, or after a resume, a loss that is averaged over many batches looks the same.
        return Reading("flat", n, strong=False, why="still")
    return None


def _stuck_epochs(good: list[Point], losses: list[float]) -> Reading | None:
    """Means of whole epochs (they carry no step) that do not move: unlike single batches they hardly tremble.

    The first epoch may stand a little higher. Strong where it is one figure again and again, or the loss of guessing among
    so many classes.
    """
    n = len(losses)
    if n < 6 or any(p.step is not None for p in good):
        return None
    later = losses[1:]
    level = median(later)
    guessing = any(abs(level - math.log(k)) <= 5e-4 * level for k in (*range(2, 101), 1000))
    still = (2e-3 if guessing else 1e-3) * level
    if level < 0.1 or max(later) - min(later) > still or not 0.95 * level <= losses[0] <= 1.05 * level:
        return None
    return Reading("flat", n, strong=guessing or (n >= FEW and len(set(later)) == 1), why="epochs")


def _guessing(losses: list[float]) -> Reading | None:
    """The very same figure ten times and more at the end, and it is the loss of guessing among so many classes (ln 2 = 0.6931).

    Batches differ, so a model that still answers to them does not print one figure. Only as many classes are thought of
    as the printed digits tell apart.
    """
    n, level = len(losses), losses[-1]
    same = next((i for i, v in enumerate(reversed(losses)) if v != level), n)
    if same < 10 or 3 * same < n or level < 0.5:
        return None
    digits = len(f"{level:.6f}".rstrip("0").partition(".")[2])
    most = min(1000, 10**digits // 20)
    if digits < 3 or not any(abs(level - math.log(k)) <= 0.6 * 10**-digits for k in range(2, most + 1)):
        return None
    return Reading("plateau" if same < n else "flat", n, at=n - same if same < n else None, why="guessing")


def _unmoved(losses: list[float], times: float = 1.0) -> bool:
    """The last third lies where the first one lay, within the noise of single reports, so many times."""
    part = max(1, len(losses) // 3)
    early, late = median(losses[:part]), median(losses[-part:])
    return abs(early - late) <= max(times * step_noise(losses), 0.005 * abs(early))


def _rate_is_zero(good: list[Point]) -> bool:
    rates = [p.learning_rate for p in good if p.learning_rate is not None]
    if len(rates) < FEW or max(abs(r) for r in rates) > RATE_ZERO:
        return False
    return not _warming(good) and not _running_out(good, rates)


def _running_out(good: list[Point], rates: list[float]) -> bool:
    """Whether a rate only falls in reports that do not reach back to the first steps: the last ones of a schedule that ends."""
    if rates[0] <= 2.0 * abs(rates[-1]) or any(b > a for a, b in pairwise(rates)):
        return False
    steps = [p.step for p in good]
    if steps[0] is None or steps[-1] is None:
        return True
    return steps[0] > 0.1 * steps[-1]


def _warming(good: list[Point]) -> bool:
    """Whether the rate still climbs at the end: a warm-up that has hardly begun."""
    rates = [p.learning_rate for p in good if p.learning_rate is not None]
    return bool(rates) and rates[-1] == max(rates) > min(rates)


def _burst(losses: list[float]) -> Reading | None:
    """The last report stands twenty times above all before it, and the one before it had begun to climb: never strong.

    A hundred times above all before it needs no climb.
    """
    if losses[-1] >= 100.0 * max(losses[:-1]) and max(losses[:-1]) > 0.01:
        return Reading("spike", len(losses), at=len(losses) - 1, strong=False, why="burst")
    before = losses[:-2]
    if len(before) < 2:
        return None
    usual = median(before)
    if usual <= 0.01 or losses[-1] < 20.0 * max(before) or losses[-2] < 1.5 * usual:
        return None
    return Reading("spike", len(losses), at=len(losses) - 2, strong=False, why="burst")


def _leapt(good: list[Point], losses: list[float]) -> Reading | None:
    """From one report to the next every later one stands a hundred times above all before it: no noise does that.

    Strong from five such reports on. A loss of next to nothing leaps without a reason.
    """
    n, lowest = len(losses), losses[-1]
    for start in range(n - 1, 0, -1):
        lowest = min(lowest, losses[start])
        before = max(losses[:start])
        if before > 0.01 and lowest >= 100.0 * before:
            lasting = n - start
            if (
                lasting < 3
                or window_changed(*_places(good), start, 3)
                or (lowest < 0.1 * median(losses[start:]) and _falls_back(losses[start:]))
            ):
                return None
            return Reading("spike", n, at=start, strong=lasting >= 5, why="leapt")
    return None


def _falls_back(after: list[float]) -> bool:
    """Whether the last reports are the lowest: it may yet come down to where it was."""
    return max(after[-2:]) <= min(after[:-2], default=math.inf)


def _huge(good: list[Point], losses: list[float]) -> Reading | None:
    """Millions, with a gradient norm of as many, and no fall: it had exploded before the first report. Never strong."""
    norms = [p.grad_norm for p in good if p.grad_norm is not None and math.isfinite(p.grad_norm)]
    if len(norms) < FEW or min(losses) < 1e6 or median(norms) < 1e4 or _trend(losses).shape == "falling":
        return None
    return Reading("plateau", len(losses), at=0, strong=False, why="huge")


def _exploded(losses: list[float]) -> Reading | None:
    """Every later point stands above the first one, by far or after a climb, though the loss may be falling again."""
    n = len(losses)
    edge = max(3, n // 10)
    first, tail = losses[0], median(losses[-edge:])
    if n < 2 * FEW or first < 0.01:
        return None
    lowest, peak = min(losses[1:]), max(range(n), key=lambda i: losses[i])
    if tail >= 20.0 * first and lowest >= 5.0 * first:
        return Reading("spike", n, at=1, strong=tail > 100.0 * first, why="exploded")
    # A first report that is merely too low (a shorter window) leaps at once and falls from there; this one climbed, and
    # out of the noise of single batches, in which any report may be the lowest.
    climbed = peak >= 2 and losses[peak] >= 3.0 * first and tail >= 1.5 * first and lowest >= 1.2 * first
    later = [math.log(v) for v in losses[1:]] if climbed else []
    # Mere noise spreads two and a half times as far as it jumps.
    if climbed and spread(later) >= 5.0 * step_noise(later):
        return Reading("spike", n, at=1, strong=True, why="exploded")
    return None


def _doubled(good: list[Point], losses: list[float]) -> Reading | None:
    """In a curve of few points a loss that had fallen and then stays at twice its highest: never strong.

    Among so few points the leap itself passes for noise.
    """
    n = len(losses)
    if n >= 2 * FEW:
        return None
    for start in range(2, n - 3):
        before, after = losses[:start], losses[start:]
        high = max(before)
        if before[-1] < before[0] and high >= 0.1 and min(after) >= 2.0 * high and max(after) >= 3.0 * high:
            if window_changed(*_places(good), start, 3) or _recovers(
                after, min(before), median(after[-3:]) - min(before)
            ):
                return None
            return Reading("spike", n, at=start, strong=False, why="doubled")
    return None


def _diverged(good: list[Point], losses: list[float]) -> Reading | None:
    """A lasting loss of what was learnt: the end stands far above the best level, by more than noise, and stays there."""
    n = len(losses)
    width = max(3, n // 20)
    smooth = rolling_median(losses, width)
    edge = max(3, n // 10)
    head = median(losses[:edge])
    tail = median(losses[-edge:])
    best_at = min(range(n), key=lambda i: smooth[i])
    best = smooth[best_at]
    noise = step_noise(losses)
    given_back = tail - best
    learnt = max(head - best, 0.0)
    scale = max(abs(best), abs(head), 1e-6)
    if given_back <= max(0.5 * learnt, 6.0 * noise, 0.25 * scale):
        return None
    threshold = best + 0.6 * given_back
    start = next((i for i in range(best_at, n) if all(v > threshold for v in smooth[i : i + width])), n - edge)
    lasting = n - start
    if sum(v > best + 0.4 * given_back for v in losses[start:]) < 0.8 * lasting:
        return None
    if lasting < max(4, n // 20):
        return None
    after = losses[start + min(width, lasting // 3) :]
    if window_changed(*_places(good), start, width) and not _climbs(after, noise):
        return Reading("shifted", n, at=start, strong=False, why="logging window")
    if start < FEW and head > best + 0.5 * given_back and start <= n // 10:
        # The start already stood high and the low came first: a first-step artefact, not a divergence.
        return None
    if len(after) >= 4 and _recovers(after, best, given_back):
        return Reading("shifted", n, at=start, strong=False, why="recovering")
    rise = max(smooth[min(start + width, n - 1)] - smooth[max(start - 2 * width, 0)], 0.0)
    gradual = rise < 0.5 * given_back
    # Far out of the noise and well above its start a climb is no harder data any more; the smallest losses have no level to speak of.
    if gradual and tail < (1.5 if given_back > 12.0 * noise and head >= 0.5 else 2.0) * max(abs(head), 1e-6):
        return Reading("rising", n, at=start, strong=False, why="gradual")
    still = len(after) >= 4 and spread(after) <= 4 * STILL * max(abs(median(after)), 1e-3)
    level, norms = start + width, [p.grad_norm for p in good]
    far = given_back > (0.0 if still and nothing_left(losses, level, norms) else 0.4 * scale)
    much = given_back > max(0.8 * learnt, 12.0 * noise) or given_back_for_good(losses, level, best, learnt, norms)
    strong = not gradual and lasting >= max(8, n // 10) and far and much
    # A climb that never ends lasts but a few reports above any threshold that its last ones set.
    beyond = min(losses[-max(FEW, n // 10) :]) >= 100.0 * max(0.01, *losses[: n // 3])
    why = "gradual" if gradual and not still else ""
    return Reading("plateau" if still else "spike", n, at=start, strong=strong or beyond, why=why)


def _died(good: list[Point], losses: list[float]) -> Reading | None:
    at = went_dead(losses, [p.grad_norm for p in good])
    return Reading("plateau", len(losses), at=at, why="dead") if at is not None else None


def _thrown_back(good: list[Point], losses: list[float]) -> Reading | None:
    """A leap that took back less than most of what was learnt: other data look like that too, so it is never strong."""
    at = leapt_back(losses)
    if at is None or window_changed(*_places(good), at, 3):
        return None
    shape: Shape = "plateau" if stands_still(losses[at + (len(losses) - at) // 3 :]) else "spike"
    return Reading(shape, len(losses), at=at, strong=False, why="leap")


def _recovers(after: list[float], best: float, given_back: float) -> bool:
    half = len(after) // 2
    first, second = median(after[:half]), median(after[half:])
    return first - second > 0.25 * given_back or min(after[-2:]) < best + 0.3 * given_back


def _climbs(after: list[float], noise: float) -> bool:
    if len(after) < 4:
        return False
    half = len(after) // 2
    return median(after[half:]) - median(after[:half]) > max(3.0 * noise, 0.1 * abs(median(after[:half])))


def _places(good: list[Point]) -> tuple[list[float | None], list[float | None]]:
    return [p.step for p in good], [p.epoch for p in good]


def _trend(losses: list[float]) -> Reading:
    """Falling, level or rising: how often an early point lies above a late one."""
    n = len(losses)
    if n < 2:
        return Reading("too_few", n)
    part = max(1, n // 3) if n >= 6 else max(1, n // 2)
    early, late = losses[:part], losses[-part:]
    above = sum((a > b) + 0.5 * (a == b) for a in early for b in late) / (len(early) * len(late))
    move = median(early) - median(late)
    small = abs(move) <= 0.002 * max(abs(median(early)), 1e-6)
    if n < 4:
        shape: Shape = "falling" if losses[-1] < losses[0] and not small else "too_few"
        return Reading(shape, n, strong=False)
    if above >= 0.7 and not small:
        return Reading("falling", n, strong=above >= 0.8 and n >= FEW)
    if above <= 0.2 and not small:
        return Reading("rising" if n >= FEW else "too_few", n, strong=False)
    return Reading("level" if n >= FEW else "too_few", n, strong=False)
