"""dllogger and nemo_rl: reports of NVIDIA's loops, in objects and under a heading."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from collector.parsers.base import parse_text
from collector.parsers.dllogger import DlLogger
from collector.parsers.nemo_rl import NemoRl
from store.rows import TrainStep

T0 = 1_607_000_000.25


def logged(step: Any, timestamp: Any = str(T0), **data: Any) -> str:
    record = {"timestamp": timestamp, "elapsedtime": "20.5", "type": "LOG", "step": step, "data": data}
    return f"0: DLLL {json.dumps(record)}"


def steps(text: str, parser: Any) -> list[TrainStep]:
    return [r for r in parse_text(parser(), text) if isinstance(r, TrainStep)]


@pytest.mark.parametrize(
    ("place", "epoch", "step"),
    [([2, 79], 2.0, 79), ([0, 40, 5004], 0.0, None), ([3], 3.0, None), (120, None, 120)],
)
def test_a_step_is_an_epoch_and_an_iteration_or_a_number(place: Any, epoch: float | None, step: int | None) -> None:
    (row,) = steps(logged(place, train_loss=6.21, lr=0.012), DlLogger)
    assert (row.epoch, row.loss, row.learning_rate, row.split) == (epoch, 6.21, 0.012, "train")
    assert row.step == (40 if place == [0, 40, 5004] else step)
    assert (row.ts, row.ts_kind) == (datetime.fromtimestamp(T0, UTC), "embedded")


def test_the_end_of_an_epoch_may_tell_both_losses() -> None:
    found = steps(logged([1], **{"train.loss": 2.5, "val.loss": 2.75}), DlLogger)
    assert [(r.split, r.loss) for r in found] == [("train", 2.5), ("eval", 2.75)]


def test_a_loss_that_is_no_number_is_one_and_a_text_is_none() -> None:
    (row,) = steps('DLLL {"step": [0, 1], "data": {"loss": NaN}}', DlLogger)
    assert math.isnan(row.loss or 0.0) and row.ts is None
    assert steps(logged([0, 1], loss="2.5"), DlLogger) == []


@pytest.mark.parametrize(
    "text",
    [
        logged([], train_loss=1.0),
        logged("PARAMETER", loss=1.0),
        logged([0, 1], throughput=512.0),
        logged([0, -1], loss=1.0),
        logged([0, 1, 2, 3], loss=1.0),
        logged([0, True], loss=1.0),
        logged([0, 10**30], loss=1.0),
        'DLLL {"step": [0, 1], "data": [1]}',
        'DLLL {"step": [0, 1], "data": {"loss": 1.0',
        "DLLL {" + "[" * 5000,
    ],
)
def test_a_summary_a_parameter_and_what_is_broken_are_no_step(text: str) -> None:
    assert steps(text, DlLogger) == []


@pytest.mark.parametrize("stamp", ["soon", -5, 1e300, None, [1]])
def test_a_time_that_is_none_is_left_out(stamp: Any) -> None:
    (row,) = steps(logged([0, 1], stamp, loss=1.0), DlLogger)
    assert row.ts is None


def block(step: int, loss: float, took: str = "  • Total step time: 61.27s") -> str:
    rule = "=" * 25
    return (
        f"\n{rule} Step {step}/500 {rule}\n▶ Preparing batch...\n\n📊 Training Results:\n  • Loss: {loss}\n"
        f"  • Avg Reward: 0.4375\n  • Mean Generation Length: 512.0\n\n⏱️  Timing:\n{took}\n  • policy_training: 20.10s (32.8%)\n"
    )


def test_the_results_below_a_heading_are_its_steps() -> None:
    found = steps(block(12, 0.0312) + block(13, 0.0301), NemoRl)
    assert [(r.step, r.total_steps, r.loss, r.step_time_s) for r in found] == [
        (12, 500, 0.0312, 61.27),
        (13, 500, 0.0301, 61.27),
    ]
    assert {r.objective for r in found} == {"grpo"} and json.loads(found[0].metrics or "") == {"reward": 0.4375}


def test_a_step_that_is_cut_behind_its_loss_counts_and_one_that_only_began_does_not() -> None:
    text = (
        block(12, 0.0312).partition("  • Avg")[0] + "========================= Step 13/500 =========================\n"
    )
    assert [(r.step, r.step_time_s, r.objective) for r in steps(text, NemoRl)] == [(12, None, None)]


def test_a_validations_loss_is_of_the_step_it_came_in() -> None:
    text = block(12, 0.5).replace(
        "\n📊 Training", "\n📊 Validation Results:\n    • Validation loss: 0.75\n\n📊 Training"
    )
    assert [(r.split, r.loss) for r in steps(text, NemoRl)] == [("eval", 0.75), ("train", 0.5)]


def test_the_same_words_without_a_heading_are_nobodys() -> None:
    assert steps("📊 Training Results:\n  • Loss: 0.5\n", NemoRl) == []
    assert steps("===== Step 3/5 =====\n  • Loss: 0.5\n", NemoRl) == []
