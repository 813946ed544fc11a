"""mllog: losses, evaluations and ends of MLPerf training runs; hyper-parameters and others' JSON are nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.parsers.base import parse_text
from collector.parsers.mllog import MlLog
from evals.recorded import verdict_on
from store.rows import LogEvent, TrainStep

T0 = 1_760_000_000_000


def line(key: str, value: Any, at_s: float = 0.0, **meta: Any) -> str:
    record = {"namespace": "", "time_ms": int(T0 + 1000 * at_s), "event_type": "POINT_IN_TIME", "key": key, "value": value,
              "metadata": {"file": "/workspace/run.py", "lineno": 12, **meta}}  # fmt: skip
    return f":::MLLOG {json.dumps(record)}"


def test_losses_have_their_rate_their_samples_and_their_own_time() -> None:
    (row,) = parse_text(MlLog(), "0: " + line("train_loss", 11.8, 5, samples_count=1024, lr=3.1e-06))
    assert isinstance(row, TrainStep)
    assert (row.split, row.loss, row.learning_rate, row.step) == ("train", 11.8, 3.1e-06, None)
    assert (row.metrics, row.ts_kind) == ('{"samples_count": 1024.0}', "embedded")
    assert row.ts == datetime.fromtimestamp(T0 / 1000 + 5, UTC)


@pytest.mark.parametrize(("benchmark", "loss"), [("llama31_8b", 2.75), ("bert", None)])
def test_an_evaluation_is_a_loss_only_where_its_benchmark_says_so(benchmark: str, loss: float | None) -> None:
    text = line("submission_benchmark", benchmark) + "\n" + line("eval_accuracy", 2.75, step_num=200)
    (row,) = parse_text(MlLog(), text)
    assert isinstance(row, TrainStep)
    assert (row.split, row.loss, row.step) == ("eval", loss, 200)
    assert (row.metrics or "").count("eval_accuracy") == (loss is None)


@pytest.mark.parametrize(("status", "kind"), [("success", "train_end"), ("aborted", "phase"), ("", None)])
def test_a_run_that_stopped_says_whether_it_reached_its_target(status: str, kind: str | None) -> None:
    rows = parse_text(MlLog(), line("run_stop", None, status=status))
    assert [r.kind for r in rows if isinstance(r, LogEvent)] == ([kind] if kind else [])


@pytest.mark.parametrize(
    "text",
    [
        line("opt_base_learning_rate", 0.1), line("train_loss", "2.0"), line("tracked_stats", {"throughput": 262.7}),
        ":::MLLOG {cut", ":::MLLOG [1]", ":::MLLOG " + "[" * 100_000, ':::MLLOG {"key": "run_stop", "metadata": null}',
    ],
)  # fmt: skip
def test_whatever_is_no_progress_is_nothing(text: str) -> None:
    assert parse_text(MlLog(), text) == []


def test_a_run_that_reached_its_target_is_healthy_and_one_that_did_not_is_open(tmp_path: Path) -> None:
    def told(status: str) -> tuple[str, float]:
        log = tmp_path / f"{status}.out"
        lines = [line("train_loss", 6.0 - 0.1 * i, 30 * i, samples_count=512 * i, lr=1e-4) for i in range(40)]
        log.write_text("\n".join([*lines, line("run_stop", None, 1300, status=status)]) + "\n")
        verdict = verdict_on(log)
        return verdict.family, verdict.confidence

    good, bad = told("success"), told("aborted")
    assert good[0] == "G1" and good[1] > 0.7
    assert bad[1] < 0.5
