from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from agent_tools.families.e1_loss_divergence import assess
from store.rows import TrainStep
from tests.agent_tools.families.logkit import facts_of
from tests.agent_tools.families.world import World, judge

NAN = float("nan")


def learning(n: int, start: float = 10.9, floor: float = 3.0, noise: float = 0.08) -> list[float]:
    rng = random.Random(n)
    return [floor + (start - floor) * math.exp(-4 * i / n) + rng.gauss(0, noise) for i in range(n)]


def test_a_loss_that_becomes_nan_and_stays_is_not_finite(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job().train(learning(60) + [NAN] * 20), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "non_finite", "job")
    assert a.confidence >= 0.9


def test_a_number_after_more_reports_without_one_is_no_recovery(tmp_path: Path) -> None:
    a = judge(World(tmp_path / "a").train([NAN, NAN, 1.2]), assess)
    assert (a.status, a.mode, a.attribution) == ("suspected", "non_finite", "job")
    assert 0.48 < a.confidence < 0.6
    assert judge(World(tmp_path / "b").train([NAN, 1.4, 1.3, 1.2]), assess).status != "suspected"


def test_a_printed_zero_beside_a_nan_gradient_is_not_finite(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train([0.0] * 5, grads=[NAN] * 5), assess)
    assert (a.status, a.mode) == ("confirmed", "non_finite")


def test_a_spike_that_stays_is_named(tmp_path: Path) -> None:
    rng = random.Random(1)
    a = judge(World(tmp_path).job().train(learning(300, 4.0, 1.5) + [9 + rng.gauss(0, 1) for _ in range(100)]), assess)
    assert (a.status, a.mode) == ("confirmed", "spike")


def test_the_step_from_which_a_loss_never_came_back_is_told(tmp_path: Path) -> None:
    rng = random.Random(1)
    world = World(tmp_path).job().train(learning(60, 4.0, 1.5) + [9 + rng.gauss(0, 0.2) for _ in range(40)])
    a = judge(world, assess)
    (told,) = [c.text for c in a.speaks_for if "nearer to its end" in c.text]
    facts = world.facts()
    turned = next(i for i, r in enumerate(facts.table("loss_curve").rows) if (r.number("loss") or 0) > 5)
    assert told.startswith("From step ") and f"{facts.table('loss_curve').rows[turned]['first_step']}" in told


def test_a_dead_plateau_is_named_without_any_nan_line(tmp_path: Path) -> None:
    rng = random.Random(2)
    tail = [11.9 + rng.gauss(0, 0.01) for _ in range(80)]
    a = judge(World(tmp_path).job().train(learning(100, 10.9, 6.0) + tail), assess)
    assert (a.status, a.mode) == ("confirmed", "plateau")


def test_a_rate_that_is_never_set_is_flat(tmp_path: Path) -> None:
    rng = random.Random(3)
    a = judge(World(tmp_path).job().train([10.87 + rng.gauss(0, 0.004) for _ in range(40)], learning_rate=0.0), assess)
    assert (a.status, a.mode) == ("confirmed", "flat")


