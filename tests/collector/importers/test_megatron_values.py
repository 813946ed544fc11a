"""Megatron's recorded curves give steps; what was never recorded gives none."""

from __future__ import annotations

import json
import math
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.megatron_values import MegatronValues
from collector.importers.registry import pick
from evals.recorded import verdict_on
from store.rows import LogEvent, TrainStep


def _curve(values: dict[int, Any], end: int) -> dict[str, Any]:
    return {"start_step": 1, "end_step": end, "step_interval": 5, "values": {str(s): v for s, v in values.items()}}


def _rows(path: Path, curves: object) -> tuple[list[LogEvent], list[TrainStep], int]:
    path.write_text(json.dumps(curves))
    ctx = ImportContext(name=path.name, zone=UTC, job_id="7")
    rows = list(MegatronValues().rows(path, ctx))
    plans, steps = (
        [r for r in rows if isinstance(r, LogEvent)],
        [r for r in rows if isinstance(r, TrainStep)],
    )
    return plans, steps, ctx.problem_count


def test_each_step_has_its_loss_time_and_memory(tmp_path: Path) -> None:
    plans, steps, problems = _rows(
        tmp_path / "values.json",
        {
            "lm loss": _curve({1: 10.8, 5: 10.1, 10: 9.9}, 10),
            "iteration-time": _curve({1: "nan", 5: 0.5, 10: 0.25}, 10),
            "mem-allocated-bytes": _curve({1: 2.0e9, 5: 2.5e9, 10: 2.5e9}, 10),
            "remark": "none",
        },
    )
    assert [(s.step, s.total_steps, s.loss, s.step_time_s, s.loss_name) for s in steps] == [
        (1, 10, 10.8, None, "lm loss"),
        (5, 10, 10.1, 0.5, "lm loss"),
        (10, 10, 9.9, 0.25, "lm loss"),
    ]
    assert json.loads(steps[1].metrics or "{}") == {"mem-allocated-bytes": 2.5e9}
    assert [(p.step, p.total_steps) for p in plans] == [(10, 10)]
    assert problems == 1


def test_a_step_of_which_nothing_was_recorded_is_none_and_a_loss_that_was_not_finite_is_one(tmp_path: Path) -> None:
    plans, steps, _ = _rows(
        tmp_path / "values.json",
        {
            "lm loss": _curve({1: 10.8, 5: "nan", 10: "nan"}, 10),
            "num-zeros": _curve({1: 7.0, 5: 9.0, 10: "nan"}, 10),
        },
    )
    assert [s.step for s in steps] == [1, 5]
    assert steps[1].loss is not None
    assert math.isnan(steps[1].loss)
    assert not plans, "the record does not reach its end"


def test_it_is_known_by_its_contents_and_judged(tmp_path: Path) -> None:
    values = {s: 10.9 - s / 40 for s in range(1, 101)}
    path = tmp_path / "golden_values_dev_dgx_h100.json"
    path.write_text(json.dumps({"lm loss": _curve(values, 100)}))
    found = pick(path, path.read_bytes())
    assert found is not None
    assert found.name == "megatron_values"
    assert verdict_on(path).family == "G1"
    path.write_text(json.dumps({"lm loss": _curve({**values, **dict.fromkeys(range(31, 101), "nan")}, 100)}))
    verdict = verdict_on(path)
    assert verdict.confidence < 0.5, "where it stopped is not said to be its end"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "whole JSON"),
        ('{"a":' * 100_000, "whole JSON"),
        ("[]", "curves"),
        ('{"lm loss": 3}', "curves"),
        ('{"lm loss": {"values": {"1": "nan"}}}', "curves"),
    ],
)
def test_what_cannot_be_used_says_why(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "values.json"
    path.write_text(content)
    with pytest.raises(ImportFailed, match=why):
        list(MegatronValues().rows(path, ImportContext(name="values.json", zone=UTC)))
