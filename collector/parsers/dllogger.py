"""dllogger: the lines of NVIDIA's DLLogger, one JSON object each.

SOURCE    NVIDIA's DeepLearningExamples, and whatever logs through DLLogger to standard output or to its file
ROWS      train_step (split eval for a validation's loss); a line without a loss gives none, a summary of the run neither
CAVEAT    A step is `[epoch, iteration]`, `[epoch, iteration, iterations]` or a number of its own; `[epoch]` sums up an epoch.
EXAMPLES
    DLLL {"timestamp": "1607000000.123456", "datetime": "2020-12-03 13:33:20.123456", "elapsedtime": "20.500000", "type": "LOG", "step": [0, 40], "data": {"train_loss": 6.21, "lr": 0.012}}
    DLLL {"timestamp": "1607000100.5", "datetime": "2020-12-03 13:35:00.5", "elapsedtime": "120.9", "type": "LOG", "step": [0], "data": {"val.loss": 5.9}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import bare

_MARK = "DLLL "
_TRAIN = ("train.loss", "train_loss", "train_loss_step", "loss", "step_loss", "training_loss", "total_loss", "average_loss", "lm_loss", "mlm_loss", "train_epoch_loss")  # fmt: skip
_EVAL = ("val.loss", "val_loss", "eval_loss", "valid_loss", "validation_loss", "test_loss")
_RATES = ("lr", "learning_rate", "train.lr", "train_lr", "learning rate")
_NORMS = ("grad_norm", "train.grad_norm", "gradient_norm")


class DlLogger(LineParser):
    """Progress of NVIDIA's examples."""

    name: ClassVar[str] = "dllogger"
    anchors: ClassVar[tuple[str, ...]] = ("DLLL {",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """One line, one report; that of an epoch's end may have a loss of each kind."""
        try:
            record: Any = json.loads(line.text.partition(_MARK)[2])
        except (ValueError, RecursionError):
            return []
        fields = cast("dict[str, Any]", record) if isinstance(record, dict) else {}
        data = fields.get("data")
        if not isinstance(data, dict) or (place := _place(fields.get("step"))) is None:
            return []
        values = {str(k).strip().lower(): bare(v) for k, v in cast("dict[str, Any]", data).items()}
        found: list[ParsedRow] = []
        for split, names in (("train", _TRAIN), ("eval", _EVAL)):
            name = next((n for n in names if values.get(n) is not None), None)
            if name is None:
                continue
            known: dict[str, Any] = {**place, **_time(fields), "split": split, "loss": values[name], "loss_name": name}
            if split == "train":
                known |= {"learning_rate": _first(values, _RATES), "grad_norm": _first(values, _NORMS)}
            found.append(line.step(self.name, **known))
        return found


def _first(values: Mapping[str, float | None], names: Iterable[str]) -> float | None:
    return next((v for n in names if (v := values.get(n)) is not None), None)


def _place(step: object) -> dict[str, Any] | None:
    """Epoch and step of a report; None for what is no report: a parameter, or the summary of a whole run."""
    parts = cast("list[object]", step) if isinstance(step, list) else [None, step]
    if not 1 <= len(parts) <= 3 or any(p is not None and not _counts(p) for p in parts) or parts[-1] is None:
        return None
    known: dict[str, Any] = {"epoch": None if parts[0] is None else float(cast("int", parts[0]))}
    if len(parts) > 1:
        known["step"] = parts[1]
    return known


def _counts(part: object) -> bool:
    return isinstance(part, int) and not isinstance(part, bool) and 0 <= part < 1 << 62


def _time(record: Mapping[str, Any]) -> dict[str, Any]:
    """When it was logged, by the line itself."""
    try:
        seconds = float(record.get("timestamp") or 0)
    except (TypeError, ValueError):
        return {}
    if not 0 < seconds < 4e9:
        return {}
    return {"ts": datetime.fromtimestamp(seconds, UTC), "ts_kind": "embedded"}
