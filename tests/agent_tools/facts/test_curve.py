"""Shapes of loss curves: what is named, and the look-alikes that are not."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tools.facts.curve import Point, is_bad, read
from agent_tools.facts.noise import bend_noise, rolling_median, spread

NAN = float("nan")


def learning(n: int, start: float = 10.9, floor: float = 3.0, noise: float = 0.08, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [floor + (start - floor) * math.exp(-4 * i / n) + rng.gauss(0, noise) for i in range(n)]


def curve(losses: list[float], **fields: float) -> list[Point]:
    return [Point(10.0 * (i + 1), v, bad=is_bad(v, None), **fields) for i, v in enumerate(losses)]


@pytest.mark.parametrize("seed", range(12))
def test_a_noisy_learning_curve_is_falling(seed: int) -> None:
    n = 20 + 40 * seed
    reading = read(curve(learning(n, noise=0.02 + 0.05 * seed, seed=seed)))
    assert (reading.shape, reading.strong) == ("falling", True)


def test_a_zero_loss_beside_a_nan_gradient_is_not_finite() -> None:
    points = [Point(float(i), 0.0, NAN, 1e-5, bad=is_bad(0.0, NAN)) for i in range(3)]
    assert read(points).shape == "non_finite"


def test_a_finite_loss_beside_a_nan_gradient_is_a_skipped_step_and_not_bad() -> None:
    assert not is_bad(2.5, NAN)
    assert not is_bad(2.5, math.inf)
    assert is_bad(None, NAN)


def test_nan_to_the_end_is_not_finite_and_begins_where_it_begins() -> None:
    reading = read(curve(learning(60) + [NAN] * 20))
    assert (reading.shape, reading.at, reading.trailing_bad, reading.strong) == ("non_finite", 60, 20, True)


def test_one_nan_at_the_very_end_is_weak() -> None:
    reading = read(curve([*learning(60), NAN]))
    assert (reading.shape, reading.strong) == ("non_finite", False)


def test_a_nan_that_recovers_is_transient() -> None:
    losses = learning(60)
    losses[30] = NAN
    assert read(curve(losses)).shape == "transient"


def test_infinity_counts_as_not_finite() -> None:
    assert read(curve([*learning(10), math.inf, math.inf])).shape == "non_finite"


def test_a_loss_that_leaps_above_its_start_and_stays_is_a_spike() -> None:
    rng = random.Random(3)
    reading = read(curve(learning(80, 4.0, 1.5) + [9.0 + rng.gauss(0, 0.9) for _ in range(30)]))
    assert (reading.shape, reading.strong) == ("spike", True)
    assert reading.at is not None and 76 <= reading.at <= 84


def test_a_loss_that_leaps_and_stays_still_is_a_dead_plateau() -> None:
    rng = random.Random(4)
    reading = read(curve(learning(50, 10.9, 6.0) + [11.9 + rng.gauss(0, 0.01) for _ in range(40)]))
    assert (reading.shape, reading.strong) == ("plateau", True)


@pytest.mark.parametrize(("tremble", "strong"), [(0.004, True), (0.04, False)])
def test_a_smaller_leap_is_sure_only_where_the_loss_went_dead(tremble: float, strong: bool) -> None:
    """Another stage of the data leaps as far, and its batches go on to differ."""
    rng = random.Random(6)
    reading = read(curve(learning(40, 4.0, 2.8, 0.04) + [4.1 + rng.gauss(0, tremble) for _ in range(60)]))
    assert reading.shape in ("plateau", "spike")
    assert reading.strong is strong


@pytest.mark.parametrize(("norm", "strong"), [(0.03, True), (0.9, False)])
def test_a_level_that_took_back_most_is_sure_where_no_gradient_is_left(norm: float, strong: bool) -> None:
    """It stands below the first reports and not twice the best: only what the gradients say tells it from other data."""
    rng = random.Random(8)
    losses = learning(60, 10.5, 4.4, 0.03) + [7.9 + rng.gauss(0, 0.03) for _ in range(60)]
    points = [Point(10.0 * i, v, 1.2 if i < 62 else norm) for i, v in enumerate(losses)]
    reading = read(points)
    assert (reading.shape in ("plateau", "spike"), reading.strong) == (True, strong)


def test_a_slope_is_no_noise() -> None:
    assert bend_noise([5.0 - 0.1 * i for i in range(20)]) == pytest.approx(0.0, abs=1e-9)
    rng = random.Random(7)
    assert bend_noise([5.0 - 0.1 * i + rng.gauss(0, 0.02) for i in range(400)]) == pytest.approx(0.02, rel=0.2)
    assert bend_noise([1.0]) == 0.0


def test_a_spike_that_recovers_is_not_named() -> None:
    losses = learning(120)
    losses[60:64] = [9.0, 8.0, 6.5, 5.5]
    assert read(curve(losses)).shape == "falling"


def test_an_early_bump_of_the_warm_up_is_not_named() -> None:
    losses = [12.4, 18.0, 30.0, 38.1, 25.0, 16.0, 12.0, *learning(60, 11.0, 6.0)]
    assert read(curve(losses)).shape == "falling"


def test_a_low_first_report_is_an_artefact() -> None:
    assert read(curve([0.4, *learning(60, 8.0, 4.0, 0.1)])).shape == "falling"


def test_a_level_that_shifts_with_the_logging_window_is_not_a_divergence() -> None:
    before = [Point(float(i), v) for i, v in enumerate(learning(60, 4.0, 1.0, 0.02), 1)]
    after = [Point(60.0 + 10 * i, 3.6 - 0.002 * i) for i in range(1, 31)]
    assert read(before + after).shape == "shifted"


def test_flat_with_a_zero_rate_is_flat() -> None:
    rng = random.Random(5)
    reading = read(curve([10.87 + rng.gauss(0, 0.005) for _ in range(30)], learning_rate=0.0))
    assert (reading.shape, reading.why, reading.strong) == ("flat", "rate", True)


def test_chance_moves_no_loss_for_which_neither_a_rate_nor_a_gradient_is_there() -> None:
    """Of noise alone the last third comes to lie beside the first one now and then, by more than a report trembles."""
    for seed in range(300):
        points = curve(learning(62, 10.8, 10.8, 0.06, seed), grad_norm=0.0, learning_rate=0.0)
        assert (read(points).shape, read(points).strong) == ("flat", True), seed
    assert read(curve(learning(40), grad_norm=0.0, learning_rate=0.0)).shape == "falling"


def test_the_same_figure_with_no_gradient_is_flat() -> None:
    reading = read(curve([0.6931] * 12, grad_norm=0.0, learning_rate=1e-4))
    assert (reading.shape, reading.strong) == ("flat", True)


def test_a_zero_gradient_that_is_not_measured_does_not_make_a_falling_loss_flat() -> None:
    assert read(curve(learning(40), grad_norm=0.0)).shape == "falling"


@pytest.mark.parametrize(("first", "strong"), [(1, True), (4000, False)])
def test_a_loss_that_trembles_where_no_gradient_is_stands_still_for_sure_from_the_start_on(
    first: int, strong: bool
) -> None:
    """Late in a training it stands still as well, and a framework that does not measure the norm prints 0."""
    rng = random.Random(8)
    points = [Point(float(first + i), 9.2 + rng.gauss(0, 0.005), 0.0, 3e-4) for i in range(90)]
    reading = read(points)
    assert (reading.shape, reading.why, reading.strong) == ("flat", "gradient", strong)


def test_a_noisy_level_is_level_and_not_flat() -> None:
    rng = random.Random(6)
    assert (
        read(curve([1.2 + rng.gauss(0, 0.3) for _ in range(200)], grad_norm=0.8, learning_rate=1e-5)).shape == "level"
    )


@pytest.mark.parametrize("start", [-0.01, 0.5])
def test_the_loss_of_reinforcement_learning_may_rise(start: float) -> None:
    losses = [start + 0.05 * i for i in range(60)]
    assert read(curve(losses), may_rise=True).shape == "rising"


def test_a_loss_below_zero_has_no_level_to_fall_back_from() -> None:
    losses = [-float(i) for i in range(30)] + [-30.0 + i for i in range(30)]
    assert read(curve(losses)).shape in ("level", "falling")


def test_a_slow_climb_is_rising_and_weak() -> None:
    losses = [0.020 + 0.0004 * abs(i - 12) for i in range(60)]
    reading = read(curve(losses))
    assert (reading.shape, reading.strong) == ("rising", False)


@pytest.mark.parametrize(("slope", "shape"), [(4.0, "spike"), (2.2, "rising")])
def test_a_climb_of_half_the_run_far_above_its_start_is_a_weak_spike(slope: float, shape: str) -> None:
    rng = random.Random(3)
    losses = [1.3 + 0.9 * 0.9**i + slope * max(0.0, i / 90 - 0.45) + rng.gauss(0, 0.04) for i in range(90)]
    found = read(curve(losses))
    assert (found.shape, found.strong, found.why) == (shape, False, "gradual")


def test_an_explosion_that_comes_down_again_but_stays_far_above_is_a_spike() -> None:
    assert read(curve([1.0, *(1e8 * math.exp(-i / 8) + 1e4 for i in range(60))])).shape == "spike"


@pytest.mark.parametrize("losses", [[], [2.0], [12.5, 12.5, 40.7], [3.0, 9.0, 3.0, 8.0]])
def test_few_points_decide_nothing(losses: list[float]) -> None:
    assert read(curve(losses)).shape in ("none", "too_few")


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(12, 200),
    noise=st.floats(0.0, 0.4),
    start=st.floats(3.0, 12.0),
    share=st.floats(0.1, 0.8),
    seed=st.integers(0, 10_000),
)
def test_no_learning_curve_with_noise_is_called_diverged(
    n: int, noise: float, start: float, share: float, seed: int
) -> None:
    reading = read(curve([max(v, 0.01) for v in learning(n, start, start * share, noise, seed)]))
    assert reading.shape not in ("non_finite", "spike", "plateau", "flat", "transient")


def test_helpers_forget_one_stray_point() -> None:
    values = [1.0] * 19 + [50.0]
    assert spread(values) == 0.0
    assert rolling_median(values, 3)[-2] == 1.0


def test_a_rate_that_runs_out_in_the_last_reports_of_a_run_is_not_flat() -> None:
    """A log that is cut shows the end of the schedule alone, where the rate has come to nothing as it should."""
    rng = random.Random(5)
    losses = [3e-4 + rng.uniform(0.0, 1e-3) for _ in range(14)]
    rates = [1e-8 * (1 - i / 13) ** 2 for i in range(14)]
    late = [Point(9000.0 + 10 * i, v, learning_rate=r) for i, (v, r) in enumerate(zip(losses, rates, strict=True))]
    assert read(late).shape in ("level", "falling")
    assert read([Point(None, p.loss, learning_rate=p.learning_rate) for p in late]).shape in ("level", "falling")
    whole = [Point(10.0 * i, 9.0 + v, learning_rate=r) for i, (v, r) in enumerate(zip(losses, rates, strict=True))]
    assert (read(whole).shape, read(whole).why) == ("flat", "rate")


def test_a_rate_of_practically_nothing_is_flat_and_a_warm_up_from_it_is_not() -> None:
    rng = random.Random(8)
    still = [Point(float(i), 6.26 + rng.gauss(0, 0.004), 1.5, 2e-9 * (1 - i / 40)) for i in range(40)]
    assert (read(still).shape, read(still).why) == ("flat", "rate")
    warm = [Point(float(i), 10.87 + rng.gauss(0, 0.004), 1.5, 1e-10 * (i + 1)) for i in range(40)]
    assert read(warm).shape == "level"


def test_a_loss_that_climbs_at_once_and_never_comes_back_to_its_start_is_a_spike() -> None:
    losses = [12.5, 52.0, 96.0, 99.0, 111.0, *(27 + 80 * math.exp(-i / 15) for i in range(40))]
    assert (read(curve(losses)).shape, read(curve(losses)).strong) == ("spike", True)


def test_one_figure_again_and_again_that_is_the_loss_of_guessing_is_dead() -> None:
    learnt = [1.42, 3.81, 0.97, 2.25]
    dead = read(curve([*learnt, *[0.6931] * 12]))
    assert (dead.shape, dead.strong, dead.at) == ("plateau", True, 4)
    assert read(curve([*learnt, *[0.6931] * 12]), may_rise=True).shape != "plateau", "preference learning begins there"
    assert read(curve([*learnt, *[0.6932, 0.6930] * 6])).shape != "plateau", "it still trembles"
    assert read(curve([2.42, 1.81, 0.97, *[0.6017] * 12])).shape != "plateau", "no number of classes"
    assert read(curve([2.42, 1.81, *[0.69] * 12])).shape != "plateau", "two digits tell nothing"


def test_a_last_report_a_hundred_times_above_all_before_is_a_weak_spike() -> None:
    last = read(curve([12.5, 11.75, 7150.0]))
    assert (last.shape, last.strong) == ("spike", False)
    assert read(curve([12.5, 11.75, 71.0])).shape != "spike"


def test_a_loss_that_stays_at_twice_its_highest_is_a_weak_spike_where_the_points_are_few() -> None:
    lost = [1.75, 1.5, 3.9, 6.1, 5.6, 5.2, 5.3, 5.0]
    reading = read(curve(lost))
    assert (reading.shape, reading.strong, reading.at) == ("spike", False, 2)
    assert read(curve(lost), may_rise=True).shape != "spike"
    assert read(curve([*lost[:4], 4.1, 2.4, 1.8, 1.5])).shape != "spike", "it comes back"
    other_window = [Point(10.0, 1.75), Point(11.0, 1.5), *(Point(12.0 + 50 * i, v) for i, v in enumerate(lost[2:]))]
    assert read(other_window).shape != "spike"


def test_a_hundredfold_leap_that_lasts_is_a_spike_however_few_reports_came_before() -> None:
    leapt = [0.31, 41_000.0, 7_900.0, 96_000.0, 55_000.0, 310_000.0, 180_000.0]
    reading = read(curve(leapt))
    assert (reading.shape, reading.at, reading.strong) == ("spike", 1, True)
    assert not read(curve(leapt[:4])).strong
    assert read(curve(leapt), may_rise=True).shape != "spike"
    assert read(curve([1e-4, *leapt[1:]])).shape != "spike", "next to nothing leaps without a reason"
    assert read(curve([0.31, 9e5, 8e4, 7e3, 650.0, 60.0, 41.0])).shape != "spike", "it comes back"


@pytest.mark.parametrize("growth", [1.5, 1.2])
def test_a_loss_that_runs_away_is_a_spike_though_its_last_reports_dwarf_all_before(growth: float) -> None:
    fallen = [3.0 - 0.03 * i for i in range(60)]
    climb = [1.3 * growth**i for i in range(40)]
    reading = read(curve([*fallen, *climb]))
    assert (reading.shape, reading.strong) == ("spike", True)
    assert read(curve([*fallen, *climb[:20], *reversed(climb[:20])])).shape != "spike", "it comes back"


def test_millions_that_do_not_fall_had_exploded_before_the_first_report() -> None:
    losses = [3.4e8, 4.4e8, 2.5e8, 5.4e8, 2.7e8, 6.6e8, 4.3e8, 3.9e8, 4.8e8, 2.9e8, 4.1e8, 5.9e8]
    huge = read(curve(losses, grad_norm=8e5))
    assert (huge.shape, huge.strong, huge.why) == ("plateau", False, "huge")
    assert read(curve(losses, grad_norm=3.0)).shape == "level", "a loss may be a sum"
    assert read(curve(sorted(losses, reverse=True), grad_norm=8e5)).shape == "falling"


@pytest.mark.parametrize("seed", range(40))
def test_losses_of_single_batches_whose_first_is_the_lowest_are_no_explosion(seed: int) -> None:
    rng = random.Random(seed)
    losses = sorted(math.exp(rng.gauss(0.35, 0.4)) for _ in range(22))
    rest = losses[1:]
    rng.shuffle(rest)
    assert not read(curve([losses[0], *rest])).strong


def test_a_climb_over_orders_of_magnitude_is_a_spike_though_each_report_dwarfs_the_last() -> None:
    reading = read(curve([7.0, 6.4, 6.1, 5.9, 7.2, 11.0, 30.0, 190.0, 700.0, 1500.0, 2600.0, 4100.0, 9000.0, 12000.0]))
    assert reading.shape in ("spike", "plateau")


def test_means_of_epochs_at_the_loss_of_guessing_among_a_thousand_classes_are_flat() -> None:
    """ImageNet's ln 1000; that level in reports of steps, or means that fall through it, are no guessing."""
    means = [6.912, 6.909, 6.906, 6.91, 6.907, 6.905, 6.909, 6.908]
    assert read([Point(None, v, epoch=float(i)) for i, v in enumerate(means)]).shape == "flat"
    falling = [6.93, 6.92, 6.915, 6.908, 6.89, 6.87, 6.83, 6.78]
    assert read([Point(None, v, epoch=float(i)) for i, v in enumerate(falling)]).shape != "flat"


