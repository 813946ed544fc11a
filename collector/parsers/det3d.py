"""det3d: the reports of Det3D and what grew out of it (CenterPoint, SE-SSD): a line of counts and, below it, one a task with its losses.

SOURCE    det3d/torchie/trainer/hooks/logger (TextLoggerHook)
ROWS      train_step: the loss is the sum over the tasks, for each is a head of its own; the step is the batch within the epoch
CAVEAT    The losses of a report that no second line followed are not known, and nothing is given.
EXAMPLE
    2021-03-01 10:00:00,100 - INFO - Epoch [3/20][50/7724]	lr: 0.00010, eta: 2 days, 3:10:11, time: 1.250, data_time: 0.125, transfer_time: 0.01, memory: 3943,
    2021-03-01 10:00:00,101 - INFO - task : ['car'], loss: 2.5000, hm_loss: 1.9000, loc_loss: 1.2000, num_positive: 41.2
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    rf" - INFO - Epoch \[(?P<epoch>\d{{1,9}})/(?P<epochs>\d{{1,9}})\]\[(?P<n>\d{{1,12}})/(?P<of>\d{{1,12}})\]\s+lr: (?P<lr>{NUMBER}),"
    rf"(?:.*?, time: (?P<time>{NUMBER}))?(?:.*?data_time: (?P<data>{NUMBER}))?"
)
_TASK = lazy.compile(rf" - INFO - task : \[[^\]]{{0,300}}\], loss: (?P<loss>{NUMBER})(?=[,\s]|$)")


class Det3d:
    """State: the line of counts, and what its tasks have told."""

    name: ClassVar[str] = "det3d"
    anchors: ClassVar[tuple[str, ...]] = ("transfer_time: ", "task : [")

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines that neither count a report nor tell a task's losses."""
        return _HEAD.search(text) is None and _TASK.search(text) is None

    def __init__(self) -> None:
        self._head: tuple[Line, re.Match[str]] | None = None
        self._losses: list[float] = []

    @property
    def wants_more(self) -> bool:
        """Never: what belongs to a report has an anchor of its own."""
        return False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if (head := _HEAD.search(line.text)) and " loss: " not in line.text:
            rows = [*self.close()]
            self._head = (line, head)
            return rows
        if self._head is not None and (task := _TASK.search(line.text)):
            loss = number(task["loss"])
            self._losses += [loss] if loss is not None else []
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """The report before the next one, or before the end."""
        head, losses = self._head, self._losses
        self._head, self._losses = None, []
        if head is None or not losses:
            return
        line, match = head
        metrics: dict[str, Any] = {"batches": int(match["of"])}
        if match["data"]:
            metrics["data_time"] = number(match["data"])
        if len(losses) > 1:
            metrics["tasks"] = len(losses)
        yield line.step(
            "det3d",
            epoch=float(match["epoch"]),
            total_epochs=float(match["epochs"]),
            step=int(match["n"]),
            loss=sum(losses),
            loss_name="loss",
            learning_rate=number(match["lr"]),
            step_time_s=number(match["time"]) if match["time"] else None,
            metrics=as_json(metrics),
        )
