"""Det3D's reports of two and more lines: one step each, its loss the sum over the tasks."""

from __future__ import annotations

import json

from collector.parsers.base import parse_text
from collector.parsers.det3d import Det3d
from collector.parsers.registry import parser_types
from store.rows import TrainStep

HEAD = (
    "2021-03-01 10:00:00,100 - INFO - Epoch [3/20][{n}/7724]\tlr: 0.00010, eta: 2 days, 3:10:11, time: 1.250, data_time: 0.125, "
    "transfer_time: 0.010, forward_time: 0.500, loss_parse_time: 0.000 memory: 3943, \n"
)
TASK = "2021-03-01 10:00:00,101 - INFO - task : ['{task}'], loss: {loss}, hm_loss: 1.9000, loc_loss: 1.2000, num_positive: 41.2\n"


def steps(text: str) -> list[TrainStep]:
    return [r for parser in parser_types() for r in parse_text(parser(), text) if isinstance(r, TrainStep)]


def test_a_report_is_the_sum_of_its_tasks() -> None:
    text = HEAD.format(n=50) + TASK.format(task="car", loss="2.5000") + TASK.format(task="bus", loss="1.5000")
    found = steps(text + "\n" + HEAD.format(n=55) + TASK.format(task="car", loss="nan"))
    first = found[0]
    assert [(s.framework, s.epoch, s.total_epochs, s.step) for s in found] == [
        ("det3d", 3.0, 20.0, n) for n in (50, 55)
    ]
    assert (first.loss, first.learning_rate, first.step_time_s) == (4.0, 1e-4, 1.25)
    assert json.loads(first.metrics or "{}") == {"batches": 7724, "data_time": 0.125, "tasks": 2}
    assert found[1].loss != found[1].loss


def test_counts_without_a_task_and_a_task_without_counts_give_nothing() -> None:
    assert parse_text(Det3d(), HEAD.format(n=50) + "saved\n") == []
    assert parse_text(Det3d(), TASK.format(task="car", loss="2.5")) == []
