"""restoration: progress lines of BasicSR, of KAIR, and of the many image restoration projects that were made from them.

SOURCE    basicsr/utils/logger.py (MessageLogger); KAIR's main_train_*.py
ROWS      train_step; the first figure after the head is the loss, the others stand in metrics
CAVEAT    the iteration counts over the whole run, and both print it with thousands separators
EXAMPLES
    2023-02-10 10:00:36,120 INFO: [swin_..][epoch:  4, iter:   1,200, lr:(1.000e-04,)] [eta: 1 day, 2:01:04, time (data): 0.344 (0.002)] l_pix: 2.9567e-02
    25-02-26 19:34:37.769 : <epoch:  2, iter:   4,000, lr:2.000e-04> G_loss: 4.335e-03
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    rf"[\[<]epoch: {{0,8}}(?P<epoch>\d{{1,7}}), iter: {{0,12}}(?P<iter>\d[\d,]{{0,15}}), lr:\(?(?P<lr>{NUMBER})"
    rf"(?:,? ?{NUMBER}){{0,8}},?\)?[\]>](?: \[eta: [^\]]{{1,60}}time \(data\): (?P<time>{NUMBER}) \((?P<data>{NUMBER})\)\])?(?P<rest> .+)$"
)
_PAIR = lazy.compile(rf"(?<=\s)(?P<key>[A-Za-z_][\w/.-]{{0,40}}): (?P<value>{NUMBER})(?=\s|$)")
_LOSS = lazy.compile(r"(?i)^l_|loss|^l\d?$")


class Restoration(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "restoration"
    anchors: ClassVar[tuple[str, ...]] = ("[epoch:", "<epoch:")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        head = _HEAD.search(line.text)
        if head is None:
            return
        values = {m["key"]: v for m in _PAIR.finditer(head["rest"]) if (v := number(m["value"])) is not None}
        which = next((k for k in values if _LOSS.search(k)), None)
        if which is None:
            return
        loss = values.pop(which)
        if head["data"]:
            values["data_time"] = float(head["data"])
        yield line.step(
            "basicsr" if head["time"] else "kair",
            step=int(head["iter"].replace(",", "")),
            epoch=float(head["epoch"]),
            loss=loss,
            loss_name=which,
            learning_rate=number(head["lr"]),
            step_time_s=number(head["time"]) if head["time"] else None,
            metrics=as_json(values),
        )
