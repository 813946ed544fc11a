"""ultralytics: the epochs of YOLO from version 5 on: detection, segmentation, pose, oriented boxes, classification.

SOURCE    train.py of YOLOv5 to v7; ultralytics/engine/trainer.py
ROWS      train_step, one for each epoch whose bar is full; train_end
CAVEAT    the heading above the rows names the losses; where it holds neither a total nor a single loss, the loss is the box
          loss and the others stand in metrics. YOLOv5 to v7 count epochs from 0.
EXAMPLES
          Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
         99/100      2.51G     0.8812     0.4411      0.912         24        640: 100%|██████████| 125/125 [00:14<00:00,  8.61it/s]
    100 epochs completed in 0.412 hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    r"^\s*Epoch +(?:GPU_mem|gpu_mem) +(?P<names>[a-z_]+(?: +[a-z_]+){0,8}?) +(?:Instances|labels|targets) +(?:Size|img_size)"
)
_ROW = lazy.compile(
    rf"^\s*(?P<epoch>\d{{1,9}})/(?P<epochs>\d{{1,9}}) +{NUMBER}G +(?P<losses>(?:{NUMBER} +){{1,8}})\d{{1,9}} +\d{{1,6}}: +100%"
    r"(?:\|?[^|\[\]]{0,300}?\|? *(?P<n>\d{1,9})/(?P<total>\d{1,9}))?"
)
_END = lazy.compile(r"^(?P<epochs>\d{1,9}) epochs completed in [\d.]+ hours")
_SAVED = lazy.compile(r"^Results saved to \S")
_SPEED = lazy.compile(r"^Speed: [\d.]+ms pre-?process, [\d.]+ms inference")
_USUAL = ("box_loss", "cls_loss", "dfl_loss")
_WHOLE = ("total", "loss")


class Ultralytics:
    """State: the names that the heading gave the columns."""

    name: ClassVar[str] = "ultralytics"
    anchors: ClassVar[tuple[str, ...]] = (
        "GPU_mem",
        "gpu_mem",
        ": 100%",
        " epochs completed in ",
        "Results saved to ",
        "Speed: ",
    )

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines that do not begin with a number, but for its heading and its last words."""
        return not text.lstrip()[:1].isdigit() and not any(p.match(text) for p in (_HEAD, _SPEED, _SAVED))

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._known = False  # "Results saved to" is said by many a script: only a table or the speeds tell whose it is

    @property
    def wants_more(self) -> bool:
        """Never."""
        return False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if head := _HEAD.match(text):
            self._names, self._known = tuple(head["names"].split()), True
        elif match := _ROW.match(text):
            return [self._epoch(line, match)]
        elif _SPEED.match(text):
            self._known = True
        elif _END.match(text) or (self._known and _SAVED.match(text)):
            return [line.event("train_end", "completed", severity="info", parser=self.name, framework="ultralytics")]
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """Nothing is open."""
        return ()

    def _epoch(self, line: Line, match: re.Match[str]) -> ParsedRow:
        figures = [number(v) for v in match["losses"].split()]
        names = self._names if len(self._names) == len(figures) else (*_USUAL, *(f"loss_{i}" for i in range(4, 9)))
        losses = {k: v for k, v in zip(names, figures, strict=False) if v is not None}
        which = next((k for k in _WHOLE if k in losses), next(iter(losses), None))
        loss = losses.pop(which) if which else None
        batches = {"batches": int(match["total"])} if match["total"] else {}
        return line.step(
            "ultralytics",
            epoch=float(match["epoch"]),
            total_epochs=float(match["epochs"]),
            loss=loss,
            loss_name="box_loss" if which == "box" else which,
            metrics=as_json({**losses, **batches}),
        )
