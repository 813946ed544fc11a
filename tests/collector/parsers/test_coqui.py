"""`collector.parsers.coqui`: blocks of a head and its figures."""

from __future__ import annotations

from collector.parsers.base import Line, parse_text
from collector.parsers.coqui import Coqui
from store.rows import TrainStep

BLOCKS = """
 > EPOCH: 3/100
 --> /home/u/run-March

 > TRAINING (2026-03-01 10:00:00)

   --> TIME: 2026-03-01 10:00:26 -- STEP: 24/400 -- GLOBAL_STEP: 1225
     | > loss: 2.25  (2.5)
     | > loss_mel: 1.25  (1.5)
     | > grad_norm: 0.75  (0.5)
     | > current_lr: 0.0001
     | > step_time: 0.5  (0.25)

   --> TIME: 2026-03-01 10:01:26 -- STEP: 49/400 -- GLOBAL_STEP: 1250
     | > loss_0: nan  (nan)
     | > loss_1: 1.25  (1.5)

 > EVALUATION

   --> STEP: 0
     | > loss: 9.5  (9.5)

  --> EVAL PERFORMANCE
     | > avg_loss: 9.5 (+0.000000)
"""


def test_a_block_is_one_report_of_its_step() -> None:
    rows = [r for r in parse_text(Coqui(), BLOCKS) if isinstance(r, TrainStep)]
    first, second = rows
    assert (first.step, first.epoch, first.total_epochs, first.loss) == (1225, 3.0, 100.0, 2.25)
    assert (first.learning_rate, first.grad_norm, first.step_time_s) == (0.0001, 0.75, 0.5)
    assert first.metrics == '{"batches": 400, "loss_mel": 1.25}'
    assert (second.step, second.loss_name) == (1250, "loss_0") and second.loss != second.loss


def test_figures_without_a_head_and_heads_without_a_loss_are_none() -> None:
    assert parse_text(Coqui(), "     | > loss: 2.25  (2.5)\n") == []
    assert parse_text(Coqui(), " --> STEP: 24/400 -- GLOBAL_STEP: 1225\n     | > step_time: 0.5\n\nno figure\n") == []


def test_a_block_that_the_log_cuts_is_told_as_far_as_it_goes() -> None:
    (row,) = parse_text(Coqui(), " --> STEP: 24/400 -- GLOBAL_STEP: 1225\n     | > loss: 2.25  (2.5)")
    assert isinstance(row, TrainStep) and (row.step, row.loss) == (1225, 2.25)


def test_a_block_that_does_not_end_is_closed_and_takes_no_more() -> None:
    parser = Coqui()
    head = Line(" --> STEP: 24/400 -- GLOBAL_STEP: 1225", 1, "log")
    rows = [*parser.feed(head)]
    for n in range(1000):
        rows += parser.feed(Line(f"     | > loss_{n}: 2.5  (2.5)", n + 2, "log"))
    assert len(rows) == 1 and not parser.wants_more
