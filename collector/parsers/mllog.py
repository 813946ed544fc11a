"""mllog: the lines that MLPerf training runs log, one JSON object each: losses, evaluations and how the run ended.

SOURCE    mlperf_logging, whatever prints through it (NVIDIA's, Dell's, AMD's submissions; Primus)
ROWS      train_step (split eval for evaluations), `train_end` for a run that reached its target, `phase` for one that did not
CAVEAT    `eval_accuracy` is a loss in the benchmarks of language and flow models (LOSSES), and a score in all others: then it
          stands in `metrics`. Samples are counted, not steps, unless a line names its step.
EXAMPLES
    :::MLLOG {"namespace": "", "time_ms": 1775725581676, "event_type": "POINT_IN_TIME", "key": "train_loss", "value": 11.8, "metadata": {"samples_count": 1024, "lr": 3.1e-06}}
    :::MLLOG {"namespace": "", "time_ms": 1696469852164, "event_type": "INTERVAL_END", "key": "run_stop", "value": null, "metadata": {"status": "success"}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import bare

NAMES: dict[str, str] = {
    "run_stop": "the run reached its target",
    "run_aborted": "the run ended without reaching its target",
}
LOSSES = frozenset({"gpt3", "llama2_70b_lora", "llama31_8b", "llama31_405b", "flux1"})
"""Benchmarks whose `eval_accuracy` is a loss."""
_MARK = ":::MLLOG"


class MlLog(LineParser):
    """State: which benchmark it is."""

    name: ClassVar[str] = "mllog"
    anchors: ClassVar[tuple[str, ...]] = (_MARK,)

    def __init__(self) -> None:
        self._benchmark = ""

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        try:
            record: Any = json.loads(line.text.partition(_MARK)[2])
        except (ValueError, RecursionError):
            return []
        if not isinstance(record, dict):
            return []
        fields = cast("dict[str, Any]", record)
        meta = fields.get("metadata")
        about = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        key, value = fields.get("key"), bare(fields.get("value"))
        if key == "submission_benchmark":
            self._benchmark = str(fields.get("value"))
        if key == "run_stop":
            return self._stop(line, about, _time(fields))
        if key in ("train_loss", "eval_accuracy", "eval_loss") and value is not None:
            return [self._step(line, str(key), value, about, _time(fields))]
        return []

    def _stop(self, line: Line, about: dict[str, Any], when: dict[str, Any]) -> list[ParsedRow]:
        status = about.get("status")
        said = f"run_stop: {status}"
        if status == "success":
            return [line.event("train_end", "run_stop", said, severity="info", parser=self.name, **when)]
        if status == "aborted":
            return [line.event("phase", "run_aborted", said, severity="warning", parser=self.name, **when)]
        return []

    def _step(self, line: Line, key: str, value: float, about: dict[str, Any], when: dict[str, Any]) -> ParsedRow:
        step = about.get("step_num", about.get("step"))
        known: dict[str, Any] = {
            "split": "train" if key == "train_loss" else "eval",
            "step": step if isinstance(step, int) and not isinstance(step, bool) else None,
            "learning_rate": bare(about.get("lr")),
            **when,
        }
        metrics = {n: v for n in ("samples_count",) if (v := bare(about.get(n))) is not None}
        if key == "eval_accuracy" and self._benchmark not in LOSSES:
            metrics[key] = value
        else:
            known |= {"loss": value, "loss_name": key}
        return line.step("mllog", **known, metrics=json.dumps(metrics) if metrics else None)


def _time(fields: dict[str, Any]) -> dict[str, Any]:
    """When it was logged, by the line itself."""
    ms = bare(fields.get("time_ms"))
    if ms is None or not 0 < ms < 4e12:
        return {}
    return {"ts": datetime.fromtimestamp(ms / 1000, UTC), "ts_kind": "embedded"}
