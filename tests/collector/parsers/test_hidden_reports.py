"""Reports that a forgotten mark, a bar before them or other figures beside them had hidden or blurred."""

from __future__ import annotations

import json

from collector.parsers.base import parse_text
from collector.parsers.registry import parser_types
from store.rows import TrainStep


def steps(text: str) -> list[TrainStep]:
    return [r for parser in parser_types() for r in parse_text(parser(), text) if isinstance(r, TrainStep)]


def test_a_mark_that_was_forgotten_at_the_training_loss_does_not_hide_it() -> None:
    found = steps("Epoch 3: train loss 1.25 train acc: 0.50, val loss: 1.75 val acc 0.375.")
    assert [(s.split, s.epoch, s.loss) for s in found] == [("train", 3.0, 1.25), ("eval", 3.0, 1.75)]


def test_mlx_says_its_step_also_behind_its_own_bar() -> None:
    bar = "  1%|#         | 10/1000 [00:32<53:42,  3.25s/it, Loss=3.5, LR=1.00e-04, Tokens/sec=302]"
    (step,) = steps(f"{bar}Iter 20: Train loss 3.125, Learning Rate 1.000e-04, It/sec 0.250, Tokens/sec 282.8")
    assert (step.framework, step.step, step.loss, step.step_time_s) == ("mlx", 20, 3.125, 4.0)


def test_metrics_keep_their_names_and_the_time_left_is_none_of_them() -> None:
    (step,) = steps(
        "01/08 08:55:39 - mmengine - INFO - Epoch(train)  [1][4/4]  lr: 1.0e-02  eta: 5 days, 23:52:36  time: 0.5  "
        "loss: 1.125  recall@top3: 0.75  prec@top3: 0.25"
    )
    assert json.loads(step.metrics or "{}") == {"recall@top3": 0.75, "prec@top3": 0.25}
