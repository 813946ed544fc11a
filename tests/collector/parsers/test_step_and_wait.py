"""How long a step took and how much of it waited for data, in the words that loops have for it."""

from __future__ import annotations

import json

import pytest

from collector.parsers.base import parse_text
from collector.parsers.loop_words import step_and_wait
from collector.parsers.registry import parser_types
from store.rows import TrainStep


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("loss 2.5 data_time 1.5 step_time 2.0", (2.0, 1.5)),
        ("loss 2.5 | data 1.5s | fwd 0.1s | total 2.0s", (2.0, 1.5)),
        ("loss 2.5, time 2000.00ms, data 1500.00ms", (2.0, 1.5)),
        ("loss 2.5 | dataloader wait: 1.5s | step: 2.0s", (2.0, 1.5)),
        ("loss=2.5 data_s=1.5 compute_s=0.5 step_s=2.0", (2.0, 1.5)),
        ("loss=2.5 data_ms=1500 step_ms=2000", (2.0, 1.5)),
        ("loss 2.5, data loading 1.5 sec, iteration time 2.0 sec", (2.0, 1.5)),
        ("loss: 2.5 load_time: 1.5 train_time: 0.5 total_time: 2.0", (2.0, 1.5)),
        ("Data 1.5s Batch 2.0s", (2.0, 1.5)),
        ("data 1.5s, forward 0.1s", None),  # of what it is a part is not said
        ("data 1.5 total 2.0", None),  # neither says that it is a time
        ("data 1500 samples, step 2000 of 4000", None),
        ("metadata 1.5s step 2.0s", None),
        ("step_time 2.0", None),
    ],
)
def test_both_are_told_or_neither(text: str, both: tuple[float, float] | None) -> None:
    assert step_and_wait(text) == both


LINES = (
    "step {n}0 loss 2.{n} data_time 1.500 step_time 2.000",
    "[step {n}0] loss=2.{n} | data 1.500s | fwd 0.100s | bwd 0.090s | total 2.000s",
    "iter {n}0: loss 2.{n}, time 2000.00ms, data 1500.00ms",
    "Step {n}0 | loss 2.{n} | dataloader wait: 1.50s | step: 2.00s",
    "step={n}0 loss=2.{n} data_s=1.500 compute_s=0.190 step_s=2.000",
    "2026-03-02 10:00:0{n} step {n}0/10000 loss 2.{n} (data 1.50s, step 2.00s)",
    "{{'step': {n}0, 'loss': 2.{n}, 'data_time': 1.5, 'step_time': 2.0}}",
    "INFO:root:step: {n}0 loss: 2.{n} load_time: 1.500 train_time: 0.190 total_time: 2.000",
    "Iteration {n}0, loss 2.{n}, data loading 1.50 sec, iteration time 2.00 sec",
    "Epoch 3/9 step {n}0/400 loss 2.{n} data 1.50s step 2.00s",
)


@pytest.mark.parametrize("wording", LINES)
def test_a_loops_lines_say_it_in_its_rows(wording: str) -> None:
    text = "".join(wording.format(n=n) + "\n" for n in range(1, 7))
    rows = [r for kind in parser_types() for r in parse_text(kind(), text) if isinstance(r, TrainStep)]
    assert [(r.step, r.loss, r.step_time_s) for r in rows] == [(n * 10, 2 + n / 10, 2.0) for n in range(1, 7)]
    assert {json.loads(r.metrics or "{}").get("data_time") for r in rows} == {1.5}
