"""vits: the two lines of VITS and of the voice models that copy its loop (FreeVC, so-vits-svc, Bert-VITS2, RVC).

SOURCE    train.py of VITS: `logger.info` of the epoch and, on the line after it, of the losses with the step and the learning rate
ROWS      train_step: one of each epoch's line, one of each list of losses
CAVEAT    the losses stand in the list without names: discriminator, generator, features, mel, then what differs between the
          copies. `loss` is that of the mel spectrogram, which falls while a voice is learned, or one that is no number, whichever
          it is; all of them go to the metrics in their order. A list has no epoch: that stands in the line before it.
EXAMPLES
    INFO:myvoice:Train Epoch: 15 [70%]
    INFO:myvoice:[2.06, 3.0, 14.57, 20.43, 2.23, 1.02, 845200, 0.0001653]
    2023-05-01 10:01:02,345 myvoice INFO Losses: [2.1, 2.7, 9.8, 18.3, 0.9], step: 800, lr: 9.9e-05
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import as_json
from store import lazy

_EPOCH = lazy.compile(r"(?:^|[\s:])Train Epoch: (?P<epoch>\d{1,7}) \[(?P<percent>\d{1,3})%\]\s*$")
_FIGURE = r"(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?inf|nan)"
_LIST = rf"\[(?P<losses>{_FIGURE}(?:, {_FIGURE}){{4,15}})"
_LISTED = lazy.compile(_LIST)
_RATE = r"(?:0\.\d+|\d+(?:\.\d+)?e-\d+)"
_OWN = lazy.compile(rf"(?:^INFO:[\w.-]+:|\bINFO\s+){_LIST}, (?P<step>\d{{1,12}}), (?P<lr>{_RATE})\]\s*$")
_NAMED = lazy.compile(rf"\bLosses: {_LIST}\], step: (?P<step>\d{{1,12}}), lr: (?P<lr>{_RATE})")
_MEL = 3


class Vits(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "vits"
    anchors: ClassVar[tuple[str, ...]] = ("%]", ":[", "INFO\t[", "INFO [", "Losses: [")

    @staticmethod
    def ignores(text: str) -> bool:
        """A line without an epoch and without a list of figures."""
        return "Train Epoch: " not in text and _LISTED.search(text) is None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if len(text) > 1000:
            return
        if "%]" in text and (found := _EPOCH.search(text)):
            yield line.step("vits", epoch=float(found["epoch"]), metrics=as_json({"percent": float(found["percent"])}))
            return
        found = _OWN.search(text) or _NAMED.search(text)
        if found is None:
            return
        losses = [float(v) for v in found["losses"].split(", ")]
        broken = next((v for v in losses if not math.isfinite(v)), None)
        yield line.step(
            "vits",
            step=int(found["step"]),
            loss=losses[_MEL] if broken is None else broken,
            loss_name="loss_mel" if broken is None else "losses",
            learning_rate=float(found["lr"]),
            metrics=as_json({f"loss_{n}": v for n, v in enumerate(losses) if math.isfinite(v)}),
        )
