"""RSL-RL's blocks: one report each, and what resembles them gives none."""

from __future__ import annotations

import json

import pytest

from collector.parsers.base import parse_text
from collector.parsers.registry import parser_types
from collector.parsers.rsl_rl import RslRl
from store.rows import TrainStep

BLOCK = """\
################################################################################
                       Learning iteration {at}/1500

                       Computation: 51234 steps/s (collection: 1.610s, learning 0.309s)
               Value function loss: {value}
                    Surrogate loss: -0.0031
             Mean action noise std: 0.81
                       Mean reward: 11.82
               Mean episode length: 803.45
      Mean episode rew_tracking_ang: 0.31
--------------------------------------------------------------------------------
                   Total timesteps: 30572544
                    Iteration time: 1.92s
                               ETA: 2284.1s
"""


def steps(text: str) -> list[TrainStep]:
    return [r for parser in parser_types() for r in parse_text(parser(), text) if isinstance(r, TrainStep)]


def test_each_block_is_one_step_with_its_reward() -> None:
    found = steps(BLOCK.format(at=310, value="0.0142") + BLOCK.format(at=311, value="inf"))
    assert [(s.framework, s.step, s.total_steps, s.loss, s.objective) for s in found] == [
        ("rsl-rl", 310, 1500, 0.0142, "rl"),
        ("rsl-rl", 311, 1500, float("inf"), "rl"),
    ]
    first = json.loads(found[0].metrics or "{}")
    assert (first["mean_reward"], first["surrogate_loss"], found[0].samples_per_s) == (11.82, -0.0031, 51234)


def test_the_words_of_later_releases_are_read_and_a_cut_block_too() -> None:
    text = "      Learning iteration 7/300 \n\n  Steps per second: 40210 \n  Mean value_function loss: 0.5\n  Mean surrogate loss: 0.01\n"
    (step,) = steps(text)
    assert (step.step, step.loss, step.samples_per_s) == (7, 0.5, 40210)


@pytest.mark.parametrize(
    "text",
    [
        "Learning iteration 3/10 was slow\nValue function loss: 0.5\n",
        "  Learning iteration 3/10  \n\n  Mean reward: 1.0\n--------------------------------\n",
        "Value function loss: 0.5\n",
    ],
)
def test_what_resembles_a_block_gives_nothing(text: str) -> None:
    assert parse_text(RslRl(), text) == []


def test_the_time_below_the_last_iteration_is_the_end_and_below_another_none() -> None:
    last = parse_text(RslRl(), BLOCK.format(at=1499, value="0.01") + "Training time: 302.11 seconds\n")
    assert [(r.kind, r.name) for r in last if not isinstance(r, TrainStep)] == [("train_end", "completed")]
    early = parse_text(RslRl(), BLOCK.format(at=700, value="0.01") + "Training time: 302.11 seconds\n")
    assert all(isinstance(r, TrainStep) for r in early)
