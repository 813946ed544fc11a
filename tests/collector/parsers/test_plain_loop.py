"""Hand-written loops: read where a line leaves no doubt, left alone where it merely resembles progress."""

from __future__ import annotations

import pytest

from collector.parsers.base import parse_text
from collector.parsers.plain_loop import PlainLoop
from store.rows import TrainStep

READ = [
    ("[2026-03-01 10:00:26] step 5/400 loss 1.6441 grad_norm 1.815 lr 5.00e-04 545.8 img/s",
     {"step": 5, "total_steps": 400, "loss": 1.6441, "grad_norm": 1.815, "learning_rate": 5e-4, "samples_per_s": 545.8}),
    ("2026-03-01 10:00:26,118 INFO train.py:88 step 2/3 loss 1.8101 grad_norm 1.006 lr 2.727e-05 time 82.114s",
     {"step": 2, "total_steps": 3, "loss": 1.8101, "grad_norm": 1.006}),
    ("Step [100/2000], Loss: 0.4312, lr: 0.001, 120 ms/step",
     {"step": 100, "total_steps": 2000, "loss": 0.4312, "learning_rate": 0.001, "step_time_s": 0.12}),
    ("step 40/2000 loss 2.41 lr 3e-04 step_time 1.25s data_time: 900ms",
     {"step": 40, "step_time_s": 1.25, "metrics": '{"data_time": 0.9}'}),
    ("step 40/2000 loss 2.41 lr 3e-04 batch time: 1.25 loading_wait 0.5 5100 tok/s",
     {"step_time_s": 1.25, "tokens_per_s": 5100.0, "metrics": '{"data_time": 0.5}'}),
    ("step 40/2000 loss 2.41 lr 3e-04 data_time 0.9s 8 img/s", {"samples_per_s": 8.0, "metrics": None}),
    ("INFO - iter 40/400: loss=nan, grad_norm=inf", {"step": 40, "total_steps": 400}),
    ("episode=16 step=546 reward=992.0 eps=0.948 loss=0.7493", {"step": 546, "loss": 0.7493, "total_steps": None}),
    ("INFO train: iter=900, loss=1.25e-1, lr=0.001, grad_norm=0.7", {"step": 900, "loss": 0.125, "grad_norm": 0.7}),
    ("epoch 2/3 step 7/90 loss 0.5 lr 1e-4", None),
]  # fmt: skip
LEFT = [
    "step 5/400",
    "step 5/400 loss 1.6441",
    "loss 1.6 at step 5/400 with lr 1e-4",
    "step 500/400 loss 1.6 lr 1e-4",
    "Starting step 1/3 of the set-up: loss of precision is expected, lr 1e-4",
    "| step 5/400 | loss 1.6 | lr 1e-4 |",
    "iter 40: loss 0.9, time 250.1ms, mfu 12%",
    "val step 5/400 val_loss 1.2 lr 1e-4",
    '{"step": "5/400", "loss": 1.2, "lr": 1}',
    "the best was step=4 with loss=0.2 and reward=1.0 after that",
    "model=unet loss=dice step=linear",
    "loss=0.7493 step=546",
]


@pytest.mark.parametrize(("text", "want"), READ)
def test_a_line_without_doubt_is_read_exactly(text: str, want: dict[str, float] | None) -> None:
    rows = parse_text(PlainLoop(), text)
    if want is None:
        assert not rows, "a step that does not stand at the head of its part of the line is not read"
        return
    (row,) = rows
    assert isinstance(row, TrainStep)
    assert {k: getattr(row, k) for k in want} == want
    assert row.loss is not None


def test_a_step_of_an_epoch_is_out_of_its_batches_and_read_once() -> None:
    (row,) = parse_text(PlainLoop(), "epoch [3/50] batch [100/448] time 0.125 loss 2.25 (2.5) lr 1e-3")
    assert isinstance(row, TrainStep)
    assert (row.epoch, row.step, row.total_steps, row.metrics) == (3.0, 100, None, '{"batches": 448}')
    assert not parse_text(PlainLoop(), "Epoch [3/50], Iter [100/448], Loss: 2.25, LR: 0.001"), "epoch_lines reads it"


@pytest.mark.parametrize("text", LEFT)
def test_a_line_that_resembles_progress_is_left_alone(text: str) -> None:
    assert parse_text(PlainLoop(), text) == []
