"""Updates of the A2C, PPO and ACKTR trainers: one report each, and what resembles them gives none."""

from __future__ import annotations

import json

import pytest

from collector.parsers.a2c_updates import A2cUpdates
from collector.parsers.base import parse_text
from collector.parsers.registry import parser_types
from store.rows import TrainStep

UPDATE = """\
Updates {at}, num timesteps {seen}, FPS 311
 Last 10 training episodes: mean/median reward {mean}/40.0, min/max reward 12.0/77.0

"""


def steps(text: str) -> list[TrainStep]:
    return [r for parser in parser_types() for r in parse_text(parser(), text) if isinstance(r, TrainStep)]


def test_each_update_is_one_step_with_its_reward() -> None:
    found = steps("".join(UPDATE.format(at=at, seen=160 * at, mean=at / 10) for at in (10, 20)))
    assert [(s.framework, s.step, s.loss, s.objective, s.samples_per_s) for s in found] == [
        ("a2c-ppo-acktr", 10, None, "rl", 311),
        ("a2c-ppo-acktr", 20, None, "rl", 311),
    ]
    assert json.loads(found[1].metrics or "{}") == {"num_timesteps": 3200, "mean_reward": 2.0, "median_reward": 40.0}


def test_the_losses_that_a_fork_prints_below_are_read_and_a_cut_update_too() -> None:
    fork = "The dist entropy 0.71, the value loss 0.55, the action loss -0.06\n"
    (step,) = steps(UPDATE.format(at=30, seen=4800, mean=3).rstrip("\n") + "\n" + fork)
    assert (step.step, step.loss, step.loss_name) == (30, 0.55, "value loss")
    (cut,) = steps("Updates 40, num timesteps 6400, FPS 290\n")
    assert (cut.step, cut.loss) == (40, None)


def test_the_older_form_on_one_line() -> None:
    line = "Updates 7, num timesteps 640, FPS 205, mean/median reward 1.5/1.0, min/max reward 0.0/4.0, entropy 0.69, value loss 0.3125, policy loss 0.011\n"
    (step,) = steps(line)
    assert (step.step, step.loss, step.samples_per_s) == (7, 0.3125, 205)
    assert json.loads(step.metrics or "{}")["mean_reward"] == 1.5


@pytest.mark.parametrize(
    "text",
    [
        "Updates 10, num timesteps 1600\n",
        "Save every 100 updates, num timesteps 1600, FPS 20\n",
        "Last 10 training episodes: mean/median reward 4.0/4.0, min/max reward 1.0/7.0\n",
    ],
)
def test_what_resembles_an_update_gives_nothing(text: str) -> None:
    assert parse_text(A2cUpdates(), text) == []


def test_lines_far_below_are_of_no_update() -> None:
    (step,) = parse_text(A2cUpdates(), "Updates 5, num timesteps 80, FPS 9\n" + "more\n" * 5 + "the value loss 9.5\n")
    assert isinstance(step, TrainStep) and step.loss is None
