"""nnU-Net prints an epoch, a rate and a loss on a line each: they are read together, and nothing that only resembles them."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.nnunet import NnUnet
from store.rows import TrainStep


def steps(text: str) -> list[tuple[str | None, float | None, float | None, float | None]]:
    rows = [r for r in parse_text(NnUnet(), text) if isinstance(r, TrainStep)]
    return [(r.split, r.epoch, r.loss, r.learning_rate) for r in rows]


def test_an_epoch_of_version_two_has_its_rate_and_both_losses() -> None:
    text = (
        "2026-05-01 09:00:07.910043: Epoch 12\n2026-05-01 09:00:07.914042: Current learning rate: 0.0098\n"
        "2026-05-01 09:02:41.493872: train_loss -0.625\n2026-05-01 09:02:41.498914: val_loss -0.5\n"
        "2026-05-01 09:02:41.501914: Pseudo dice [0.81, 0.77]\n"
    )
    assert steps(text) == [("train", 12.0, -0.625, 0.0098), ("eval", 12.0, -0.5, None)]


def test_an_epoch_of_version_one_is_read_too() -> None:
    text = (
        "2026-05-01 09:00:07.910043: \nepoch:  3 \n2026-05-01 09:02:41.016679: train loss : -0.625 \n"
        "2026-05-01 09:02:51.016970: validation loss: -0.5 \n"
    )
    assert steps(text) == [("train", 3.0, -0.625, None), ("eval", 3.0, -0.5, None)]


def test_what_resembles_it_is_left_alone() -> None:
    assert not steps("2026-05-01 09:02:41.493872: train_loss -0.625\n"), "no epoch before it"
    assert not steps("Epoch 3\ntrain_loss 0.5\n2026-05-01 09:00:07.910043: Epoch 4 of many\nval_loss 0.4\n"), "no stamp"