def epochs(losses: list[float], reports: int, *, named: bool = True) -> list[Point]:
    """The step counts within its epoch, from 10 on."""
    return [
        Point(10.0 * (i % reports + 1), v, epoch=float(i // reports) if named else None) for i, v in enumerate(losses)
    ]


@pytest.mark.parametrize("reports", [4, 20, 50])
@pytest.mark.parametrize("leap", [38, 40, 47])
def test_a_step_that_begins_anew_with_its_epoch_hides_no_divergence(reports: int, leap: int) -> None:
    rng = random.Random(leap)
    lost = [2.4 * math.exp(-i / 30) for i in range(leap)] + [9.5] * (200 - leap)
    lost = [v * (1 + rng.gauss(0, 0.02)) for v in lost]
    assert read(curve(lost)).strong
    reading = read(epochs(lost, reports))
    assert (reading.shape, reading.strong) == ("spike", True)
    fell = [0.3 + 2.1 * math.exp(-i / 40) + rng.gauss(0, 0.02) for i in range(200)]
    assert read(epochs(fell, reports)).shape == "falling"


def test_steps_that_go_back_within_an_epoch_or_without_one_may_be_a_resume() -> None:
    rng = random.Random(5)
    lost = [v * (1 + rng.gauss(0, 0.02)) for v in [2.4 * math.exp(-i / 30) for i in range(40)] + [9.5] * 160]
    assert read(epochs(lost, 20, named=False)).shape == "shifted"
    resumed = [Point(10.0 * (i + 1 if i < 40 else i - 19), v, epoch=1.0) for i, v in enumerate(lost)]
    assert read(resumed).shape == "shifted"


def test_another_window_is_seen_where_the_step_counts_within_its_epoch() -> None:
    levels = [*learning(60, 4.0, 1.0, 0.02), *(3.6 - 0.002 * i for i in range(30))]
    points = [Point(float(i % 20 + 1), v, epoch=float(i // 20)) for i, v in enumerate(levels[:60])]
    points += [Point(5.0 * (i % 10 + 1), v, epoch=3.0 + i // 10) for i, v in enumerate(levels[60:])]
    assert read(points).shape == "shifted"


@pytest.mark.parametrize("level", [7.6, 8.8])
def test_a_loss_that_leaps_back_to_most_of_its_start_and_stays_there_has_diverged(level: float) -> None:
    """The first reports stood higher still: what was learned is gone all the same."""
    rng = random.Random(3)
    losses = learning(100, floor=2.5, noise=0.04)[:65] + [level + rng.gauss(0, 0.03) for _ in range(35)]
    reading = read(curve(losses))
    assert (reading.shape in ("plateau", "spike"), reading.strong) == (True, True)


def test_a_leap_that_takes_back_the_smaller_part_is_a_suspicion_and_a_small_one_none() -> None:
    """Other data or another sequence length look like that as well."""
    rng = random.Random(4)
    head = learning(100, floor=2.5, noise=0.04)[:65]
    leapt = read(curve(head + [head[-1] + 2.6 + rng.gauss(0, 0.03) for _ in range(35)]))
    assert (leapt.shape, leapt.strong, leapt.why) == ("plateau", False, "leap")
    small = read(curve(head + [head[-1] + 0.6 + rng.gauss(0, 0.03) for _ in range(35)]))
    assert small.shape == "falling"


@pytest.mark.parametrize("seed", range(6))
def test_a_loss_that_rises_above_its_start_and_stands_still_without_gradients_is_dead(seed: int) -> None:
    rng = random.Random(seed)
    fall = [10.8 - 0.12 * i + rng.gauss(0, 0.05 * (seed % 3)) for i in range(12)]
    dead = [11.9 + rng.gauss(0, 0.01) for _ in range(70)]
    norms = [1.2 + rng.gauss(0, 0.2) for _ in fall] + [0.002 for _ in dead]
    points = [Point(10.0 * i, v, g) for i, (v, g) in enumerate(zip(fall + dead, norms, strict=True))]
    reading = read(points)
    assert (reading.shape, reading.strong, reading.at) == ("plateau", True, 12)
    alive = [Point(p.step, p.loss, 1.1) for p in points]
    assert read(alive).why != "dead"


def test_a_converged_loss_with_small_gradients_is_not_dead() -> None:
    fall = learning(30, start=2.3, floor=0.1, noise=0.01) + [0.1] * 60
    points = [Point(10.0 * i, v, 1.0 if i < 30 else 0.01) for i, v in enumerate(fall)]
    assert read(points).shape == "falling"


@pytest.mark.parametrize(("level", "strong"), [(10.6, True), (8.9, False)])
def test_a_still_level_above_the_very_start_is_sure_though_little_had_been_learnt(level: float, strong: bool) -> None:
    """The descent was short, so that what was given back is a small share of the loss: but less is known than at the start."""
    rng = random.Random(8)
    losses = [9.0 - 0.06 * i + rng.gauss(0, 0.01) for i in range(26)] + [level + rng.gauss(0, 0.01) for _ in range(200)]
    reading = read(curve(losses))
    assert (reading.strong and reading.shape == "plateau") is strong