def test_a_crash_that_names_nan_is_divergence_even_without_a_curve(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED")
    a = judge(world.say("exception", "RuntimeError", "Rank 0: found NaN in local forward loss calculation"), assess)
    assert (a.status, a.mode) == ("confirmed", "non_finite")


def test_nan_in_what_a_program_is_fed_is_no_divergence(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("FAILED").say("exception", "ValueError", "Input contains NaN."), assess)
    assert a.status == "undecidable"


def test_a_loss_of_nan_is_the_verdict_also_where_a_metric_then_refuses_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(learning(60) + [NAN] * 20)
    a = judge(world.say("exception", "ValueError", "Input contains NaN."), assess)
    assert (a.status, a.mode) == ("confirmed", "non_finite")


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_a_noisy_healthy_curve_is_ruled_out(tmp_path: Path, n: int) -> None:
    assert judge(World(tmp_path).job().train(learning(n, noise=0.3)), assess).status == "ruled_out"


def test_a_nan_that_recovers_is_a_warning(tmp_path: Path) -> None:
    losses = learning(60)
    losses[20] = NAN
    a = judge(World(tmp_path).job().train(losses), assess)
    assert a.status == "ruled_out"
    assert a.warnings


@pytest.mark.parametrize("objective", ["grpo", "dpo", "ppo"])
def test_the_loss_of_reinforcement_and_preference_learning_may_rise(tmp_path: Path, objective: str) -> None:
    a = judge(World(tmp_path).job().train([0.01 + 0.02 * i for i in range(60)], objective=objective), assess)
    assert a.status != "confirmed"
    assert a.confidence < 0.3


def test_a_level_that_shifts_with_the_logging_window_after_a_resume_is_no_divergence(tmp_path: Path) -> None:
    world = World(tmp_path).job().train(learning(60, 4.0, 1.0, 0.02), stride=1)
    world.say("checkpoint", "loaded", "loaded checkpoint at iteration 60", severity="info")
    a = judge(world.train([3.6 - 0.002 * i for i in range(40)], stride=10, first_step=70), assess)
    assert a.status in ("undecidable", "ruled_out")


def test_three_points_decide_nothing(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train([12.5, 12.5, 40.7]), assess)
    assert (a.status, a.confidence < 0.2) == ("undecidable", True)


def test_memory_that_ran_out_after_a_nan_is_not_divergence(tmp_path: Path) -> None:
    world = World(tmp_path).train([NAN, NAN, NAN]).say("cuda_oom", "OutOfMemoryError", "CUDA out of memory")
    assert judge(world, assess).confidence <= 0.3


def test_without_the_loss_it_is_undecidable_and_says_what_is_missing(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job().train(learning(60) + [NAN] * 20).without(TrainStep), assess)
    assert a.status == "undecidable"
    assert "train_step" in a.missing[0].signal


def test_only_the_last_stretch_of_a_log_counts(tmp_path: Path) -> None:
    """A run that went to NaN was rolled back and learned: the log ends well."""
    world = World(tmp_path).job().train(learning(30) + [NAN] * 5).train(learning(40, 6.0, 3.0))
    assert judge(world, assess).status == "ruled_out"


def test_overflows_of_the_loss_scale_are_normal(tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(20):
        world.say("non_finite", "overflow", "OVERFLOW! Rank 0 Skipping step.", severity="info")
    assert judge(world.text("all done"), assess).status == "undecidable"


def test_a_nan_that_one_rank_asserts_explains_what_the_launcher_and_the_peers_say(tmp_path: Path) -> None:
    world = World(tmp_path).train(learning(20)).say("exception", "AssertionError", "loss is nan, stopping")
    world.say("nccl_error", "remote", "remote process exited", severity="error")
    world.say("launcher_summary", "child_failed", "exitcode: 1", exit_code=1)
    a = judge(world, assess)
    assert (a.status, a.mode, a.confidence >= 0.8) == ("confirmed", "non_finite", True)


def test_an_evaluation_loss_that_rises_is_overfitting(tmp_path: Path) -> None:
    a = judge(
        World(tmp_path).job().train([3.0 - i / 20 for i in range(20)] + [2 + i / 4 for i in range(30)], split="eval"),
        assess,
    )
    assert a.status != "confirmed"


@pytest.mark.parametrize(("after", "said"), [("", True), ("loss 0.4\nloss 0.3\nmodel saved to out/last.pt\n", False)])
def test_a_log_that_ends_in_losses_that_are_no_number_says_so_even_where_only_two_lines_do(
    tmp_path: Path, after: str, said: bool
) -> None:
    text = "grad_norm: 638.5  loss: 626.2  loss_box: 3.1\n" + "grad_norm: nan  loss: nan  loss_box: nan\n" * 2 + after
    a = assess(facts_of(text, tmp_path))
    assert (a.status == "confirmed") == said
    assert a.confidence <= 0.6


@pytest.mark.parametrize(("times", "often"), [(1, False), (3, True)])
def test_one_word_of_it_is_not_called_many(times: int, often: bool, tmp_path: Path) -> None:
    world = World(tmp_path).job()
    for rank in range(times):
        world.say("non_finite", "nan_grad", f"Rank {rank}: found NaN in local grad norm for bucket #0")
    a = judge(world, assess)
    assert ("again and again" in a.headline, any(" times, " in c.text for c in a.speaks_for)) == (often, often)
