"""Epochs of rl_games: how far it is and how fast, and no loss."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.rl_games import RlGames

LINE = "fps step: 51230 fps step and policy inference: 48113 fps total: {fps} epoch: {at}"


@pytest.mark.parametrize(
    ("at", "epoch", "total"), [("87/1024", 87, 1024), ("87/1024 frames: 2818048", 87, 1024), ("3", 3, None), ("4/0", 4, None)]
)  # fmt: skip
def test_an_epoch_and_its_pace_are_read(at, epoch, total):
    (row,) = parse_text(RlGames(), LINE.format(fps=30916, at=at))
    assert (row.epoch, row.total_epochs, row.samples_per_s, row.loss, row.step) == (epoch, total, 30916, None, None)


@pytest.mark.parametrize("text", ["fps step and policy inference: is printed each epoch", LINE.format(fps=1, at="")])
def test_what_tells_no_epoch_gives_nothing(text):
    assert parse_text(RlGames(), text) == []
