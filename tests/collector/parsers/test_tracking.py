"""PyTracking's lines: the epoch, the batch in it, and the total of the losses."""

from __future__ import annotations

import json

from collector.parsers.base import parse_text
from collector.parsers.registry import parser_types
from store.rows import TrainStep


def steps(text: str) -> list[TrainStep]:
    return [r for parser in parser_types() for r in parse_text(parser(), text) if isinstance(r, TrainStep)]


def test_a_trackers_line_names_its_epoch_batch_and_total_loss() -> None:
    line = (
        "[train: 3, 50 / 1000] FPS: 88.1 (92.4)  ,  DataTime: 0.21 (0.01)  ,  TotalTime: 0.36  ,  Loss/total: 1.53125  ,  "
        "Loss/giou: 0.34375  ,  IoU: 0.69"
    )
    (step,) = steps(line)
    assert (step.framework, step.split, step.epoch, step.step, step.loss, step.step_time_s) == (
        "pytracking", "train", 3.0, 50, 1.53125, 0.36,
    )  # fmt: skip
    assert json.loads(step.metrics or "{}") == {"batches": 1000, "DataTime": 0.21, "Loss/giou": 0.34375, "IoU": 0.69}
    assert steps(line.replace("[train", "[val"))[0].split == "eval"
