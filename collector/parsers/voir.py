"""voir: the record that milabench keeps of a run, one JSON object a line: losses, rates and how the program ended.

SOURCE    milabench and voir (NAME.data, NAME.jsonl)
ROWS      train_step; `train_end` and `launcher_summary` for how the program ended
CAVEAT    losses stand there without their steps. The harness ends a program that has given as many observations as were
          asked for: what it said of them is one row, and how the program then ended is another.
EXAMPLES
    {"event": "data", "data": {"task": "train", "loss": 7.25}, "pipe": "data"}
    {"event": "data", "data": {"rate": 1747.5, "units": "items/s", "task": "train"}, "pipe": "data"}
    {"event": "data", "data": {"task": "early_stop", "progress": [60, 60]}, "pipe": "data"}
    {"event": "end", "data": {"command": ["python"], "time": 1730000000.5, "return_code": 0}, "pipe": null}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar, cast

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, signal_of_exit
from collector.parsers.values import bare

NAMES: dict[str, str] = {
    "child_failed": "the recorded program ended with a status or by a signal",
    "completed": "the recorded program ended with status 0",
    "limit_reached": "as many observations as were asked for were made (detail.limit)",
}


class Voir(LineParser):
    """State: the last rate, and whether all observations that were asked for are made."""

    name: ClassVar[str] = "voir"
    anchors: ClassVar[tuple[str, ...]] = ('"event": "data"', '"event": "end"', '"event":"data"', '"event":"end"')

    def __init__(self) -> None:
        self._rate: float | None = None
        self._reached = False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        try:
            record: Any = json.loads(line.text)
        except (ValueError, RecursionError):
            return []
        if not isinstance(record, dict) or record.keys() != {"event", "data", "pipe"}:
            return []
        fields = cast("dict[str, Any]", record)
        if not isinstance(fields["data"], dict):
            return []
        told = cast("dict[str, Any]", fields["data"])
        return self._end(line, told) if fields["event"] == "end" else self._data(line, told)

    def _data(self, line: Line, told: dict[str, Any]) -> list[ParsedRow]:
        rows: list[ParsedRow] = []
        if told.get("units") == "items/s":
            self._rate = bare(told.get("rate"))
        match told.get("progress"):
            case [int(made), int(asked)] if told.get("task") == "early_stop":
                if 0 < asked <= made and not self._reached:
                    self._reached = True
                    extra = detail(limit=f"{made} of {asked} observations")
                    rows.append(
                        line.event(
                            "train_end", "limit_reached", line.text, severity="info", parser=self.name, detail=extra
                        )
                    )
            case _:
                pass
        loss = bare(told.get("loss"))
        if loss is None or told.get("task", "train") != "train":
            return rows
        rate, self._rate = self._rate, None
        return [*rows, line.step("voir", loss=loss, loss_name="loss", samples_per_s=rate)]

    def _end(self, line: Line, told: dict[str, Any]) -> list[ParsedRow]:
        status = told.get("return_code")
        if not isinstance(status, int):
            return []
        said = f"return_code: {status}"
        if status == 0:
            return [line.event("train_end", "completed", said, severity="info", parser=self.name, exit_code=0)]
        by = -status if status < 0 else signal_of_exit(status)
        code = status if status > 0 else None
        return [
            line.event(
                "launcher_summary", "child_failed", said, severity="error", parser=self.name, exit_code=code, signal=by
            )
        ]
