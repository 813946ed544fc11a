"""A line that follows others of its shape is read as it would be alone."""

from __future__ import annotations

import json
import random

import pytest

from collector.parsers.base import parse_text
from collector.parsers.megatron import Megatron
from collector.parsers.values import as_json

FIELDS = (
    " consumed samples: {i:12d} ",
    " elapsed time per iteration (ms): {a} ",
    " learning rate: {b} ",
    " lm loss: {c} ",
    " grad norm: {a} ",
    " number of skipped iterations:   0 ",
    " throughput per GPU (TFLOP/s/GPU): {a} ",
    " MoE layer {i}: busy ",
    " loss scale {b} ",
)
VALUES = ("1.5", "2.000000E+00", "-3e-05", "nan", "inf", "7", ".5", "n/a", "1_000", "4 ms", "")


@pytest.mark.parametrize("seed", range(40))
def test_what_was_read_before_changes_no_value(seed: int) -> None:
    rng = random.Random(seed)
    lines: list[str] = []
    for n in range(30):
        fields = list(FIELDS) if rng.random() < 0.8 else rng.sample(FIELDS, 5)
        values = {k: rng.choice(VALUES) if rng.random() < 0.2 else f"{rng.random() * 9:.4E}" for k in "abc"}
        body = "|".join(f.format(i=rng.randrange(10**6), **values) for f in fields)
        lines.append(f" [2026-03-25 00:00:01] iteration {n:8d}/ 9000 |{body}| elapsed time per iteration (ms): 7.0 |")
    together = parse_text(Megatron(), "\n".join(lines))
    alone = [row for line in lines for row in parse_text(Megatron(), line)]
    # repr, because NaN equals nothing; the line's number is the only thing that may differ
    seen = [
        [repr((r.loss, r.grad_norm, r.learning_rate, r.step_time_s, r.metrics)) for r in rows]
        for rows in (together, alone)
    ]  # type: ignore[union-attr]
    assert len(seen[0]) == 30
    assert seen[0] == seen[1]


def test_further_numbers_are_json_with_names_for_what_json_has_not() -> None:
    values = {"a": 1.5, "b": float("nan"), "c": float("-inf"), "d": 3, 'e"': "x\ny", "f": None, "g": 1e-300, "h": True}
    assert json.loads(as_json(values) or "") == {**values, "b": "nan", "c": "-inf"}
    assert as_json({}) is None
