"""Loops of their own making are known by repetition, and by nothing less."""

from __future__ import annotations

import math

from collector.parsers.base import parse_text
from collector.parsers.steady_lines import SteadyLines
from store.rows import TrainStep


def steps(*lines: str) -> list[TrainStep]:
    return [r for r in parse_text(SteadyLines(), "\n".join(lines)) if isinstance(r, TrainStep)]


def test_the_third_line_of_one_wording_gives_all_three() -> None:
    lines = [f"[2026-01-01T00:0{n}:00] Step {n}00 stats, train: loss = {9 - n}.25" for n in range(1, 5)]
    assert steps(*lines[:2]) == []
    assert [(r.step, r.loss) for r in steps(*lines)] == [(100, 8.25), (200, 7.25), (300, 6.25), (400, 5.25)]


def test_epoch_and_batch_in_brackets_count_together() -> None:
    got = steps("[1,  2000] loss: 2.195", "[1,  4000] loss: 1.853", "[2,  2000] loss: nan", "[2,  4000] loss: nan")
    assert [(r.epoch, r.step) for r in got] == [(1, 2000), (1, 4000), (2, 2000), (2, 4000)]
    assert got[0].loss == 2.195 and math.isnan(got[-1].loss or 0.0)


def test_held_out_losses_are_told_from_training() -> None:
    got = steps(*(f"step {n}: val loss 2.{n}" for n in range(1, 4)))
    assert [r.split for r in got] == ["eval"] * 3


def test_a_loss_after_a_time_in_seconds_is_the_whole_loss() -> None:
    got = steps(*(f"[INFO] Epoch {n}, Time {n}.4s, Loss 0.{n}, LR 0.25" for n in range(1, 4)))
    assert [(r.epoch, r.loss, r.learning_rate) for r in got] == [(1, 0.1, 0.25), (2, 0.2, 0.25), (3, 0.3, 0.25)]


def test_what_merely_resembles_progress_is_left_alone() -> None:
    assert not steps("step 1 loss 0.5", "round 2: the loss 0.4 was seen", "epoch 3 box_loss 0.3"), "three wordings"
    assert not steps(*(f"step {n}: discriminator loss 0.{n}" for n in range(1, 6))), "the loss of a part"
    assert not steps(*["step 5: loss 0.5"] * 6), "the count does not grow"
    assert not steps(*(f"iter {n}: loss 2.9, time 250.1ms, mfu 12.0%" for n in range(1, 6))), "another parser's"
    assert not steps(*(f"Epoch [{n}/9], Step [10/60], Loss: 0.3{n}" for n in range(1, 6))), "another parser's"


def test_a_stream_without_steady_lines_is_given_up() -> None:
    parser = SteadyLines()
    for n in range(300):
        parse_text(parser, f"some words about a loss {n * 7 % 13}")
    assert not [r for n in range(1, 9) for r in parse_text(parser, f"step {n}: loss 0.{n}")]
