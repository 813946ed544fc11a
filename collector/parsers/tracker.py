"""What a tracking client prints of a run's metrics when it closes the run: their curves in small.

SOURCE  wandb 0.10 to 0.23.
ROWS    `train_begin` named `run_history`, once: a loss or a metric of training was logged more than once.
CAVEAT  the order of metrics is the alphabet's, and a curve has no numbers; evaluations alone do not count.
EXAMPLE wandb: train/loss █▆▅▂▁▁▂▁
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import strip_label
from store import lazy

NAMES: dict[str, str] = {"run_history": "train_begin: the tracker's curves show that training logged its metrics"}

_CURVE = lazy.compile(r"^wandb: +(?P<key>[\w./ -]{1,80}?) +[▁▂▃▄▅▆▇█]{2,}\s*$")
_TRAINING = lazy.compile(r"(?i)(?<![a-z])(?:loss|train\w*|grad_?norm|lr|learning_rate|reward|return)(?![a-z])")
_OTHER = lazy.compile(r"(?i)(?<![a-z])(?:eval\w*|val\w*|test\w*|system|gpu|cpu)(?![a-z])")


class Tracker(LineParser):
    """One row for a log."""

    name: ClassVar[str] = "tracker"
    anchors: ClassVar[tuple[str, ...]] = ("wandb: ",)

    def __init__(self) -> None:
        self._told = False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        found = None if self._told else _CURVE.match(strip_label(line.text[:400]))
        if found is None or not _TRAINING.search(found["key"]) or _OTHER.search(found["key"]):
            return []
        self._told = True
        return [line.event("train_begin", "run_history", severity="info", parser=self.name, framework="wandb")]
