"""tracking: progress lines of PyTracking's trainer and of the visual trackers that took it over (STARK, OSTrack, SUTrack).

SOURCE    pytracking/ltr/trainers/ltr_trainer.py, lib/train/trainers/ltr_trainer.py
ROWS      train_step (split train or eval): step is the batch within the epoch
CAVEAT    Figures are means over the epoch so far; a copy may have lost the opening bracket.
EXAMPLE
    [train: 3, 50 / 1000] FPS: 88.1 (92.4)  ,  DataTime: 0.21 (0.01)  ,  TotalTime: 0.36  ,  Loss/total: 1.53125  ,  Loss/giou: 0.34  ,  IoU: 0.69
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    rf"(?:^|\[)(?P<split>train|val): (?P<epoch>\d{{1,9}}), (?P<n>\d{{1,12}}) / (?P<of>\d{{1,12}})\] FPS: (?P<fps>{NUMBER}) \({NUMBER}\)"
)
_PAIR = lazy.compile(rf"(?<=,  )([A-Za-z][\w/.]{{0,60}}): ({NUMBER})(?=[\s(]|$)")


class Tracking(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "tracking"
    anchors: ClassVar[tuple[str, ...]] = ("Loss/total: ",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        head = _HEAD.search(line.text)
        if head is None:
            return ()
        values = {m[1]: v for m in _PAIR.finditer(line.text, head.end()) if (v := number(m[2])) is not None}
        if "Loss/total" not in values:
            return ()
        loss = values.pop("Loss/total")
        return [
            line.step(
                "pytracking",
                split="train" if head["split"] == "train" else "eval",
                epoch=float(head["epoch"]),
                step=int(head["n"]),
                loss=loss,
                loss_name="Loss/total",
                samples_per_s=number(head["fps"]),
                step_time_s=values.pop("TotalTime", None),
                metrics=as_json({"batches": int(head["of"]), **values}),
            )
        ]
